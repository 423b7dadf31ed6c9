/* write.c - writes the profile to the output file, or to standard output. */
#include "cmd/write.h"

#include <unistd.h>

#include "cmd/args.h"
#include "cmd/progress.h"

struct result {
	const struct resolve *r;
	const struct profile *p;
};

static int write_profile(void *what, FILE *out, struct err *err)
{
	const struct result *w = what;
	int rc;

	progress_begin("writing", w->r->format->name, NULL, NULL);
	rc = output_write(w->r->format, w->p, &w->r->output, out, err);
	progress_end();
	return rc;
}

int write_result(const struct resolve *r, const struct profile *p, struct err *err)
{
	struct result w = {r, p};
	int rc;

	if (r->output_path)
		return write_file(r->output_path, r->pack, write_profile, &w, err);
	if (r->format->binary && isatty(STDOUT_FILENO))
		return err_set(err, ERR_USAGE, NULL, "%s is binary; use -o FILE or a pipe",
			       r->format->name);
	rc = write_profile(&w, stdout, err);
	return rc ? rc : args_flush(stdout, STDOUT_NAME, err);
}
