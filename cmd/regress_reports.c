/* regress_reports.c - which reports of a comparison are written where. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/args.h"
#include "cmd/regress_options.h"
#include "cmd/write_file.h"

typedef void suite_writer(const struct regress_suite *, FILE *);

struct report {
	const struct regress_suite *suite;
	suite_writer *write;
};

static int write_one(void *what, FILE *out, struct err *err)
{
	const struct report *r = what;

	(void)err;
	r->write(r->suite, out);
	return 0;
}

static int write_report(const struct regress_suite *suite, const char *path, suite_writer *write,
			struct err *err)
{
	struct report r = {suite, write};

	if (!path)
		return 0;
	if (strcmp(path, "-"))
		return write_file(path, PACK_NONE, write_one, &r, err);
	write(suite, stdout);
	return args_flush(stdout, STDOUT_NAME, err);
}

/* A page for each benchmark: report-NAME.html beside each other. */
static int write_pages(struct regress_command *c, struct err *err)
{
	size_t n = strlen(c->html), stem = n, i;
	char *path;
	int rc = 0;

	if (n > 5 && !strcmp(c->html + n - 5, ".html"))
		stem = n - 5;
	for (i = 0; !rc && i < c->benches.n; i++) {
		struct regress_bench *b = &c->benches.v[i];

		if (!b->name)
			return regress_page_write(&b->page, b->g, c->html, err);
		if (asprintf(&path, "%.*s-%s%s", (int)stem, c->html, b->name, c->html + stem) < 0)
			return err_nomem(err);
		rc = regress_page_write(&b->page, b->g, path, err);
		free(path);
	}
	return rc;
}

static int write_markdown(const struct regress_command *c, const struct regress_suite *suite,
			  struct err *err)
{
	const char *summary = getenv("GITHUB_STEP_SUMMARY");
	struct report r = {suite, regress_suite_markdown};
	int rc;

	if (!c->md || (c->quiet_if_fine && !regress_suite_failed(suite)))
		return 0;
	rc = write_report(suite, c->md, regress_suite_markdown, err);
	if (!rc && summary && *summary)
		rc = append_to_file(summary, write_one, &r, err);
	return rc;
}

int regress_reports_check(const struct regress_command *c, struct err *err)
{
	const char *const paths[] = {c->md, c->json, c->html, c->junit, c->folded};

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		const char *end = paths[i] ? strrchr(paths[i], '/') : NULL;
		char *folder = end ? strndup(paths[i], (size_t)(end - paths[i]) + 1) : NULL;
		int rc = end && !folder ? err_nomem(err) : 0;

		if (folder && access(folder, W_OK | X_OK))
			rc = err_errno(err, errno, paths[i], "write to its folder");
		free(folder);
		if (rc)
			return rc;
	}
	return 0;
}

int regress_reports_write(struct regress_command *c, struct err *err)
{
	const struct regress **v = calloc(c->benches.n, sizeof *v);
	const struct regress_suite suite = {v, c->benches.n};
	size_t i;
	int rc;

	if (!v)
		return err_nomem(err);
	for (i = 0; i < c->benches.n; i++)
		v[i] = c->benches.v[i].g;
	if (c->annotate)
		regress_suite_annotations(&suite, c->annotate, stdout);
	else if (!c->quiet)
		regress_suite_text(&suite, stdout);
	rc = write_markdown(c, &suite, err);
	if (!rc)
		rc = write_report(&suite, c->json, regress_suite_json, err);
	if (!rc && c->html)
		rc = write_pages(c, err);
	if (!rc)
		rc = write_report(&suite, c->junit, regress_suite_junit, err);
	if (!rc)
		rc = write_report(&suite, c->folded, regress_suite_folded, err);
	free(v);
	return rc ? rc : args_flush(stdout, STDOUT_NAME, err);
}
