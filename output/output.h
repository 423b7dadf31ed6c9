/* output.h - the table of formats that write a profile. */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "profile/profile.h"

/* ---- writing ----------------------------------------------------------------------------- */

struct output_options {
	bool count_samples;	 /* weights are numbers of samples instead of periods */
	struct stack_style style;
	bool nanoseconds;	 /* script: times with 9 digits behind the point */
	/* Only this event; NULL: the first that has samples (script, jsonl: all). */
	const char *event;
	const char *generator; /* "unspool VERSION", for formats that name their writer */
};

/* A format: one file fmt_NAME.c, one row in formats.c. */
struct output_format {
	const char *name;
	const char *help; /* one line */
	/* Of -o FILE that choose it, separated by spaces: ".folded .collapsed" */
	const char *suffixes;
	unsigned keep; /* enum profile_keep bits that it needs */
	bool binary;   /* refuse to write to a terminal */
	/* Writes all of it. 0 or negative with *err; errors of `out` are found by the caller's
	 * fflush. */
	int (*write)(const struct profile *p, const struct output_options *opt, FILE *out,
		     struct err *err);
};

/* NULL-terminated, in the order of --help. */
extern const struct output_format *const output_formats[];
/* By name, or NULL. */
const struct output_format *output_format_find(const char *name);
/* By the suffix of a path, or NULL. */
const struct output_format *output_format_for_path(const char *path);

#endif
