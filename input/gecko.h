/* gecko.h - the tables of a file of the Firefox Profiler, as they were read. Private to in_gecko.c
 * and gecko_profile.c.
 *
 * Sources of the format: firefox-devtools/profiler, src/types/profile.js ("processed" profiles, of
 * samply, resolve and the viewer itself) and src/types/gecko-profile.js ("gecko" profiles: of
 * Firefox, perf script report gecko). Columns are arrays, in the latter rows with a schema. */
#ifndef INPUT_GECKO_H
#define INPUT_GECKO_H

#include <math.h>

#include "input/json_input.h"

/* Columns; a number that is not there is a NaN. */
enum gecko_column {
	STACK_FRAME,
	STACK_PREFIX,	     /* index; none: a root */
	STACK_PREFIX_OFFSET, /* so many before this one; 0: a root */
	FRAME_FUNC,
	FRAME_LOCATION, /* a string instead of a function */
	FRAME_LINE,
	FRAME_ADDRESS,
	FRAME_CATEGORY,
	FUNC_NAME,
	FUNC_RESOURCE,
	FUNC_FILE,   /* a string */
	FUNC_SOURCE, /* or an index in sources */
	RESOURCE_NAME,
	RESOURCE_LIB,
	SOURCE_FILE,
	SAMPLE_STACK,
	SAMPLE_TIME, /* ms */
	SAMPLE_DELTA,
	SAMPLE_WEIGHT,
	GECKO_COLUMNS
};

typedef VEC(double) gecko_numbers;

struct gecko_tables {
	VEC(uint32_t) strings; /* string ids of the profile */
	gecko_numbers columns[GECKO_COLUMNS];
	VEC(uint32_t) locations; /* by frame: location and 1 */
	VEC(uint32_t) nodes;	 /* by stack: node and 1 */
};

struct gecko_thread {
	struct gecko_tables tables;
	uint32_t name, process, weight_type; /* string ids */
	uint32_t pid, tid;
	double shift_ms; /* from the beginning of the file to that of its process */
};

struct gecko {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	struct err *err;
	struct gecko_tables shared;
	VEC(struct gecko_thread) threads;
	VEC(uint32_t) libs, categories; /* string ids: paths, names */
	bool is_own;			/* of resolve, which has samples of any event */
	uint32_t event;			/* string id: what those are of; 0: not known */
	double start_ms;		/* of the whole file, since the epoch; 0: not known */
	uint64_t n_markers, n_without_stack, n_nameless;
	/* Private to in_gecko.c: the thread, process, library .. that is read. */
	struct gecko_thread at;
	uint32_t lib, label;
	double process_ms;		   /* start_ms of the process whose threads are read */
	bool is_inner;			   /* a file that stands as a text in another one */
	enum gecko_column of_place[3][32]; /* by table and place in its rows */
	/* The rows of a table, whose schema may come behind them. */
	gecko_numbers cells;
	VEC(size_t) row_ends; /* in cells */
	VEC(uint32_t) path;   /* of gecko_profile.c */
};

static inline double gecko_number(const struct gecko_tables *t, enum gecko_column c, size_t i)
{
	return i < t->columns[c].n ? t->columns[c].v[i] : NAN;
}

/* As an index below n; UINT32_MAX: it is none. */
static inline uint32_t gecko_index(double v, size_t n)
{
	return v >= 0 && v < (double)n && v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

/* Adds the samples of all threads to the profile, in the order of time. Returns 0, or negative with
 * *err. */
int gecko_add_samples(struct gecko *g);

#endif
