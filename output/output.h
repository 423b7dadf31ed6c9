/* output.h - the table of formats that write a profile. */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "profile/profile.h"

/* ---- writing ----------------------------------------------------------------------------- */

/* How flamegraph looks. */
struct picture_options {
	const char *title, *subtitle; /* NULL: of the recording */
	const char *count_name;	      /* what weights are called; NULL: by the event */
	unsigned width;		      /* pixels; less than 100: PICTURE_WIDTH */
	double min_width;	      /* of a frame that is drawn, in pixels */
	unsigned palette;	      /* index of output_palette_name() */
	bool inverted;		      /* the root on top: an icicle graph */
	bool reverse;		      /* stacks begin with the leaf: who calls it is above it */
};
#define PICTURE_WIDTH 1200
#define PICTURE_MIN_WIDTH 0.1

/* The palettes by index, the default first; NULL behind the last. */
const char *output_palette_name(unsigned i);

struct output_options {
	/* The profile has two sides (profile_absorb_side()); only for formats that show_sides. */
	bool is_diff;
	bool count_samples;	 /* weights are numbers of samples instead of periods */
	struct stack_style style;
	bool nanoseconds;	 /* script: times with 9 digits behind the point */
	/* These events (event_is_listed()); NULL: the one with the most weight, or all if the format
	 * tells_events. */
	const char *event;
	struct picture_options picture;
	uint64_t lost; /* samples that the recorder lost, for formats that tell it */
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
	bool shows_sides;   /* two sides of a difference */
	bool takes_sums;    /* where samples have no times a sum is shown like one */
	bool needs_samples; /* writes single samples: nothing without a log */
	bool tells_events; /* what it writes says of each sample of which event it is */
	/* Writes the events of the set, which has one at least. 0 or negative with *err; errors of
	 * `out` are found by the caller's fflush. */
	int (*write)(const struct profile *p, const struct output_options *opt,
		     struct event_set *events, FILE *out, struct err *err);
};

/* NULL-terminated, in the order of --help. */
extern const struct output_format *const output_formats[];
/* Writes the profile: the events that the options name, else all if the format tells them apart,
 * else the one with the most weight. 0; ERR_NOT_FOUND when there is nothing to write; or negative
 * with *err. */
int output_write(const struct output_format *format, const struct profile *p,
		 const struct output_options *opt, FILE *out, struct err *err);
/* By name, or NULL. */
const struct output_format *output_format_find(const char *name);
/* By the suffix of a path, or NULL. */
const struct output_format *output_format_for_path(const char *path);

#endif
