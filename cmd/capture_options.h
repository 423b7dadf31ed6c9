/* capture_options.h - parses the command line of `capture`. */
#ifndef CMD_CAPTURE_OPTIONS_H
#define CMD_CAPTURE_OPTIONS_H

#include <limits.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "cmd/parts.h"

struct pid_vec {
	VEC(pid_t) pids;
};

/* What the words of a command line ask for. Texts are those of argv and live as long. */
struct capture_args {
	struct capture_options opt;
	struct pid_vec pids, tids;
	struct parts parts;
	char cache_dir[PATH_MAX]; /* of opt */
	bool users;		  /* some of pids are by -u */
	bool quiet, verbose, check, list, stacks, runtimes, show_help, show_version, asks_stacks;
	unsigned n_said;	/* notes of the result that were printed */
	struct hash_table said; /* hashes of all that were, of earlier parts too */
	const char *output;	/* -o, without the time of a part */
	bool said_probes;	/* that they take long */
	bool said_summary;
};

/* Fills `a`, whose defaults the caller has set. Returns 0; 1 if help or the version was printed and
 * nothing is left to do; negative with *err. Call capture_args_done() in all cases. */
int capture_args_parse(struct capture_args *a, int argc, char **argv, struct err *err);
void capture_args_done(struct capture_args *a);

#endif
