/* regress_trend.c - regress trend: which functions grew over many commits. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "cmd/args.h"
#include "cmd/confine.h"
#include "cmd/regress_options.h"
#include "cmd/write_file.h"

struct report {
	const struct trend *t;
	void (*write)(const struct trend *, FILE *);
};

static int write_one(void *what, FILE *out, struct err *err)
{
	const struct report *r = what;

	(void)err;
	r->write(r->t, out);
	return 0;
}

static int write_report(const struct trend *t, const char *path,
			void (*write)(const struct trend *, FILE *), struct err *err)
{
	struct report r = {t, write};

	if (!path)
		return 0;
	if (strcmp(path, "-"))
		return write_file(path, PACK_NONE, write_one, &r, err);
	write(t, stdout);
	return args_flush(stdout, STDOUT_NAME, err);
}

/* Adds the runs of one commit: a file, or the files of a folder. */
static int add_commit(struct regress_command *c, struct trend *t, char *path, struct err *err)
{
	char name[PATH_MAX];
	struct sides runs = {0};
	size_t i, n = strlen(path);
	int rc;

	while (n > 1 && path[n - 1] == '/')
		n--;
	snprintf(name, sizeof name, "%.*s", (int)n, path);
	rc = sides_add(&runs, 0, path, err);
	for (i = 0; !rc && i < runs.paths[0].n; i++) {
		struct run_facts facts;
		struct loaded in;

		rc = regress_read_run(c, runs.paths[0].v[i], &in, &facts, err);
		if (!rc)
			rc = trend_add(t, base_name(name), runs.paths[0].v[i], in.profile, &facts,
				       err);
		loaded_done(&in);
	}
	sides_done(&runs);
	return rc;
}

static int load_all(struct regress_command *c, struct trend *t, struct err *err)
{
	const path_list *paths = &c->commits.paths[0];
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < paths->n; i++)
		rc = add_commit(c, t, paths->v[i], err);
	return rc;
}

int regress_trend_options(struct regress_command *c, char **argv, struct err *err)
{
	const char *const given[] = {c->md,	  c->junit,  c->folded,
				     c->annotate, c->budget, c->history};
	static const char *const names[] = {"--md",	  "--junit",  "--folded",
					    "--annotate", "--budget", "--history"};
	struct stat st;
	size_t i;
	int rc = 0;

	for (i = 0; i < sizeof given / sizeof *given; i++)
		if (given[i])
			return err_set(err, ERR_USAGE, NULL,
				       "regress trend has no %s: it writes a table, --json and "
				       "--html",
				       names[i]);
	if (!argv[0])
		return err_set(err, ERR_USAGE, NULL,
			       "regress trend DIR|RUN..: the stored profiles are missing");
	/* One folder: what is in it are the commits. */
	if (!argv[1] && !stat(argv[0], &st) && S_ISDIR(st.st_mode))
		return sides_add(&c->commits, 0, argv[0], err);
	for (i = 0; !rc && argv[i]; i++)
		rc = vec_push(&c->commits.paths[0], argv[i]) ? err_nomem(err) : 0;
	return rc;
}

int regress_trend(struct regress_command *c, struct err *err)
{
	struct trend *t = trend_new(&c->opt, c->by_name);
	int rc = t ? confine_regress(c, err) : err_nomem(err);

	if (!rc)
		rc = load_all(c, t, err);
	if (!rc)
		rc = trend_compare(t, err);
	if (!rc && !c->quiet)
		trend_write_text(t, stdout);
	if (!rc)
		rc = write_report(t, c->json, trend_write_json, err);
	if (!rc)
		rc = write_report(t, c->html, trend_write_html, err);
	if (!rc)
		rc = args_flush(stdout, STDOUT_NAME, err);
	if (!rc)
		rc = trend_failed(t) && !c->warn_only;
	trend_free(t);
	return rc;
}
