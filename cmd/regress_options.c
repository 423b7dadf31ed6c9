/* regress_options.c - the options of `regress`, and its three forms. */
#include "cmd/regress_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	{0, "event", NULL, "NAME", "this event (default: the one with the most weight)",
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
	 SETS_NUMBER(run.runs, 100)},
	{'F', "freq", NULL, "HZ", "samples a second (3999; of confirm: as before)",
	 SETS_NUMBER(run.frequency, 100000)},
	{0, "confirm", NULL, NULL,
	 "run: if something was flagged, record as many again and judge only that",
	 SETS_FLAG(confirm)},
	{0, "dir", NULL, "DIR", "where the recordings go (regress-runs)", SETS_TEXT(run.dir)},
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
	     "       regress confirm [OPTIONS] EARLIER.json [-- COMMAND.. :: COMMAND..]\n"
	     "Reports what got slower from one build to the next: status 1 if something got "
	     "slower.\n"
	     "\n"
	     "  regress --base main/*.data --new pr/*.data --md summary.md\n"
	     "  regress run -n 5 --json r.json -- ./old --work :: ./new --work\n"
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

/* COMMAND.. :: COMMAND.. */
static int take_commands(struct regress_command *c, char **argv, struct err *err)
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
static int take_earlier(struct regress_command *c, char **argv, struct err *err)
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

static const char *const side_options[SIDE_N] = {"--base", "--new"};

int regress_options(struct regress_command *c, int argc, char **argv, struct err *err)
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
	if (rc)
		return rc;
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

void regress_options_done(struct regress_command *c)
{
	sides_done(&c->sides);
	vec_done(&c->project);
	regress_page_done(&c->page);
	sides_done(&c->sessions);
	sides_done(&c->past);
	earlier_done(&c->earlier);
	fetch_watch_done(&c->watch);
}
