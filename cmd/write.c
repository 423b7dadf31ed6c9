/* write.c - writes a temporary file that replaces the output when it is complete. */
#include "cmd/write.h"

#include <errno.h>
#include <unistd.h>

#include "base/outfile.h"
#include "cmd/args.h"
#include "cmd/progress.h"

/* The temporary file that exists at the moment; NULL: none. */
static const struct outfile *volatile unfinished;

void write_abort(void)
{
	if (unfinished)
		outfile_remove(unfinished);
}

static int write_to(const struct resolve *r, const struct profile *p, FILE *out, const char *name,
		    struct err *err)
{
	int rc;

	errno = 0;
	progress_begin("writing", r->format->name, NULL, NULL);
	rc = output_write(r->format, p, &r->output, out, err);
	progress_end();
	return rc ? rc : args_flush(out, name, err);
}

/* Compresses, if the name of the file asks for it. */
static int write_packed(const struct resolve *r, const struct profile *p, FILE *out,
			struct err *err)
{
	FILE *packed = r->pack ? pack_open(out, r->pack) : NULL;
	int rc;

	if (!r->pack)
		return write_to(r, p, out, r->output_path, err);
	if (!packed)
		return err_nomem(err);
	rc = write_to(r, p, packed, r->output_path, err);
	if (fclose(packed) && !rc)
		rc = err_errno(err, errno, r->output_path, "write");
	return rc ? rc : args_flush(out, r->output_path, err);
}

static int write_file(const struct resolve *r, const struct profile *p, struct err *err)
{
	static struct outfile f;
	FILE *out;
	int rc, end;

	/* Before it is there: a signal may come as soon as it is. */
	f.temp[0] = '\0';
	unfinished = &f;
	rc = outfile_create(&f, r->output_path, err);
	if (rc) {
		unfinished = NULL;
		return rc;
	}
	out = fdopen(f.fd, "w");
	if (!out) {
		rc = err_nomem(err);
	} else {
		f.fd = -1;
		rc = write_packed(r, p, out, err);
		if (fclose(out) && !rc)
			rc = err_errno(err, errno, r->output_path, "write");
	}
	end = outfile_finish(&f, !rc, rc ? NULL : err);
	unfinished = NULL;
	return rc ? rc : end;
}

int write_result(const struct resolve *r, const struct profile *p, struct err *err)
{
	if (r->output_path)
		return write_file(r, p, err);
	if (r->format->binary && isatty(STDOUT_FILENO))
		return err_set(err, ERR_USAGE, NULL, "%s is binary; use -o FILE or a pipe",
			       r->format->name);
	return write_to(r, p, stdout, STDOUT_NAME, err);
}
