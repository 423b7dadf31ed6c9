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
	enum diff_width {
		DIFF_WIDTH_MEAN,
		DIFF_WIDTH_BASE,
		DIFF_WIDTH_NEW
	} diff_width;  /* of a difference: which side's shares */
	bool inverted; /* the root on top: an icicle graph */
	bool reverse;  /* stacks begin with the leaf: who calls it is above it */
};
#define PICTURE_WIDTH	  1200
#define PICTURE_MIN_WIDTH 0.1

/* The palettes by index, the default first; NULL behind the last. */
const char *output_palette_name(unsigned i);

/* ---- two sides ------------------------------------------------------------------------------
 *
 * A difference is a profile of two sides (profile_absorb_side()): what is shown are shares of each
 * side's whole. To write one, as a page:
 *
 *	struct output_options opt = {.generator = "unspool 0.1"};
 *	struct profile *both = profile_new(PROFILE_KEEP_TIDS);
 *	output_add_run(&opt.diff, both, run, event, is_new, &err);	.. all runs of both sides
 *	opt.diff.verdicts = ..;						if they were judged
 *	output_write(output_format_find("html"), both, &opt, f, &err);
 *
 * Without verdicts what is grey is noise: changes that the spread of the runs of one side, or the
 * number of samples, explains. */

struct diff_side {
	const char *name; /* NULL: "base", "new" */
	unsigned runs;
	uint64_t samples; /* of all runs; 0: not known, as of sums without their numbers */
};

/* What a comparison found out about a function. Texts are plain, not markup. */
struct diff_verdict {
	const char *text;    /* "REGRESSED"; NULL: nothing */
	const char *details; /* one line more: how much, how sure; NULL */
	bool is_significant;
};

struct output_diff {
	bool is_diff;		   /* the profile has two sides; only for formats that show_sides */
	struct diff_side sides[2]; /* base, new */
	/* By function: of each of the profile's functions.n, in its order. Only frames of those
	 * that are significant are coloured, and the table of functions has a column of the texts.
	 * NULL: no verdicts. Only for html. */
	const struct diff_verdict *verdicts;
	const char *summary; /* html: one line above the picture; NULL */
};

/* Adds one event of a run to a side. 0 or negative with *err. */
int output_add_run(struct output_diff *d, struct profile *both, const struct profile *run,
		   uint32_t event, bool is_new, struct err *err);

/* How top looks. Zeroed: everything, as perf report --stdio does. */
struct top_options {
	unsigned rows;	  /* of a table; 0: all */
	double limit;	  /* percent that a row has at least */
	bool no_children; /* sorted by what functions themselves cost; without what they call */
	bool callers;	  /* below each function who calls it most */
	unsigned width;	  /* columns that a line has at most; 0: as many as it needs */
	bool colours;	  /* for a terminal: of shares, as perf report has them */
	unsigned merged;  /* enum top_column bits that are left out: rows that differ only there are
			     one */
};
enum top_column { TOP_COMM = 1, TOP_DSO = 2, TOP_SYMBOL = 4 };

/* What script shows of a sample: perf-script(1), -F. Bits. */
enum script_field {
	SCRIPT_COMM = 1 << 0,
	SCRIPT_PID = 1 << 1,
	SCRIPT_TID = 1 << 2,
	SCRIPT_CPU = 1 << 3,
	SCRIPT_TIME = 1 << 4,
	SCRIPT_PERIOD = 1 << 5,
	SCRIPT_EVENT = 1 << 6,
	SCRIPT_ADDR = 1 << 7,
	SCRIPT_TRACE = 1 << 8,
	SCRIPT_IP = 1 << 9,
	SCRIPT_SYM = 1 << 10,
	SCRIPT_SYMOFF = 1 << 11,
	SCRIPT_DSO = 1 << 12,
	SCRIPT_SRCLINE = 1 << 13,
};

struct script_fields {
	bool given;
	unsigned only;	      /* these; 0: what the event has */
	unsigned add, remove; /* beside that */
};

/* A list as perf takes it: comm,tid,ip,sym or +addr,-period. 0 or negative with *err. */
int script_fields_parse(struct script_fields *f, const char *list, struct err *err);

struct output_options {
	struct script_fields fields;
	struct output_diff diff;
	bool count_samples; /* weights are numbers of samples instead of periods */
	struct stack_style style;
	bool nanoseconds; /* script: times with 9 digits behind the point */
	/* These events (event_is_listed()); NULL: the one with the most weight, or all if the
	 * format names_events. */
	const char *event;
	struct picture_options picture;
	struct top_options top;
	bool unpacked;	       /* pprof: without gzip */
	uint64_t lost;	       /* samples that the recorder lost, for formats that write it */
	const char *source;    /* what was read, for titles where no command is known; NULL */
	const char *generator; /* "unspool VERSION", for formats that name their writer */
};

/* A format: one file fmt_NAME.c, one row in formats.c. */
struct output_format {
	const char *name;
	const char *help; /* one line */
	/* Of -o FILE that choose it, separated by spaces: ".folded .collapsed" */
	const char *suffixes;
	unsigned keep;	    /* enum profile_keep bits that it needs */
	bool binary;	    /* refuse to write to a terminal */
	bool shows_sides;   /* two sides of a difference */
	bool takes_sums;    /* where samples have no times a sum is shown like one */
	bool needs_samples; /* writes single samples: nothing without a log */
	bool names_events;  /* what it writes says of each sample of which event it is */
	/* Writes the events of the set, which has one at least. 0 or negative with *err; errors of
	 * `out` are found by the caller's fflush. */
	int (*write)(const struct profile *p, const struct output_options *opt,
		     struct event_set *events, FILE *out, struct err *err);
};

/* NULL-terminated, in the order of --help. */
extern const struct output_format *const output_formats[];
/* Writes the profile: the events that the options name, else all if the format distinguishes them,
 * else the main one (event_set_main()). 0; -ERR_NOT_FOUND when there is nothing to write; or
 * negative with *err. */
int output_write(const struct output_format *format, const struct profile *p,
		 const struct output_options *opt, FILE *out, struct err *err);
/* By name, or NULL. */
const struct output_format *output_format_find(const char *name);
/* By the suffix of a path, or NULL. */
const struct output_format *output_format_for_path(const char *path);

#endif
