/* regress.c - the command line of `regress`: runs of two builds in, what got slower out. */
#include "regress/regress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/args.h"
#include "cmd/profiles.h"
#include "cmd/regress_confirm.h"
#include "cmd/regress_git.h"
#include "cmd/regress_html.h"
#include "cmd/regress_run.h"
#include "cmd/resolve_options.h"
#include "cmd/sides.h"
#include "cmd/version.h"

enum { EXIT_FINE = 0, EXIT_SLOWER = 1, EXIT_TROUBLE = 2, EXIT_INCONCLUSIVE = 3 };

struct command {
	struct regress_options opt;
	struct regress_run_options run;
	const char *budget, *history, *md, *json, *junit, *html, *folded, *annotate;
	const char *q_text, *margin_text;
	unsigned annotate_kind;
	bool warn_only, quiet, quiet_if_fine, lint_budget, show_help, show_version;
	bool is_run, is_confirm, confirm, is_detect;
	const char *earlier_path;
	struct earlier earlier;
	struct regress_recipe recipe;
	struct regress_page page;
	struct sides sides;
	struct sides sessions, past; /* of --history: folders, and the runs in them */
};

#define OPTIONS_TARGET struct command
#include "cmd/options.h"

static int set_share(const char *option, const char *text, double top, double *ret, struct err *err)
{
	char *end;
	double v = strtod(text, &end);

	if (end != text && !strcmp(end, "%")) {
		v /= 100;
		end++;
	}
	if (end == text || *end || !(v >= 0 && v <= top))
		return err_set(err, ERR_USAGE, NULL, "%s: '%s' is no number like 0.01 or 2%%",
			       option, text);
	*ret = v;
	return 0;
}

static int set_q(void *target, char *text, struct err *err)
{
	return set_share("--q", text, .5, &((struct command *)target)->opt.q, err);
}

static int set_margin(void *target, char *text, struct err *err)
{
	return set_share("--margin", text, 10, &((struct command *)target)->opt.margin, err);
}

static int set_impact(void *target, char *text, struct err *err)
{
	return set_share("--impact", text, 1, &((struct command *)target)->opt.impact, err);
}

static int set_total(void *target, char *text, struct err *err)
{
	return set_share("--total", text, 10, &((struct command *)target)->opt.total_max, err);
}

/* GROWTH or GROWTH:SHARE */
static int set_detect(void *target, char *text, struct err *err)
{
	struct command *c = target;
	char *share = strchr(text, ':');
	int rc = 0;

	if (share) {
		*share++ = '\0';
		rc = set_share("--detect", share, 1, &c->opt.detect_share, err);
	}
	c->is_detect = true;
	return rc ? rc : set_share("--detect", text, 10, &c->opt.detect_growth, err);
}

static int take_nothing(void *target, char *text, struct err *err)
{
	(void)target;
	return err_set(err, ERR_USAGE, NULL, "'%s' is on neither side", text);
}

static int set_annotate(void *target, char *text, struct err *err)
{
	if (strcmp(text, "github") && strcmp(text, "gitlab"))
		return err_set(err, ERR_USAGE, NULL,
			       "--annotate: '%s' is neither github nor gitlab", text);
	((struct command *)target)->annotate = text;
	return 0;
}

static const struct option_row options[] = {
	HEADING("what is compared"),
	/* These two take all that follows up to the next option: sides_take() does, before the table. */
	{0, "base", NULL, "RUN..", "runs of the old build", CALLS(take_nothing)},
	{0, "new", NULL, "RUN..", "runs of the new one", CALLS(take_nothing)},
	{0, "event", NULL, "NAME", "this event (default: the one with the most weight)",
	 SETS_TEXT(opt.event)},
	{0, "history", NULL, "DIR",
	 "earlier runs of the base, in a folder for each day or job: how much\nfunctions vary anyway",
	 SETS_TEXT(history)},
	{0, "force", NULL, NULL,
	 "also what is not comparable: machines, frequencies, owners, damage",
	 SETS_FLAG(opt.force)},
	HEADING("what is slower"),
	{0, "budget", NULL, "FILE", "rules (default: .profbudget, if it is there)",
	 SETS_TEXT(budget)},
	{0, "lint-budget", NULL, NULL,
	 "only check the rules, and which of them no function matches", SETS_FLAG(lint_budget)},
	{0, "margin", NULL, "SHARE", "growth of a function that is no alarm (2%)",
	 CALLS(set_margin)},
	{0, "impact", NULL, "SHARE", "of the whole that a function must cost more (0.1%)",
	 CALLS(set_impact)},
	{0, "total", NULL, "SHARE", "growth of all on-CPU time that is no alarm (3%)",
	 CALLS(set_total)},
	{0, "q", NULL, "Q", "share of false ones among the alarms (0.01)", CALLS(set_q)},
	{0, "detect", NULL, "GROWTH[:SHARE]",
	 "a growth that ought to be found, in functions with this share of the\n"
	 "time (10%:10%): status 3 when runs are too few and nothing is slower",
	 CALLS(set_detect)},
	{0, "warn-only", NULL, NULL, "exit status 0 whatever got slower", SETS_FLAG(warn_only)},
	HEADING("reports, besides the table on standard output"),
	{0, "md", NULL, "FILE", "Markdown; also appended to $GITHUB_STEP_SUMMARY if that is set",
	 SETS_TEXT(md)},
	{0, "json", NULL, "FILE", "all figures (doc/regress.schema.json)", SETS_TEXT(json)},
	{0, "html", NULL, "FILE",
	 "a page: the differential flame graph, in which only what is significant is\ncoloured, and "
	 "the verdicts",
	 SETS_TEXT(html)},
	{0, "junit", NULL, "FILE", "test results", SETS_TEXT(junit)},
	{0, "folded", NULL, "FILE",
	 "stacks with two columns, base and new, for differential flame graphs", SETS_TEXT(folded)},
	{0, "annotate", NULL, "KIND",
	 "github: workflow commands; gitlab: a Code Quality report, on\nstandard output instead of "
	 "the table",
	 CALLS(set_annotate)},
	{0, "quiet-if-fine", NULL, NULL, "no Markdown when nothing got slower",
	 SETS_FLAG(quiet_if_fine)},
	HEADING("regress run, regress confirm"),
	{'n', "runs", NULL, "N", "of each side (5; of confirm: as many as before)",
	 SETS_NUMBER(run.runs, 100)},
	{'F', "freq", NULL, "HZ", "samples a second (3999; of confirm: as before)",
	 SETS_NUMBER(run.frequency, 100000)},
	{0, "confirm", NULL, NULL,
	 "run: record as many again if something was flagged, and judge only that",
	 SETS_FLAG(confirm)},
	{0, "dir", NULL, "DIR", "where the recordings go (regress-runs)", SETS_TEXT(run.dir)},
	HEADING("running"),
	{'q', "quiet", NULL, NULL, "no table, no notes", SETS_FLAG(quiet)},
	{'h', "help", NULL, NULL, "this page", SETS_FLAG_AND_STOPS(show_help)},
	{0, "version", NULL, NULL, "which version this is", SETS_FLAG_AND_STOPS(show_version)},
};

enum { N_OPTIONS = sizeof options / sizeof *options };

static void print_help(void)
{
	puts("usage: regress [OPTIONS] --base RUN.. --new RUN..\n"
	     "       regress run [-n N] [-F HZ] [--confirm] [OPTIONS] -- COMMAND.. :: COMMAND..\n"
	     "       regress confirm [OPTIONS] EARLIER.json [-- COMMAND.. :: COMMAND..]\n"
	     "Tells what got slower from one build to the next: status 1 if something did.\n"
	     "\n"
	     "  regress --base main/*.data --new pr/*.data --md summary.md\n"
	     "  regress run -n 5 --json r.json -- ./old --work :: ./new --work\n"
	     "  regress confirm r.json       # on another machine: only what was flagged, anew\n"
	     "\n"
	     "A RUN is a recording, or a profile that resolve reads (folded, pprof, perf script "
	     "text),\n"
	     "or a folder with nothing else in it. Five runs a side are a good number, three the "
	     "least.\n");
	options_print_help(options, N_OPTIONS, stdout);
	puts("exit status: 0 nothing got slower; 1 something did; 2 trouble: usage, unreadable, "
	     "not comparable;\n3 with --detect: nothing was found, but could not have been");
}

/* ---- runs --------------------------------------------------------------------------------------
 */

/* Sessions are the folders in DIR; files in it are one more. */
static int add_history(struct command *c, struct err *err)
{
	char *dir = (char *)(uintptr_t)c->history;
	size_t i;
	int rc;

	if (access(dir, F_OK)) {
		if (!c->quiet)
			fprintf(stderr, "regress: %s: no earlier runs yet\n", dir);
		return 0;
	}
	rc = sides_add(&c->sessions, 0, dir, err);
	for (i = 0; !rc && i < c->sessions.paths[0].n; i++)
		rc = sides_add(&c->past, 0, c->sessions.paths[0].v[i], err);
	return rc;
}

/* COMMAND.. :: COMMAND.. */
static int take_commands(struct command *c, char **argv, struct err *err)
{
	int i;

	c->run.commands[0] = argv;
	for (i = 0; argv[i] && strcmp(argv[i], "::"); i++)
		;
	if (!i || !argv[i] || !argv[i + 1])
		return err_set(err, ERR_USAGE, NULL,
			       "regress run -- COMMAND.. :: COMMAND.. : both commands are wanted");
	argv[i] = NULL;
	c->run.commands[1] = argv + i + 1;
	return 0;
}

/* EARLIER.json [COMMAND.. :: COMMAND..] */
static int take_earlier(struct command *c, char **argv, struct err *err)
{
	int rc, s;

	if (!argv[0])
		return err_set(err, ERR_USAGE, NULL,
			       "regress confirm EARLIER.json: the report is missing");
	c->earlier_path = argv[0];
	rc = earlier_read(&c->earlier, argv[0], err);
	if (rc)
		return rc;
	c->run.runs = c->run.runs ? c->run.runs : c->earlier.runs;
	c->run.frequency = c->run.frequency ? c->run.frequency : c->earlier.frequency;
	c->run.prefix = "confirm-";
	if (!c->earlier.flagged.n)
		return 0;
	if (argv[1])
		return take_commands(c, argv + 1, err);
	if (c->sides.paths[SIDE_BASE].n && c->sides.paths[SIDE_NEW].n)
		return 0;
	for (s = 0; s < SIDE_N; s++)
		c->run.commands[s] = c->earlier.commands[s].v;
	if (!c->run.commands[SIDE_BASE] || !c->run.commands[SIDE_NEW])
		return err_set(err, ERR_USAGE, argv[0],
			       "it is not of regress run: add -- COMMAND.. :: COMMAND.., or --base and "
			       "--new with fresh runs");
	return 0;
}
static const char *const side_options[SIDE_N] = {"--base", "--new"};

static int parse(struct command *c, int argc, char **argv, struct err *err)
{
	int rest, rc;

	c->opt.margin = c->opt.impact = c->opt.total_max = -1;
	c->run.dir = "regress-runs";
	c->run.prefix = "";
	c->is_run = argc > 1 && !strcmp(argv[1], "run");
	c->is_confirm = argc > 1 && !strcmp(argv[1], "confirm");
	if (c->is_run || c->is_confirm) {
		argv++;
		argc--;
	}
	rc = sides_take(&c->sides, side_options, &argc, argv, err);
	if (!rc)
		rc = options_parse(options, N_OPTIONS, c, false, argc, argv, &rest, err);
	if (rc)
		return rc;
	if (c->show_help)
		print_help();
	if (c->show_version) {
		version_print("regress");
		version_print_readers();
	}
	if (c->show_help || c->show_version)
		return 1;
	c->run.quiet = c->quiet;
	if (c->is_confirm)
		return take_earlier(c, argv + rest, err);
	if (c->is_run)
		return take_commands(c, argv + rest, err);
	if (c->confirm)
		return err_set(err, ERR_USAGE, NULL, "--confirm is for regress run");
	if (rest < argc)
		return err_set(err, ERR_USAGE, NULL,
			       "'%s' is on neither side: regress --base RUN.. --new RUN..",
			       argv[rest]);
	if (!c->lint_budget && (!c->sides.paths[SIDE_BASE].n || !c->sides.paths[SIDE_NEW].n))
		return err_set(
			err, ERR_USAGE, NULL,
			"regress --base RUN.. --new RUN..: both sides are wanted (see --help)");
	return 0;
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

static const char *budget_path(const struct command *c)
{
	return c->budget ? c->budget : ".profbudget";
}

/* The rules, to be freed; NULL: there are none. */
static int load_budget(const struct command *c, char **text, struct err *err)
{
	if (!c->budget && access(budget_path(c), F_OK))
		return 0;
	*text = regress_read_text(budget_path(c), err);
	return *text ? 0 : -(int)err->code;
}

/* The profile of a run, to be freed, and its facts. */
static int read_run(const char *path, struct resolve *r, struct profile **ret,
		    struct run_facts *facts, struct err *err)
{
	struct input_facts in;
	int rc = profiles_load_one(r, path, ret, &in, err);

	*facts = (struct run_facts){.cpu = ""};
	if (rc)
		return rc;
	memcpy(facts->cpu, in.cpu, sizeof facts->cpu);
	memcpy(facts->kernel, in.kernel, sizeof facts->kernel);
	memcpy(facts->arch, in.arch, sizeof facts->arch);
	memcpy(facts->host, in.host, sizeof facts->host);
	facts->cpus = (unsigned)in.cpus;
	facts->frequency = in.frequency;
	facts->damaged = in.damaged;
	facts->lost = in.lost;
	facts->arguments = in.arguments;
	return 0;
}

static int load_run(struct command *c, struct regress *g, enum side side, const char *path,
		    struct resolve *r, struct err *err)
{
	struct run_facts facts;
	struct profile *p = NULL;
	int rc = read_run(path, r, &p, &facts, err);

	if (!rc)
		rc = regress_add_run(g, side, path, p, &facts, err);
	if (!rc && c->page.both)
		rc = regress_page_add(&c->page, p, side, c->opt.event, err);
	profile_free(p);
	return rc;
}

/* Runs are in folders; those that lie in DIR itself are one session more. */
static unsigned session_of(const char *history, const char *path)
{
	const char *rest = path + strlen(history), *slash;

	rest += strspn(rest, "/");
	slash = strchr(rest, '/');
	return slash ? (unsigned)hash_bytes(rest, (size_t)(slash - rest)) | 1 : 0;
}

/* The last ones by name, if there are more than are looked at. */
static int load_history(const struct command *c, struct regress *g, struct resolve *r,
			struct err *err)
{
	size_t n = c->past.paths[0].n, i = n > HISTORY_MAX ? n - HISTORY_MAX : 0;
	int rc = 0;

	for (; !rc && i < n; i++) {
		struct run_facts facts;
		struct profile *p = NULL;

		rc = read_run(c->past.paths[0].v[i], r, &p, &facts, err);
		if (!rc)
			rc = regress_add_history(g, session_of(c->history, c->past.paths[0].v[i]),
						 c->past.paths[0].v[i], p, &facts, err);
		profile_free(p);
	}
	return rc;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sums of doubles depend on their order; reports shall not depend on that of the arguments. */
static void sort_paths(char **v, size_t n)
{
	if (n)
		qsort(v, n, sizeof *v, compare_paths);
}

static int load_runs(struct command *c, struct regress *g, struct err *err)
{
	char name[] = "regress", quiet[] = "-q", *argv[] = {name, quiet, NULL};
	struct resolve r = {0};
	int side, rc = resolve_options(&r, 2, argv, err);
	size_t i;

	r.pipeline.symbolizer.foreign_jit_maps = c->opt.force;
	for (side = 0; side < SIDE_N; side++)
		sort_paths(c->sides.paths[side].v, c->sides.paths[side].n);
	for (side = 0; side < SIDE_N; side++)
		for (i = 0; !rc && i < c->sides.paths[side].n; i++)
			rc = load_run(c, g, side, c->sides.paths[side].v[i], &r, err);
	if (!rc)
		rc = load_history(c, g, &r, err);
	resolve_options_done(&r);
	return rc;
}

static int write_report(const struct regress *g, const char *path, const char *mode,
			void (*write)(const struct regress *, FILE *), struct err *err)
{
	FILE *out = !strcmp(path, "-") ? stdout : fopen(path, mode);
	int rc = 0;

	if (!out)
		return err_errno(err, errno, path, "create");
	write(g, out);
	if (fflush(out) || ferror(out))
		rc = err_errno(err, errno, path, "write");
	if (out != stdout && fclose(out) && !rc)
		rc = err_errno(err, errno, path, "write");
	return rc;
}

static int write_reports(struct command *c, const struct regress *g, struct err *err)
{
	const char *summary = getenv("GITHUB_STEP_SUMMARY");
	bool wanted = !c->quiet_if_fine || regress_failed(g);
	int rc = 0;

	if (c->annotate)
		regress_write_annotations(g, c->annotate, stdout);
	else if (!c->quiet)
		regress_write_text(g, stdout);
	if (!rc && c->md && wanted)
		rc = write_report(g, c->md, "w", regress_write_markdown, err);
	if (!rc && c->md && wanted && summary && *summary)
		rc = write_report(g, summary, "a", regress_write_markdown, err);
	if (!rc && c->json)
		rc = write_report(g, c->json, "w", regress_write_json, err);
	if (!rc && c->html)
		rc = regress_page_write(&c->page, g, c->html, err);
	if (!rc && c->junit)
		rc = write_report(g, c->junit, "w", regress_write_junit, err);
	if (!rc && c->folded)
		rc = write_report(g, c->folded, "w", regress_write_folded, err);
	return rc ? rc : args_flush(stdout, "standard output", err);
}

static int lint(const struct regress *g, const struct command *c)
{
	const char *note;
	size_t i;

	for (i = 0; (note = regress_budget_note(g, i)); i++)
		printf("%s: %s\n", budget_path(c), note);
	return i ? EXIT_SLOWER : EXIT_FINE;
}

/* Records runs of both sides, which replace those that were there. */
static int record(struct command *c, struct err *err)
{
	int rc, s;
	size_t i;

	c->run.runs = c->run.runs ? c->run.runs : 5;
	c->run.frequency = c->run.frequency ? c->run.frequency : 3999;
	c->sides.paths[SIDE_BASE].n = c->sides.paths[SIDE_NEW].n = 0;
	rc = regress_run_record(&c->run, &c->sides.paths[SIDE_BASE],
				&c->sides.paths[SIDE_NEW], err);
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

/* The sides' runs, compared by the rules; *ret is to be freed, also on failure. */
static int compare(struct command *c, const char *rules, struct regress **ret, struct err *err)
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
		rc = load_runs(c, g, err);
	if (!rc)
		rc = earlier_restrict(&c->earlier, g, err);
	if (!rc && c->run.commands[0] &&
	    git_is_swapped(c->run.commands[0][0], c->run.commands[1][0]))
		rc = regress_warn(g,
				  "by git the new side's commit is an ancestor of the base's: are the "
				  "sides swapped?",
				  err);
	return rc || !c->sides.paths[SIDE_BASE].n ? rc : regress_compare(g, err);
}

/* A second look with fresh runs at what the first one flagged. */
static int confirm(struct command *c, const char *rules, struct regress **g, struct err *err)
{
	int rc = earlier_take(&c->earlier, *g, err);

	if (rc || !c->earlier.flagged.n)
		return rc;
	if (!c->quiet)
		fprintf(stderr, "regress: %zu flagged; recording again to confirm\n",
			c->earlier.flagged.n);
	c->run.prefix = "confirm-";
	rc = record(c, err);
	if (rc)
		return rc;
	regress_free(*g);
	return compare(c, rules, g, err);
}

/* What the comparison says. */
static int status_of(const struct command *c, const struct regress *g)
{
	if (c->warn_only)
		return EXIT_FINE;
	if (regress_failed(g))
		return EXIT_SLOWER;
	return c->is_detect && !regress_design(g)->can_detect ? EXIT_INCONCLUSIVE : EXIT_FINE;
}

/* An exit status; negative. */
static int run(struct command *c, struct err *err)
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
		return args_flush(stdout, "standard output", err);
	}
	if (!rc && c->history)
		rc = add_history(c, err);
	if (!rc && c->run.commands[SIDE_BASE])
		rc = record(c, err);
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
	struct command c = {0};
	struct err err = {0};
	char line[ERR_SOURCE_MAX + ERR_WHAT_MAX + 64];
	int rc, code;

	args_hold_standard_files();
	rc = parse(&c, argc, argv, &err);
	if (rc > 0) {
		code = EXIT_FINE;
		rc = args_flush(stdout, "standard output", &err);
	} else {
		rc = rc ? rc : run(&c, &err);
		code = rc > 0 ? rc : EXIT_FINE;
	}
	if (rc < 0) {
		err_format(&err, line, sizeof line);
		fprintf(stderr, "regress: %s\n", line);
		code = EXIT_TROUBLE;
	}
	sides_done(&c.sides);
	regress_page_done(&c.page);
	sides_done(&c.sessions);
	sides_done(&c.past);
	earlier_done(&c.earlier);
	return code;
}
