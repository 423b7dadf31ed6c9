/* regress_options.h - parses the command line of `regress`. */
#ifndef CMD_REGRESS_OPTIONS_H
#define CMD_REGRESS_OPTIONS_H

#include <limits.h>

#include "cmd/fetch.h"
#include "cmd/regress_bench.h"
#include "cmd/regress_run.h"
#include "cmd/sides.h"
#include "load/load.h"
#include "regress/regress.h"

struct regress_command {
	struct regress_options opt;
	struct regress_run_options run;
	struct load_options load; /* of each run */
	struct fetch_watch watch;
	struct fetch_signals fetching;
	char cache_dir[PATH_MAX];
	const char *budget, *history, *md, *json, *junit, *html, *folded, *annotate;
	bool warn_only, quiet, verbose, no_sandbox, quiet_if_fine, lint_budget, show_help,
		show_version;
	bool is_trend, by_name; /* regress trend */
	bool is_run, is_confirm, confirm, is_detect, is_shell;
	const char *earlier_path, *suite;
	bool is_swapped;	     /* by git the new side's commit is the older one */
	VEC(const char *) project;   /* with a NULL behind them, unless there are none */
	bench_list benches;	     /* at least one */
	struct sides sides;	     /* until they are given to the first benchmark */
	struct sides commits;	     /* of regress trend: paths[0] */
	struct sides sessions, past; /* of --history: folders, and the runs in them */
};

/* Fills a zeroed *c, whose strings stay in argv. Returns 0 to go on, 1 if --help or --version was
 * printed, or negative with *err. Call regress_options_done() in any case. */
int regress_options(struct regress_command *c, int argc, char **argv, struct err *err);
void regress_options_done(struct regress_command *c);

/* ---- regress_load.c ----------------------------------------------------------------------- */

/* Finds the runs of --history DIR: each folder in it is a session, and its own files are one more.
 */
int regress_find_history(struct regress_command *c, struct err *err);
/* Reads the runs of both sides and of the history into b->g, always in the same order. */
int regress_load(struct regress_command *c, struct regress_bench *b, struct err *err);

/* Loads a run, which the caller releases with loaded_done() in any case, and its facts. */
int regress_read_run(struct regress_command *c, const char *path, struct loaded *in,
		     struct run_facts *facts, struct err *err);

/* ---- regress_trend.c ----------------------------------------------------------------------- */

int regress_trend_options(struct regress_command *c, char **argv, struct err *err);
/* Returns an exit status, or negative with *err. */
int regress_trend(struct regress_command *c, struct err *err);

/* ---- regress_reports.c --------------------------------------------------------------------- */

/* Can they be written? What is compared takes long, so this is asked before. */
int regress_reports_check(const struct regress_command *c, struct err *err);
/* Writes all reports that are wanted. Returns 0, or negative with *err. */
int regress_reports_write(struct regress_command *c, struct err *err);

#endif
