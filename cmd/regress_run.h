/* regress_run.h - records both sides of a comparison, turn and turn about. */
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

/* Paths of the recordings are added to the lists, to be freed. Each round records both, in an order
 * that changes from round to round; standard output of the commands goes to standard error. 0 or
 * negative with *err, also when a command fails. */
int regress_run_record(const struct regress_run_options *o, path_list *base, path_list *new,
		       struct err *err);

#endif
