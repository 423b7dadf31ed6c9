/* regress_reports.c - which reports of a comparison are written where. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static bool is_same_file(const char *path, const struct stat *other)
{
	struct stat st;

	return path && !stat(path, &st) && st.st_dev == other->st_dev && st.st_ino == other->st_ino;
}

static bool is_one_of(const path_list *paths, const struct stat *other)
{
	for (size_t i = 0; i < paths->n; i++)
		if (is_same_file(paths->v[i], other))
			return true;
	return false;
}

/* Is it what is read? The report would replace it. */
static bool is_input(const struct regress_command *c, const char *path)
{
	struct stat out;

	if (!path || !strcmp(path, "-") || stat(path, &out) || !S_ISREG(out.st_mode))
		return false;
	for (size_t i = 0; i < c->benches.n; i++)
		for (int s = 0; s < SIDE_N; s++)
			if (is_one_of(&c->benches.v[i].sides.paths[s], &out))
				return true;
	return is_one_of(&c->past.paths[0], &out) ||
	       is_same_file(c->budget, &out) || is_same_file(c->suite, &out);
}

/* Each report that is asked for, with its option. */
static int check_spared(const struct regress_command *c, struct err *err)
{
	const struct {
		const char *path, *option;
	} reports[] = {{c->md, "--md"},
		       {c->json, "--json"},
		       {c->html, "--html"},
		       {c->junit, "--junit"},
		       {c->folded, "--folded"}};

	for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
		if (is_input(c, reports[i].path))
			return err_set(err, ERR_USAGE, reports[i].path, "%s names what is compared",
				       reports[i].option);
	return 0;
}

int regress_reports_check(const struct regress_command *c, struct err *err)
{
	const char *const paths[] = {c->md, c->json, c->html, c->junit, c->folded};
	int spared = check_spared(c, err);

	if (spared)
		return spared;

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
	int rc = check_spared(c, err); /* with what was recorded since */

	if (rc || !v) {
		free(v);
		return rc ? rc : err_nomem(err);
	}
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
