/* regress_options.c - the options of `regress`, and its three forms. */
#include "cmd/regress_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "cmd/args.h"
#include "cmd/cache_dir.h"
#include "cmd/config.h"
#include "cmd/progress.h"
#include "cmd/version.h"
#include "cmd/watch.h"

#define OPTIONS_TARGET struct regress_command
#include "cmd/options.h"

#define SHARE_TEXT	       "number like 0.01 or 2%,"
#define SETS_SHARE(field, top) SETS_REAL(field, top, 100, SHARE_TEXT)

/* GROWTH or GROWTH:SHARE */
static int set_detect(void *target, const char *option, char *text, struct err *err)
{
	struct regress_command *c = target;
	char *share = strchr(text, ':');
	int rc = 0;

	if (share) {
		*share++ = '\0';
		rc = args_real(option, share, 1, 100, SHARE_TEXT, &c->opt.detect_share, err);
	}
	c->is_detect = true;
	return rc ? rc : args_real(option, text, 10, 100, SHARE_TEXT, &c->opt.detect_growth, err);
}

static int take_nothing(void *target, const char *option, char *text, struct err *err)
{
	(void)target, (void)option;
	return err_set(err, ERR_USAGE, NULL, "'%s' is on neither side", text);
}

static int add_project(void *target, const char *option, char *text, struct err *err)
{
	struct regress_command *c = target;

	(void)option;
	return vec_push(&c->project, text) ? err_nomem(err) : 0;
}

static int set_annotate(void *target, const char *option, char *text, struct err *err)
{
	if (strcmp(text, "github") && strcmp(text, "gitlab"))
		return err_set(err, ERR_USAGE, NULL, "%s: '%s' is neither github nor gitlab",
			       option, text);
	((struct regress_command *)target)->annotate = text;
	return 0;
}

static const struct option_row options[] = {
	HEADING("what is compared"),
	/* Before the table is used, sides_take() removes these two with all arguments up to the
	 * next option. */
	{0, "base", NULL, "RUN..", "runs of the old build", CALLS(take_nothing)},
	{0, "new", NULL, "RUN..", "runs of the new one", CALLS(take_nothing)},
	{'e', "event", NULL, "NAME",
	 "this event (default: the one with the most weight); run: record it\n"
	 "(page-faults, context-switches, instructions ..)",
	 SETS_TEXT(opt.event)},
	{0, "history", NULL, "DIR",
	 "earlier runs of the base, in one folder per day or job: they show how much\n"
	 "functions vary without a change",
	 SETS_TEXT(history)},
	{0, "force", NULL, NULL,
	 "compare in spite of different machines, frequencies, owners, or damage",
	 SETS_FLAG(opt.force)},
	HEADING("what is slower"),
	{0, "budget", NULL, "FILE", "rules (default: .profbudget, if it is there)",
	 SETS_TEXT(budget)},
	{0, "lint-budget", NULL, NULL,
	 "only check the rules, and which of them no function matches", SETS_FLAG(lint_budget)},
	{0, "margin", NULL, "SHARE", "growth of a function up to which there is no alarm (2%)",
	 SETS_SHARE(opt.margin, 10)},
	{0, "impact", NULL, "SHARE", "share of the whole by which a function must grow (0.1%)",
	 SETS_SHARE(opt.impact, 1)},
	{0, "total", NULL, "SHARE", "growth of all on-CPU time up to which there is no alarm (3%)",
	 SETS_SHARE(opt.total_max, 10)},
	{0, "q", NULL, "Q", "share of false ones among the alarms (0.01)", SETS_SHARE(opt.q, .5)},
	{0, "detect", NULL, "GROWTH[:SHARE]",
	 "the growth that should be found in functions with this share of the time\n"
	 "(10%:10%): status 3 if there are too few runs and nothing got slower",
	 CALLS(set_detect)},
	{0, "warn-only", NULL, NULL, "exit status 0 whatever got slower", SETS_FLAG(warn_only)},
	HEADING("reports, besides the table on standard output"),
	{0, "md", NULL, "FILE", "Markdown; also appended to $GITHUB_STEP_SUMMARY if that is set",
	 SETS_TEXT(md)},
	{0, "long", NULL, NULL, "Markdown of up to 60 kB with all rows (6 kB, the ten first)",
	 SETS_FLAG(opt.is_long)},
	{0, "project", NULL, "PATH",
	 "a folder of the project's sources or programs: its functions come first in\n"
	 "Markdown; may be given several times (default: all that is not below /usr)",
	 CALLS(add_project)},
	{0, "absolute", NULL, NULL, "also samples a run, before and after",
	 SETS_FLAG(opt.is_absolute)},
	{0, "json", NULL, "FILE", "all figures (doc/regress.schema.json)", SETS_TEXT(json)},
	{0, "html", NULL, "FILE",
	 "a page: the differential flame graph, with only significant changes\n"
	 "coloured, and the verdicts",
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
	 SETS_POSITIVE(run.runs, REGRESS_RUNS_MAX)},
	{'F', "freq", NULL, "HZ", "samples a second (3999; of confirm: as before)",
	 SETS_POSITIVE(run.frequency, 100000)},
	{'c', "count", NULL, "N",
	 "a sample every N events instead of -F (of page-faults and the like: 1)",
	 SETS_POSITIVE(run.count, 2000000000)},
	{0, "warmup", NULL, "N", "runs of each side before the first one that is recorded",
	 SETS_NUMBER(run.warmup, 100)},
	{0, "prepare", NULL, "CMD",
	 "what sh runs before each run, which has $UNSPOOL_SIDE: base or new",
	 SETS_TEXT(run.prepare)},
	{0, "ignore-status", NULL, NULL, "a command may fail, as long as it was recorded",
	 SETS_FLAG(run.ignore_status)},
	{0, "shell", NULL, NULL, "each COMMAND is one string for sh -c", SETS_FLAG(is_shell)},
	{0, "suite", NULL, "FILE",
	 "run: benchmarks, one a line, NAME: COMMAND, which sh runs in each folder:\n"
	 "a table each, one verdict, one error rate",
	 SETS_TEXT(suite)},
	{0, "confirm", NULL, NULL,
	 "run: if something was flagged, record as many again and judge only that",
	 SETS_FLAG(confirm)},
	{0, "dir", NULL, "DIR", "where the recordings go (regress-runs)", SETS_TEXT(run.dir)},
	HEADING("regress trend"),
	{0, "by-name", NULL, NULL,
	 "commits by name (default: by the time of recording, if all runs tell it)",
	 SETS_FLAG(by_name)},
	HEADING("running"),
	{0, "no-sandbox", NULL, NULL,
	 "keep all rights while reading (default: write only the reports and the\n"
	 "cache, execute and connect nothing; from the last run on)",
	 SETS_FLAG(no_sandbox)},
	{'v', "verbose", NULL, NULL, "say what of the sandbox this kernel does not have",
	 SETS_FLAG(verbose)},
	{'q', "quiet", NULL, NULL, "no table, no notes", SETS_FLAG(quiet)},
	{'h', "help", NULL, NULL, "this page", SETS_FLAG_AND_STOPS(show_help)},
	{0, "version", NULL, NULL, "which version this is", SETS_FLAG_AND_STOPS(show_version)},
};

enum { N_OPTIONS = sizeof options / sizeof *options };

static void print_help(void)
{
	puts("usage: regress [OPTIONS] --base RUN.. --new RUN..\n"
	     "       regress run [-n N] [-F HZ] [--confirm] [OPTIONS] -- COMMAND.. :: COMMAND..\n"
	     "       regress run --suite FILE [OPTIONS] -- BASE-FOLDER :: NEW-FOLDER\n"
	     "       regress confirm [OPTIONS] EARLIER.json [-- COMMAND.. :: COMMAND..]\n"
	     "       regress trend [OPTIONS] DIR|RUN..\n"
	     "Reports what got slower from one build to the next: status 1 if something got "
	     "slower.\n"
	     "\n"
	     "  regress --base main/*.data --new pr/*.data --md summary.md\n"
	     "  regress run -n 5 --json r.json -- ./old --work :: ./new --work\n"
	     "  regress trend stored --html trend.html   # what crept over many commits\n"
	     "  regress confirm r.json       # on another machine: what was flagged, again\n"
	     "\n"
	     "A RUN is a recording, or a profile that resolve reads (folded, pprof, perf script "
	     "text),\n"
	     "or a folder with nothing else in it. Five runs per side are a good number, four the "
	     "least.\n");
	options_print_help(options, N_OPTIONS, NULL, stdout);
	puts("exit status: 0 nothing got slower; 1 something did; 2 trouble: usage, unreadable, "
	     "not comparable;\n3 with --detect: nothing was found, but there are too few samples "
	     "to find it;\n4 only all on-CPU time grew, and the sides were not recorded in turn on "
	     "one machine");
}

/* COMMAND.. :: COMMAND.. Returns the index of the second, or negative. */
static int split_commands(char **argv, const char *usage, struct err *err)
{
	int i, k;

	for (i = 0; argv[i] && strcmp(argv[i], "::"); i++)
		;
	if (!i || !argv[i] || !argv[i + 1])
		return err_set(err, ERR_USAGE, NULL, "%s", usage);
	for (k = i + 1; argv[k]; k++)
		if (!strcmp(argv[k], "::"))
			return err_set(
				err, ERR_USAGE, NULL,
				"a second '::': there are two sides; a command that has one as an "
				"argument takes --shell");
	argv[i] = NULL;
	return i + 1;
}

/* The first benchmark, which is the only one unless there is a suite. */
static struct regress_bench *first_bench(struct regress_command *c)
{
	if (!c->benches.n && vec_push(&c->benches, (struct regress_bench){0}))
		return NULL;
	return c->benches.v;
}

static int take_strings(struct regress_bench *b, char **const sides[SIDE_N], struct err *err)
{
	static char sh[] = "sh", c[] = "-c";
	int s, rc = 0;

	for (s = 0; !rc && s < SIDE_N; s++) {
		if (sides[s][1])
			return err_set(err, ERR_USAGE, NULL,
				       "--shell: a command of several words; quote it: '%s %s ..'",
				       sides[s][0], sides[s][1]);
		b->words[s][0] = sh;
		b->words[s][1] = c;
		b->words[s][2] = sides[s][0];
		b->commands[s] = b->words[s];
	}
	return rc;
}

static int take_commands(struct regress_command *c, char **argv, struct err *err)
{
	int second = split_commands(
		argv, "regress run -- COMMAND.. :: COMMAND.. : both commands are wanted", err);
	char **const sides[SIDE_N] = {argv, argv + second};
	struct regress_bench *b = first_bench(c);
	int s;

	if (second < 0)
		return second;
	if (!b)
		return err_nomem(err);
	if (c->is_shell)
		return take_strings(b, sides, err);
	for (s = 0; s < SIDE_N; s++) {
		if (!sides[s][1] && strpbrk(sides[s][0], " \t") && access(sides[s][0], F_OK))
			return err_set(err, ERR_USAGE, NULL,
				       "'%s': no such program; a command in one string takes "
				       "--shell",
				       sides[s][0]);
		b->commands[s] = sides[s];
	}
	return 0;
}

/* --suite FILE -- BASE-FOLDER :: NEW-FOLDER */
static int take_suite(struct regress_command *c, char **argv, struct err *err)
{
	static const char usage[] =
		"regress run --suite FILE -- BASE-FOLDER :: NEW-FOLDER : both folders are wanted";
	int second = split_commands(argv, usage, err), s;

	if (second < 0)
		return second;
	if (argv[1] || argv[second + 1])
		return err_set(err, ERR_USAGE, NULL, "%s", usage);
	for (s = 0; s < SIDE_N; s++) {
		struct stat st;

		c->run.where[s] = argv[s ? second : 0];
		if (stat(c->run.where[s], &st) || !S_ISDIR(st.st_mode))
			return err_set(err, ERR_USAGE, c->run.where[s],
				       "no folder: with --suite each side is the folder in which "
				       "its commands run");
	}
	return regress_suite_read(&c->benches, c->suite, err);
}

/* How EARLIER.json was recorded, unless options say otherwise. */
static void take_recipe(struct regress_command *c, const struct earlier *e)
{
	c->run.runs = c->run.runs ? c->run.runs : e->runs;
	c->run.frequency = c->run.frequency ? c->run.frequency : e->frequency;
	c->run.count = c->run.count ? c->run.count : e->count;
	c->run.warmup = c->run.warmup ? c->run.warmup : e->warmup;
	c->run.prepare = c->run.prepare ? c->run.prepare : e->prepare;
	c->run.event = c->run.event ? c->run.event : e->event;
	c->run.ignore_status |= e->ignore_status;
}

/* EARLIER.json [COMMAND.. :: COMMAND..] */
static int take_earlier(struct regress_command *c, char **argv, struct err *err)
{
	struct regress_bench *b = first_bench(c);
	int rc, s;

	if (!b)
		return err_nomem(err);
	if (!argv[0])
		return err_set(err, ERR_USAGE, NULL,
			       "regress confirm EARLIER.json: the report is missing");
	c->earlier_path = argv[0];
	rc = earlier_read(&b->earlier, argv[0], err);
	if (rc)
		return rc;
	take_recipe(c, &b->earlier);
	c->run.prefix = "confirm-";
	if (!b->earlier.flagged.n)
		return 0;
	if (argv[1])
		return take_commands(c, argv + 1, err);
	if (b->sides.paths[SIDE_BASE].n && b->sides.paths[SIDE_NEW].n)
		return 0;
	for (s = 0; s < SIDE_N; s++)
		b->commands[s] = b->earlier.commands[s].v;
	if (!b->commands[SIDE_BASE] || !b->commands[SIDE_NEW])
		return err_set(
			err, ERR_USAGE, argv[0],
			"it is not of regress run: add -- COMMAND.. :: COMMAND.., or --base and "
			"--new with fresh runs");
	return 0;
}

/* How runs are read. */
static int load_options(struct regress_command *c, struct err *err)
{
	struct config config = {0};
	int rc = config_read(&config, err);

	if (!rc)
		rc = cache_options(&c->load.symbolizer, c->cache_dir, err);
	if (rc)
		return rc;
	if (c->quiet)
		progress_off();
	c->load.fetch = config.fetch;
	c->load.symbolizer.foreign_jit_maps = c->opt.force;
	fetch_watch_init(&c->watch, "regress", &c->fetching, NULL, c->quiet);
	watch_loading(&c->load, &c->watch);
	return 0;
}

/* The event that is recorded: of those that the kernel counts one by one each is a sample. */
static int event_options(struct regress_command *c, struct err *err)
{
	static const char *const counted[] = {"page-faults",	"faults",	    "minor-faults",
					      "major-faults",	"context-switches", "cs",
					      "cpu-migrations", "migrations"};
	const char *name = c->opt.event;
	size_t i;

	if (c->suite && !c->is_run)
		return err_set(err, ERR_USAGE, NULL, "--suite is for regress run");
	if (!name || !c->is_run)
		return 0;
	if (strchr(name, ','))
		return err_set(err, ERR_USAGE, NULL, "-e %s: one event at a time", name);
	c->run.event = name;
	c->opt.event = NULL; /* there is no other */
	for (i = 0; !c->run.count && !c->run.frequency && i < sizeof counted / sizeof *counted; i++)
		if (!strncmp(name, counted[i], strlen(counted[i])) &&
		    (!name[strlen(counted[i])] || name[strlen(counted[i])] == ':'))
			c->run.count = 1;
	return 0;
}

static int take_sides(struct regress_command *c, struct err *err)
{
	struct regress_bench *b = first_bench(c);

	if (!b)
		return err_nomem(err);
	b->sides = c->sides;
	c->sides = (struct sides){0};
	return 0;
}

static const char *const side_options[SIDE_N] = {"--base", "--new"};

int regress_options(struct regress_command *c, int argc, char **argv, struct err *err)
{
	int rest, rc;

	c->opt.margin = c->opt.impact = c->opt.total_max = -1;
	c->run.dir = "regress-runs";
	c->run.prefix = "";
	c->is_run = argc > 1 && !strcmp(argv[1], "run");
	c->is_confirm = argc > 1 && !strcmp(argv[1], "confirm");
	c->is_trend = argc > 1 && !strcmp(argv[1], "trend");
	if (c->is_run || c->is_confirm || c->is_trend) {
		argv++;
		argc--;
	}
	rc = sides_take(&c->sides, side_options, &argc, argv, err);
	if (!rc)
		rc = options_parse(options, N_OPTIONS, c, false, argc, argv, &rest, NULL, err);
	if (!rc && c->project.n && vec_push(&c->project, NULL))
		rc = err_nomem(err);
	if (rc)
		return rc;
	c->opt.project = c->project.v;
	if (c->show_help)
		print_help();
	if (c->show_version) {
		version_print("regress");
		version_print_readers();
	}
	if (c->show_help || c->show_version)
		return 1;
	c->run.quiet = c->quiet;
	rc = load_options(c, err);
	if (!rc)
		rc = event_options(c, err);
	if (!rc && !c->suite)
		rc = take_sides(c, err);
	if (rc)
		return rc;
	if (c->is_trend)
		return regress_trend_options(c, argv + rest, err);
	if (c->is_confirm)
		return take_earlier(c, argv + rest, err);
	if (c->is_run)
		return c->suite ? take_suite(c, argv + rest, err)
				: take_commands(c, argv + rest, err);
	if (c->confirm)
		return err_set(err, ERR_USAGE, NULL, "--confirm is for regress run");
	if (rest < argc)
		return err_set(err, ERR_USAGE, NULL,
			       "'%s' is on neither side: regress --base RUN.. --new RUN..",
			       argv[rest]);
	if (!c->lint_budget &&
	    (!c->benches.v->sides.paths[SIDE_BASE].n || !c->benches.v->sides.paths[SIDE_NEW].n))
		return err_set(
			err, ERR_USAGE, NULL,
			"regress --base RUN.. --new RUN..: both sides are wanted (see --help)");
	return 0;
}

void regress_options_done(struct regress_command *c)
{
	sides_done(&c->sides);
	vec_done(&c->project);
	regress_benches_done(&c->benches);
	sides_done(&c->commits);
	sides_done(&c->sessions);
	sides_done(&c->past);
	fetch_watch_done(&c->watch);
}
