/* regress.c - the command `regress`: compares runs of two builds, and reports what got slower. */
#include "cmd/regress_options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/args.h"
#include "cmd/confine.h"
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

struct report {
	const struct regress *g;
	void (*write)(const struct regress *, FILE *);
};

static int write_one(void *what, FILE *out, struct err *err)
{
	const struct report *r = what;

	(void)err;
	r->write(r->g, out);
	return 0;
}

static int write_report(const struct regress *g, const char *path,
			void (*write)(const struct regress *, FILE *), struct err *err)
{
	struct report r = {g, write};

	if (strcmp(path, "-"))
		return write_file(path, PACK_NONE, write_one, &r, err);
	write(g, stdout);
	return args_flush(stdout, STDOUT_NAME, err);
}

static int write_reports(struct regress_command *c, const struct regress *g, struct err *err)
{
	const char *summary = getenv("GITHUB_STEP_SUMMARY");
	bool wanted = !c->quiet_if_fine || regress_failed(g);
	int rc = 0;

	if (c->annotate)
		regress_write_annotations(g, c->annotate, stdout);
	else if (!c->quiet)
		regress_write_text(g, stdout);
	if (!rc && c->md && wanted)
		rc = write_report(g, c->md, regress_write_markdown, err);
	if (!rc && c->md && wanted && summary && *summary)
		rc = append_to_file(summary, write_one, &(struct report){g, regress_write_markdown},
				    err);
	if (!rc && c->json)
		rc = write_report(g, c->json, regress_write_json, err);
	if (!rc && c->html)
		rc = regress_page_write(&c->page, g, c->html, err);
	if (!rc && c->junit)
		rc = write_report(g, c->junit, regress_write_junit, err);
	if (!rc && c->folded)
		rc = write_report(g, c->folded, regress_write_folded, err);
	return rc ? rc : args_flush(stdout, STDOUT_NAME, err);
}

static int lint(const struct regress *g, const struct regress_command *c)
{
	const char *note;
	size_t i;

	for (i = 0; (note = regress_budget_note(g, i)); i++)
		printf("%s: %s\n", budget_path(c), note);
	return i ? EXIT_SLOWER : EXIT_FINE;
}

/* Records runs of both sides, which replace the earlier ones. */
static int record(struct regress_command *c, struct err *err)
{
	int rc, s;
	size_t i;

	c->run.runs = c->run.runs ? c->run.runs : 5;
	c->run.frequency = c->run.frequency ? c->run.frequency : 3999;
	c->sides.paths[SIDE_BASE].n = c->sides.paths[SIDE_NEW].n = 0;
	rc = regress_run_record(&c->run, &c->sides.paths[SIDE_BASE], &c->sides.paths[SIDE_NEW],
				err);
	for (s = 0; s < SIDE_N; s++) {
		c->recipe.commands[s] = c->run.commands[s];
		for (i = 0; i < c->sides.paths[s].n; i++)
			if (vec_push(&c->sides.owned, c->sides.paths[s].v[i]))
				rc = err_nomem(err);
	}
	c->recipe.runs = c->run.runs;
	c->recipe.frequency = c->run.frequency;
	c->opt.recipe = &c->recipe;
	return rc;
}

/* Compares the runs of both sides by the rules. The caller frees *ret, also on failure. */
static int compare(struct regress_command *c, const char *rules, struct regress **ret,
		   struct err *err)
{
	struct regress *g = *ret = regress_new(&c->opt);
	int rc = g ? 0 : err_nomem(err);

	regress_page_done(&c->page);
	c->page.both = NULL;
	if (!rc && c->html)
		rc = regress_page_start(&c->page, err);
	if (!rc && rules)
		rc = regress_budget(g, budget_path(c), rules, err);
	if (!rc && c->sides.paths[SIDE_BASE].n)
		rc = regress_load(c, g, err);
	if (!rc)
		rc = earlier_restrict(&c->earlier, g, err);
	if (!rc && c->is_swapped)
		rc = regress_warn(
			g,
			"by git the new side's commit is an ancestor of the base's: are the "
			"sides swapped?",
			err);
	return rc || !c->sides.paths[SIDE_BASE].n ? rc : regress_compare(g, err);
}

/* Records again and compares only the functions that the first comparison flagged. */
static int confirm(struct regress_command *c, const char *rules, struct regress **g,
		   struct err *err)
{
	int rc = earlier_take(&c->earlier, *g, err);

	if (rc || !c->earlier.flagged.n)
		return rc;
	if (!c->quiet)
		fprintf(stderr, "regress: %zu flagged; recording again to confirm\n",
			c->earlier.flagged.n);
	c->run.prefix = "confirm-";
	rc = record(c, err);
	if (!rc)
		rc = confine_regress(c, err);
	if (rc)
		return rc;
	regress_free(*g);
	return compare(c, rules, g, err);
}

/* The exit status for a comparison. */
static int status_of(const struct regress_command *c, const struct regress *g)
{
	if (c->warn_only)
		return EXIT_FINE;
	if (regress_failed(g))
		return EXIT_SLOWER;
	if (regress_is_apart(g))
		return EXIT_APART;
	return c->is_detect && !regress_design(g)->can_detect ? EXIT_INCONCLUSIVE : EXIT_FINE;
}

/* Returns an exit status, or negative with *err. */
static int run(struct regress_command *c, struct err *err)
{
	struct regress *g = NULL;
	char *rules = NULL;
	int rc = load_budget(c, &rules, err);

	if (!rc && c->is_confirm && !c->earlier.flagged.n) {
		/* GitLab wants a report all the same. */
		if (c->annotate)
			fputs(strcmp(c->annotate, "gitlab") ? "" : "[]\n", stdout);
		else if (!c->quiet)
			printf("%s: nothing was flagged, nothing is to be confirmed\n",
			       c->earlier_path);
		free(rules);
		return args_flush(stdout, STDOUT_NAME, err);
	}
	if (!rc && c->history)
		rc = regress_find_history(c, err);
	if (!rc && c->run.commands[SIDE_BASE])
		rc = record(c, err);
	c->is_swapped =
		c->run.commands[0] && git_is_swapped(c->run.commands[0][0], c->run.commands[1][0]);
	if (!rc && !c->confirm)
		rc = confine_regress(c, err);
	if (!rc)
		rc = compare(c, rules, &g, err);
	if (!rc && c->confirm)
		rc = confirm(c, rules, &g, err);
	if (!rc && c->lint_budget)
		rc = lint(g, c);
	else if (!rc)
		rc = write_reports(c, g, err);
	if (!rc && !c->lint_budget)
		rc = status_of(c, g);
	regress_free(g);
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
