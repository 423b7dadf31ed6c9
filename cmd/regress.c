/* regress.c - the command `regress`: compares runs of two builds, and reports what got slower. */
#include "base/vec.h"
#include "cmd/regress_options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/args.h"
#include "cmd/confine.h"
#include "cmd/regress_place.h"
#include "cmd/write_file.h"

enum { EXIT_FINE = 0, EXIT_SLOWER = 1, EXIT_TROUBLE = 2, EXIT_INCONCLUSIVE = 3, EXIT_APART = 4 };

/* ---- are the sides swapped, by the history of their repository? ---------------------------- */

/* Runs git in the folder of a file. Unless out is NULL, stores the first word of its output there.
 */
static bool git(const char *file, const char *const words[4], char *out, size_t size)
{
	char dir[PATH_MAX];
	const char *argv[] = {"git", "-C", dir, words[0], words[1], words[2], words[3], NULL};
	const char *slash = strrchr(file, '/');
	int fds[2], status = 1;
	ssize_t n;
	pid_t pid;

	snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - file + 1) : 1, slash ? file : ".");
	if (pipe2(fds, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, STDIN_FILENO);
		dup2(fds[1], STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execvp("git", (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(fds[1]);
	n = out && pid > 0 ? read(fds[0], out, size - 1) : 0;
	close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		return false;
	if (out) {
		out[n > 0 ? n : 0] = '\0';
		out[strcspn(out, "\n")] = '\0';
	}
	return true;
}

/* If both programs are in work trees of one repository: is the commit of the new one an ancestor of
 * the base's? False also if there is no git or no repository. */
static bool git_is_swapped(const char *base, const char *fresh)
{
	char old[80], new[80];
	const char *const head[4] = {"rev-parse", "HEAD"};
	const char *const ask[4] = {"merge-base", "--is-ancestor", new, old};

	return git(base, head, old, sizeof old) && git(fresh, head, new, sizeof new) &&
	       strcmp(old, new) && git(base, ask, NULL, 0);
}

/* ---- the command --------------------------------------------------------------------------- */

static const char *budget_path(const struct regress_command *c)
{
	return c->budget ? c->budget : ".profbudget";
}

/* Reads the rules; the caller frees them. NULL: there are none. */
static int load_budget(const struct regress_command *c, char **text, struct err *err)
{
	if (!c->budget && access(budget_path(c), F_OK))
		return 0;
	*text = regress_read_text(budget_path(c), err);
	return *text ? 0 : -(int)err->code;
}

static int lint(const struct regress *g, const struct regress_command *c)
{
	const char *note;
	size_t i;

	for (i = 0; (note = regress_budget_note(g, i)); i++)
		printf("%s: %s\n", budget_path(c), note);
	return i ? EXIT_SLOWER : EXIT_FINE;
}

/* The folder of a benchmark's recordings, in that of all; NULL: out of memory. */
static char *folder_of(const struct regress_command *c, const struct regress_bench *b)
{
	char *dir;

	return asprintf(&dir, b->name ? "%s/%s" : "%s", c->run.dir, b->name) < 0 ? NULL : dir;
}

static void keep_recipe(const struct regress_command *c, struct regress_bench *b)
{
	int s;

	b->recipe = (struct regress_recipe){.runs = c->run.runs,
					    .frequency = c->run.frequency,
					    .count = c->run.count,
					    .warmup = c->run.warmup,
					    .prepare = c->run.prepare,
					    .event = c->run.event,
					    .ignore_status = c->run.ignore_status};
	for (s = 0; s < SIDE_N; s++)
		b->recipe.commands[s] = b->commands[s];
}

/* Of several benchmarks: which one failed. */
static void name_benchmark(const struct regress_bench *b, struct err *err)
{
	char words[ERR_WHAT_MAX];

	if (!b->name)
		return;
	snprintf(words, sizeof words, "%s", err->what);
	err_set(err, err->code, err->source, "benchmark %s: %s", b->name, words);
}

/* Records runs of both sides, which replace the earlier ones. */
static int record(struct regress_command *c, struct regress_bench *b, struct err *err)
{
	struct regress_run_options o;
	path_list *paths = b->sides.paths;
	char *dir = folder_of(c, b);
	int rc, s;
	size_t i;

	if (!dir)
		return err_nomem(err);
	c->run.runs = c->run.runs ? c->run.runs : 5;
	c->run.frequency = c->run.frequency ? c->run.frequency : 3999;
	o = c->run;
	o.dir = dir;
	o.name = b->name;
	for (s = 0; s < SIDE_N; s++)
		o.commands[s] = b->commands[s];
	paths[SIDE_BASE].n = paths[SIDE_NEW].n = 0;
	rc = b->name && mkdir(c->run.dir, 0777) && errno != EEXIST
		     ? err_errno(err, errno, c->run.dir, "create")
		     : 0;
	rc = rc ? rc : regress_run_record(&o, &paths[SIDE_BASE], &paths[SIDE_NEW], err);
	if (rc)
		name_benchmark(b, err);
	for (s = 0; s < SIDE_N; s++)
		for (i = 0; i < paths[s].n; i++)
			if (vec_push(&b->sides.owned, paths[s].v[i]))
				rc = err_nomem(err);
	keep_recipe(c, b);
	free(dir);
	return rc;
}

/* The error rate is that of all benchmarks together: each has its part of it. */
static struct regress_options options_of(const struct regress_command *c,
					 const struct regress_bench *b)
{
	struct regress_options opt = c->opt;
	double n = (double)c->benches.n;

	opt.name = b->name;
	opt.recipe = b->recipe.runs ? &b->recipe : NULL;
	if (n > 1) {
		opt.q = (opt.q > 0 ? opt.q : REGRESS_Q) / n;
		opt.report_q = REGRESS_REPORT_Q / n;
	}
	return opt;
}

/* Compares the runs of both sides by the rules. */
static int compare(struct regress_command *c, struct regress_bench *b, const char *rules,
		   struct err *err)
{
	const struct regress_options opt = options_of(c, b);
	bool has_runs = b->sides.paths[SIDE_BASE].n > 0;
	int rc;

	regress_free(b->g);
	b->g = regress_new(&opt);
	rc = b->g ? 0 : err_nomem(err);
	regress_page_done(&b->page);
	b->page.both = NULL;
	if (!rc && c->html)
		rc = regress_page_start(&b->page, err);
	if (!rc && rules)
		rc = regress_budget(b->g, budget_path(c), rules, err);
	if (!rc && has_runs)
		rc = regress_load(c, b, err);
	if (!rc && has_runs && !c->opt.force)
		rc = earlier_check_fresh(&b->earlier, b->g, err);
	if (!rc)
		rc = earlier_restrict(&b->earlier, b->g, err);
	if (!rc && c->is_swapped)
		rc = regress_warn(
			b->g,
			"by git the new side's commit is an ancestor of the base's: are the "
			"sides swapped?",
			err);
	return rc || !has_runs ? rc : regress_compare(b->g, err);
}

/* So that the second look is not at the places of the first one's last round. */
static int place_anew(const struct regress_bench *b, struct err *err)
{
	const path_list *paths = b->sides.paths;
	path_list files = {0};
	int rc = regress_place_learn(paths[SIDE_BASE].v[0], paths[SIDE_NEW].v[0], &files, err);

	if (!rc)
		regress_place_draw(&files);
	regress_place_done(&files);
	return rc;
}

/* Records again what the first comparison flagged. */
static int record_again(struct regress_command *c, struct err *err)
{
	size_t i;
	int rc = 0;

	c->run.prefix = "confirm-";
	for (i = 0; !rc && i < c->benches.n; i++) {
		struct regress_bench *b = &c->benches.v[i];

		rc = earlier_take(&b->earlier, b->g, err);
		if (rc || !b->earlier.flagged.n)
			continue;
		if (!c->quiet)
			fprintf(stderr, "regress: %s%s%zu flagged; recording again to confirm\n",
				b->name ? b->name : "", b->name ? ": " : "", b->earlier.flagged.n);
		rc = place_anew(b, err);
		rc = rc ? rc : record(c, b, err);
	}
	return rc;
}

static int compare_all(struct regress_command *c, bool only_flagged, const char *rules,
		       struct err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < c->benches.n; i++)
		if (!only_flagged || c->benches.v[i].earlier.flagged.n)
			rc = compare(c, &c->benches.v[i], rules, err);
	return rc;
}

static int record_all(struct regress_command *c, struct err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < c->benches.n; i++)
		if (c->benches.v[i].commands[SIDE_BASE])
			rc = record(c, &c->benches.v[i], err);
	return rc;
}

/* The exit status for all comparisons. */
static int status_of(const struct regress_command *c)
{
	bool failed = false, apart = false, blind = false;
	size_t i;

	for (i = 0; i < c->benches.n; i++) {
		const struct regress *g = c->benches.v[i].g;

		failed |= regress_failed(g);
		apart |= regress_is_apart(g);
		blind |= !regress_design(g)->can_detect;
	}
	if (c->warn_only)
		return EXIT_FINE;
	if (failed)
		return EXIT_SLOWER;
	if (apart)
		return EXIT_APART;
	return c->is_detect && blind ? EXIT_INCONCLUSIVE : EXIT_FINE;
}

static bool is_swapped(const struct regress_command *c)
{
	char *const *const *commands = (char *const *const *)c->benches.v[0].commands;
	char old[PATH_MAX], new[PATH_MAX];

	if (!commands[SIDE_BASE])
		return false;
	if (!c->run.where[SIDE_BASE])
		return git_is_swapped(commands[SIDE_BASE][0], commands[SIDE_NEW][0]);
	snprintf(old, sizeof old, "%s/", c->run.where[SIDE_BASE]);
	snprintf(new, sizeof new, "%s/", c->run.where[SIDE_NEW]);
	return git_is_swapped(old, new);
}

/* GitLab wants a report all the same. */
static int say_nothing_flagged(const struct regress_command *c, struct err *err)
{
	if (c->annotate)
		fputs(strcmp(c->annotate, "gitlab") ? "" : "[]\n", stdout);
	else if (!c->quiet)
		printf("%s: nothing was flagged, nothing is to be confirmed\n", c->earlier_path);
	return args_flush(stdout, STDOUT_NAME, err);
}

/* Records and compares. Returns 0 or negative with *err. */
static int judge(struct regress_command *c, const char *rules, struct err *err)
{
	int rc = record_all(c, err);

	c->is_swapped = is_swapped(c);
	if (!rc && !c->confirm)
		rc = confine_regress(c, err);
	if (!rc)
		rc = compare_all(c, false, rules, err);
	if (rc || !c->confirm)
		return rc;
	rc = record_again(c, err);
	if (!rc)
		rc = confine_regress(c, err);
	return rc ? rc : compare_all(c, true, rules, err);
}

/* Returns an exit status, or negative with *err. */
static int run(struct regress_command *c, struct err *err)
{
	char *rules = NULL;
	int rc;

	if (c->is_trend)
		return regress_trend(c, err);
	if (c->is_confirm && !c->benches.v[0].earlier.flagged.n)
		return say_nothing_flagged(c, err);
	rc = c->history ? regress_find_history(c, err) : 0;
	if (!rc)
		rc = regress_reports_check(c, err);
	if (!rc)
		rc = load_budget(c, &rules, err);
	if (!rc)
		rc = judge(c, rules, err);
	if (!rc && c->lint_budget)
		rc = lint(c->benches.v[0].g, c);
	else if (!rc)
		rc = regress_reports_write(c, err);
	if (!rc && !c->lint_budget)
		rc = status_of(c);
	free(rules);
	return rc;
}

int main(int argc, char **argv)
{
	struct regress_command c = {0};
	struct err err = {0};
	int rc, code;

	args_hold_standard_files();
	rc = regress_options(&c, argc, argv, &err);
	if (rc > 0) {
		code = EXIT_FINE;
		rc = args_flush(stdout, "standard output", &err);
	} else {
		rc = rc ? rc : run(&c, &err);
		code = rc > 0 ? rc : EXIT_FINE;
	}
	if (rc < 0) {
		args_complain("regress", &err);
		code = EXIT_TROUBLE;
	}
	regress_options_done(&c);
	return code;
}
