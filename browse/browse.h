/* browse.h - a profile in the terminal, as `perf report` has it: functions with what they cost,
 * whose callers or callees unfold as a tree; needs ncurses and a terminal on standard input and
 * output.
 *
 *	struct browse_options opt = {.source = "perf.data"};
 *	rc = browse(profile, &opt, &err); */
#ifndef BROWSE_BROWSE_H
#define BROWSE_BROWSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "profile/profile.h"

struct browse_options {
	const char *source; /* name of the input; NULL: none, or several */
	const char *base;   /* of a difference: the same of the other side */
	const char *event;  /* the one shown first, as event_is_listed(); NULL: the main one */
	struct stack_style style;
	bool count_samples; /* weights are numbers of samples instead of periods */
	bool colours;
	/* The profile has two sides (profile_absorb_side()): shares of both, and their change. */
	bool is_diff;
	/* Writes the machine code of a function, for the key `a`; NULL: there is none. Returns 0,
	 * or negative with *err. */
	int (*annotate)(void *arg, const char *function, FILE *out, struct err *err);
	void *annotate_arg;
};

/* Shows the profile until the user leaves. Returns 0, or negative with *err. The profile must have
 * PROFILE_KEEP_TIDS and _PIDS for the list of threads to be complete. Sets the locale's LC_CTYPE
 * and, while it runs, ncurses' handlers of SIGINT, SIGTERM and SIGWINCH. */
int browse(const struct profile *p, const struct browse_options *opt, struct err *err);

#endif
