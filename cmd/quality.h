/* quality.h - the quality of a profile, as shares of its weight: for --stats=json and --require. */
#ifndef CMD_QUALITY_H
#define CMD_QUALITY_H

#include <stdio.h>

#include "load/load.h"

/* X(name in JSON and --require, is more better?, what it is a share of). The first six are the ways
 * in which user stacks end; together they are all user stacks. */
#define QUALITIES(X)                                                                       \
	X(ROOTS, "roots", true, "user stacks that reach their root, stitched ones too")    \
	X(SWITCHED, "switched", false, "user stacks that end where another stack goes on") \
	X(HOLE, "hole", false, "stack copies that end at a page that nothing had touched") \
	X(CUT, "cut", false, "stack copies that are too small")                            \
	X(NO_FILE, "no_file", false, "user stacks that end in a file that is not here")    \
	X(OTHER_ENDS, "other_ends", false, "user stacks that end for another reason")      \
	X(STITCHED, "stitched", false, "stacks with callers from other samples")           \
	X(GUESSED, "guessed", false, "stacks with frames found without unwind tables")     \
	X(WRONG_BUILD, "wrong_build", false, "stacks through files that were replaced")    \
	X(NAMELESS, "nameless", false, "stacks through code without names")                \
	X(NAMES, "names", true, "stacks all of whose code has names")                      \
	X(LOST, "lost", false, "samples that were lost while recording, of all")

#define X(name, text, more, what) QUALITY_##name,
enum quality_kind { QUALITIES(X) QUALITY_N };
#undef X

struct quality {
	/* Of all samples: the sum of the periods of one event, or, with several events, the number
	 * of samples. */
	uint64_t weight;
	uint64_t user_stacks;	   /* weight of those with a user stack that was unwound */
	uint64_t parts[QUALITY_N]; /* weight; of LOST samples */
	uint64_t samples;	   /* read and lost */
};

/* By dso id, for all modules of a profile: a stack is counted for the module in which it ends, a
 * frame for the module of its code. The caller frees the result; NULL when out of memory. */
struct quality *quality_by_dso(const struct loaded *p);
/* 0, or -ERR_NOMEM. */
int quality_measure(const struct loaded *p, struct quality *ret, struct err *err);
/* In percent. Returns false if there is nothing of which it could be a share. */
bool quality_share(const struct quality *q, enum quality_kind kind, double *ret);

/* The list of --require: roots=99,names=95. A minimum where more is better, else a maximum. */
struct requirements {
	bool asked[QUALITY_N];
	double percent[QUALITY_N];
};
int requirements_parse(struct requirements *r, char *list, struct err *err);
/* Are all requirements met? Prints a line for each one that is not. */
bool requirements_met(const struct requirements *r, const struct quality *q, FILE *out);

/* Prints "name":percent pairs, without those that are a share of nothing; for a module, in percent
 * of the `whole`. */
void quality_json(const struct quality *whole, const struct quality *part, FILE *out);

#endif
