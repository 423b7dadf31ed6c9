/* regress_run.h - records both sides of a comparison alternately. */
#ifndef CMD_REGRESS_RUN_H
#define CMD_REGRESS_RUN_H

#include "base/err.h"
#include "cmd/sides.h"

struct regress_run_options {
	unsigned runs; /* of each side */
	unsigned frequency;
	unsigned count;	      /* a sample every so many events; 0: by frequency */
	unsigned warmup;      /* runs of each side before the first one that is recorded */
	const char *event;    /* NULL: capture's own choice */
	const char *prepare;  /* what sh runs before each run; NULL */
	const char *dir;      /* where the recordings go, which is made if it is not there */
	const char *prefix;   /* of their names */
	const char *name;     /* of the benchmark, for messages; NULL */
	const char *where[2]; /* the folders in which each side's commands run; NULL: here */
	char **commands[2];   /* argv of the base's and of the new command */
	bool quiet, ignore_status;
};

/* Adds the paths of the recordings, which the caller frees, to the lists. Each round records both
 * sides, in an order that changes from round to round, with files that only one side uses at other
 * places in memory. A run of which samples were lost is recorded again, a few times. Standard output
 * of the commands goes to standard error. `prepare` and the commands have $UNSPOOL_SIDE: base or new. Returns 0, or
 * negative with *err, also if a command fails (unless ignore_status: if nothing was recorded). */
int regress_run_record(const struct regress_run_options *o, path_list *base, path_list *new,
		       struct err *err);

#endif
