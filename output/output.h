/* output.h - the table of output formats, and their options. */
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

/* The names of the palettes, by index, the default first; NULL after the last. */
const char *output_palette_name(unsigned i);

/* ---- two sides ------------------------------------------------------------------------------
 *
 * A difference is a profile of two sides (profile_absorb_side()): what is shown are shares of each
 * side's whole. To write one, as a page:
 *
 *	struct output_options opt = {.generator = "unspool 0.1"};
 *	struct profile *both = profile_new(PROFILE_KEEP_TIDS);
 *	output_add_run(&opt.diff, both, run, &events, is_new, &err);	.. all runs of both sides
 *	opt.diff.verdicts = ..;						if they were judged
 *	output_write(output_format_find("html"), both, &opt, f, &err);
 *
 * Without verdicts what is grey is noise: changes that the spread of the runs of one side, or the
 * number of samples, explains. */

struct diff_side {
	const char *name; /* NULL: "base", "new" */
	unsigned runs;
	uint64_t samples; /* of the main event, over all runs; 0: unknown, if the input has only
			     sums of weights */
};

/* The result of a comparison for one function. Texts are plain, without markup. */
struct diff_verdict {
	const char *text;    /* "REGRESSED"; NULL: nothing */
	const char *details; /* one line more: how much, how sure; NULL */
	bool is_significant;
};

struct output_diff {
	bool is_diff;		   /* the profile has two sides; only for OUTPUT_SIDES */
	struct diff_side sides[2]; /* base, new */
	/* By function, for each of the profile's functions.n. Only frames of functions whose change
	 * is significant are coloured, and the table of functions gets a column with the texts.
	 * NULL: no verdicts. Only for html. */
	const struct diff_verdict *verdicts;
	const char *summary; /* html: one line above the picture; NULL */
};

/* Adds the events of a run to a side: the main one of the set, the others where `both` keeps them
 * (profile_absorb_side()). Returns 0, or negative with *err. */
int output_add_run(struct output_diff *d, struct profile *both, const struct profile *run,
		   const struct event_set *events, bool is_new, struct err *err);

/* Options of top. Zeroed: all rows and columns, as perf report --stdio. */
struct top_options {
	unsigned rows;	  /* of a table; 0: all */
	double limit;	  /* percent that a row has at least */
	bool no_children; /* sort by self time, and leave out the column with callees */
	enum top_callers {
		TOP_CALLERS_NONE,
		TOP_CALLERS_MAIN, /* below each function who calls it most */
		TOP_CALLERS_TREE, /* all of its callers, to the roots */
	} callers;
	bool hierarchy;	       /* a level for each column */
	const char *symbols;   /* only rows of these, with commas between them; NULL: all */
	const char *separator; /* between columns that are not aligned; NULL: aligned */
	bool children;	       /* was asked for: a difference is by shares with callees */
	bool own_first;	       /* sort by self time, also with the column with callees */
	unsigned lines;	       /* that all of a table has at most, if `rows` is 0; 0: all */
	unsigned width;	       /* columns that a line has at most; 0: as many as it needs */
	bool colours;	       /* for a terminal: of shares, as perf report has them */
	/* Bits of enum top_column; rows that differ only in others are merged. 0: TOP_USUAL */
	unsigned columns;
};
/* In the order in which they are shown. */
enum top_column {
	TOP_COMM = 1,
	TOP_DSO = 2,
	TOP_SYMBOL = 4,
	TOP_PID = 8,
	TOP_TID = 16,
	TOP_CPU = 32,
	TOP_LINE = 64,
	TOP_CGROUP = 128, /* needs PROFILE_KEEP_LABELS */
	TOP_USUAL = TOP_COMM | TOP_DSO | TOP_SYMBOL,
};

/* The fields that script shows of a sample; bits. Names as in perf-script(1), -F. */
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
	SCRIPT_DSOFF = 1 << 14,
	SCRIPT_WEIGHT = 1 << 15,
	SCRIPT_BRSTACK = 1 << 16,
	SCRIPT_NOTHING = 1 << 17, /* "trace:": no field */
	SCRIPT_IREGS = 1 << 18,
	SCRIPT_UREGS = 1 << 19,
	SCRIPT_MISC = 1 << 20,
	SCRIPT_PHYS_ADDR = 1 << 21,
	SCRIPT_DATA_PAGE_SIZE = 1 << 22,
	SCRIPT_CODE_PAGE_SIZE = 1 << 23,
	SCRIPT_INS_LAT = 1 << 24,
};
/* Those that need PROFILE_KEEP_DETAILS, or PROFILE_KEEP_REGISTERS. */
#define SCRIPT_DETAILS (SCRIPT_WEIGHT | SCRIPT_INS_LAT | SCRIPT_BRSTACK)
#define SCRIPT_REGISTERS                                                          \
	(SCRIPT_IREGS | SCRIPT_UREGS | SCRIPT_PHYS_ADDR | SCRIPT_DATA_PAGE_SIZE | \
	 SCRIPT_CODE_PAGE_SIZE)
/* Those that only script has. */
#define SCRIPT_ONLY (SCRIPT_REGISTERS | SCRIPT_MISC | SCRIPT_INS_LAT)

/* How script looks, beside its fields; as perf script's options of these names. */
struct script_options {
	bool no_chain;	      /* --hide-call-graph */
	bool relative, delta; /* times since the first sample, or since the one before */
	const char *stop_at;  /* --stop-bt: names with commas between them; NULL: none */
	unsigned max_frames;  /* of a stack, from the leaf on, of kernel and user; 0: all */
	unsigned as_6_1;      /* not 0: the columns of perf 6.1 instead of 6.12 and later */
};

struct script_fields {
	bool given;
	bool has_type; /* only of events of this type (PERF_TYPE_*) */
	uint32_t type;
	unsigned only;	      /* these; 0: what the event has */
	unsigned add, remove; /* beside that */
};

/* Parses a list as perf does: comm,tid,ip,sym or +addr,-period. Returns 0, or negative with *err.
 */
int script_fields_parse(struct script_fields *f, const char *list, struct err *err);

struct output_options {
	struct script_fields fields;
	struct output_diff diff;
	bool count_samples; /* weights are numbers of samples instead of periods */
	struct stack_style style;
	bool nanoseconds; /* script: times with 9 digits behind the point */
	struct script_options script;
	/* Which events (event_is_listed()); NULL: the main one (event_set_main()), or all if the
	 * format names_events. */
	const char *event;
	struct picture_options picture;
	struct top_options top;
	bool unpacked;		 /* pprof: without gzip */
	bool no_cmdline;	 /* the command line that was recorded is in no output */
	const char *source_dir;	 /* where source files are looked for first; NULL: none */
	const char *source_root; /* instead of /; NULL: / */
	bool full_paths;	 /* of source files; else their base names */
	uint64_t lost;		 /* samples that the recorder lost, for formats that write it */
	/* Name of the input, for titles if the command is unknown; NULL: none. */
	const char *source;
	const char *generator; /* "unspool VERSION", for formats that name their writer */
	/* Of formats whose numbers are signed: how many were 2^63 or more and are written as 2^63 -
	 * 1. NULL: not asked. */
	uint64_t *too_large;
};

/* What only some formats do, as options ask for it; bits. A format's row says which it honours:
 * from that follow the beginnings of --help's lines, and the note on an option that changes
 * nothing. */
enum output_part {
	OUTPUT_KERNEL_MARKS = 1 << 0, /* style.mark_kernel */
	OUTPUT_JIT_MARKS = 1 << 1,
	OUTPUT_INLINE_MARKS = 1 << 2,
	OUTPUT_STITCHED_MARKS = 1 << 3,
	OUTPUT_PIDS = 1 << 4, /* style.with_pid */
	OUTPUT_TIDS = 1 << 5,
	OUTPUT_CPUS = 1 << 6,
	OUTPUT_ADDRS = 1 << 7,	    /* style.addrs */
	OUTPUT_SKIP_AFTER = 1 << 8, /* style.skip_after */
	OUTPUT_COLLAPSE = 1 << 9,
	OUTPUT_FIELDS = 1 << 10, /* fields */
	OUTPUT_NANOSECONDS = 1 << 11,
	OUTPUT_TABLE = 1 << 12,	  /* the rest of top */
	OUTPUT_SIDES = 1 << 13,	  /* diff: two sides of a difference */
	OUTPUT_TITLE = 1 << 14,	  /* picture.title */
	OUTPUT_PICTURE = 1 << 15, /* the rest of picture */
	OUTPUT_REVERSE = 1 << 16, /* picture.reverse */
	OUTPUT_SCRIPT = 1 << 17,  /* script */
	OUTPUT_SYMBOLS = 1 << 18, /* top.symbols */
	OUTPUT_PATHS = 1 << 19,	  /* full_paths */
	OUTPUT_ROWS = 1 << 20,	  /* top.rows, .limit, .no_children */
	OUTPUT_SOURCE = 1 << 21,  /* source_dir */
	OUTPUT_BY = 1 << 22,	  /* style.by */
	OUTPUT_ARGS = 1 << 23,	  /* parameters: profile_values() */
};
/* Named stacks have all of these. */
#define OUTPUT_NAMED_STACKS                                                                     \
	(OUTPUT_KERNEL_MARKS | OUTPUT_JIT_MARKS | OUTPUT_INLINE_MARKS | OUTPUT_STITCHED_MARKS | \
	 OUTPUT_PIDS | OUTPUT_TIDS | OUTPUT_BY | OUTPUT_ADDRS | OUTPUT_SKIP_AFTER |             \
	 OUTPUT_COLLAPSE | OUTPUT_REVERSE)

/* A format: one file fmt_NAME.c, one row in formats.c. */
struct output_format {
	const char *name;
	const char *help; /* one line */
	/* Suffixes of -o FILE that select this format, separated by spaces: ".folded .collapsed".
	 */
	const char *suffixes;
	unsigned keep;	    /* enum profile_keep bits that it needs */
	unsigned honours;   /* enum output_part */
	bool binary;	    /* refuse to write to a terminal */
	bool takes_sums;    /* where samples have no times a sum is shown like one */
	bool needs_samples; /* writes single samples: nothing without a log */
	bool lists_calls;   /* shows each call with its duration: these are no weights */
	bool one_event;	    /* shows one event, even if more are asked for */
	bool names_events;  /* the output says for each sample which event it belongs to */
	/* Writes the events of the set, which is not empty. Returns 0, or negative with *err. Write
	 * errors of `out` are found by the caller's fflush. */
	int (*write)(const struct profile *p, const struct output_options *opt,
		     struct event_set *events, FILE *out, struct err *err);
};

/* NULL-terminated, in the order of --help. */
extern const struct output_format *const output_formats[];
/* Writes the profile: the events that the options name; without names all events if the format
 * distinguishes them, else the main one (event_set_main()). Returns 0, -ERR_NOT_FOUND if there is
 * nothing to write, or negative with *err. */
int output_write(const struct output_format *format, const struct profile *p,
		 const struct output_options *opt, FILE *out, struct err *err);
/* The format with this name; NULL: none. */
const struct output_format *output_format_find(const char *name);
/* Appends the names of the formats that honour all of these parts, with `between` between them.
 * Without memory t->failed is set. */
void output_honouring(struct text *t, unsigned parts, const char *between);
/* The format for the suffix of a path; NULL: none. */
const struct output_format *output_format_for_path(const char *path);

#endif
