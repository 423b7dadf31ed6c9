/* report.h - words about a loaded profile, for people and for CI: how far to trust it, what it
 * lacks and what would help.
 *
 *	struct quality q;
 *	report_hints(&in, "resolve", stderr);
 *	rc = quality_measure(&in, &q, &err);
 *	if (!rc) report_json(&in, &q, seconds, stderr);
 *
 * All functions read a recording that load_profile() has loaded and that is still open, and write
 * text to a given FILE. A line that stands among others begins with the name of the command. Errors
 * of the FILE are the caller's to see (ferror()). */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "load/load.h"

/* ---- how good it is: shares of the weight ------------------------------------------------------
 */

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

/* 0, or -ERR_NOMEM. */
int quality_measure(const struct loaded *l, struct quality *ret, struct err *err);
/* In percent. Returns false if there is nothing of which it could be a share. */
bool quality_share(const struct quality *q, enum quality_kind kind, double *ret);

/* The list of --require: roots=99,names=95. A minimum where more is better, else a maximum. */
struct requirements {
	bool asked[QUALITY_N];
	double percent[QUALITY_N];
};
/* Returns 0, or negative with *err. */
int requirements_parse(struct requirements *r, char *list, struct err *err);
/* Are all requirements met? Prints a line for each one that is not. */
bool requirements_met(const struct requirements *r, const struct quality *q, const char *command,
		      FILE *out);

/* ---- what came of it ---------------------------------------------------------------------------
 */

/* For people: samples, how stacks ended, modules by weight with what they lack. */
void report_text(const struct loaded *l, FILE *out);
/* One JSON object on one line; doc/resolve.1 documents its members. */
void report_json(const struct loaded *l, const struct quality *q, double seconds_write, FILE *out);
/* Our frames beside libdw's (load_options.verify_every). */
void report_verify(const struct verify *v, FILE *out);
/* Explains every location of the profile (made with PROFILE_KEEP_IPS) that `script` shows as this
 * address: which mapping, which files were tried and used, which symbol and lines. Returns how
 * many. */
size_t report_address(const struct loaded *l, uint64_t ip, FILE *out);

/* How report_annotate() shows a function. All strings live as long as the call. */
struct annotate_options {
	const char *function; /* its name, as it is or without arguments */
	const char *event;    /* event_is_listed(); NULL: the main one */
	bool count_samples;   /* weights are numbers of samples instead of periods */
	/* Where source files are looked for first, and what stands for /; NULL: none. */
	const char *source_dir, *source_root;
	bool full_paths; /* of source files */
	bool colours;
};

/* Prints the instructions of all functions of this name that samples are in, each with its share of
 * the function's weight, and the source lines between them. Returns 0, or negative with *err:
 * -ERR_NOT_FOUND if there is none or its code is not here, -ERR_UNSUPPORTED if it cannot be shown.
 */
int report_annotate(const struct loaded *l, const struct annotate_options *opt, FILE *out,
		    struct err *err);

/* A line for each name of a list with commas of which the profile has no function, with one that
 * ends in it. */
void report_missing(const struct profile *p, const char *list, FILE *out);

/* ---- what would make the next one better -------------------------------------------------------
 */

/* Prints a line, with the input's name, for each of these: stacks were cut (with the size of copies
 * that would be enough) or end at missing pages; few stacks reach their root; much time is spent in
 * a module without names; inlined functions are missing; a file was replaced; there are no call
 * chains. Returns whether there was any of these. Another line, which does not count, tells that
 * most samples are of the idle task. out: NULL prints nothing. */
bool report_hints(const struct loaded *l, const char *command, FILE *out);
/* For what was loaded without network: prints one line if servers are known that could help. */
void report_fetch_advice(const struct loaded *l, const char *command, FILE *out);

#endif
