/* regress_run.h - records both sides of a comparison alternately. */
#ifndef CMD_REGRESS_RUN_H
#define CMD_REGRESS_RUN_H

#include "base/err.h"
#include "cmd/sides.h"

struct regress_run_options {
	unsigned runs; /* of each side */
	unsigned frequency;
	const char *dir;    /* where the recordings go, which is made if it is not there */
	const char *prefix; /* of their names */
	char **commands[2]; /* argv of the base's and of the new command */
	bool quiet;
};

/* Adds the paths of the recordings, which the caller frees, to the lists. Each round records both
 * sides, in an order that changes from round to round. Standard output of the commands goes to
 * standard error. Returns 0, or negative with *err, also if a command fails. */
int regress_run_record(const struct regress_run_options *o, path_list *base, path_list *new,
		       struct err *err);

#endif
