/* firefox.h - parts of -f firefox: the tables that all threads share, and what threads have.
 * Private to fmt_firefox.c, firefox_tables.c and firefox_threads.c.
 *
 * Source of truth: docs-developer/CHANGELOG-formats.md and src/types/profile.ts of
 * github.com/firefox-devtools/profiler, of the version FIREFOX_VERSION of "processed profiles". */
#ifndef OUTPUT_FIREFOX_H
#define OUTPUT_FIREFOX_H

#include "base/hash.h"
#include "output/calls.h"

enum { FIREFOX_VERSION = 66 };

/* Indexes in meta.categories. The first grey one is the default. */
enum firefox_category {
	FIREFOX_OTHER,
	FIREFOX_USER,
	FIREFOX_KERNEL,
	FIREFOX_JIT,
	FIREFOX_UNKNOWN,
	FIREFOX_CATEGORIES
};
/* Indexes in the subcategories of each: how sure a frame is. */
enum firefox_trust { FIREFOX_SURE, FIREFOX_STITCHED, FIREFOX_GUESSED };

struct firefox_frame {
	uint32_t location, func;
	uint32_t line;	 /* 0: unknown */
	uint32_t depth;	 /* of inlining; 0: the function that the code belongs to */
	uint32_t native; /* index in natives, and 1; 0: none */
};

struct firefox_native {
	uint32_t mapping, name;
	uint64_t address;
};

struct firefox_func {
	/* A function, or functions.n: code without a name; and 1: callers on another stack. */
	uint32_t symbol;
	uint32_t mapping;
};

/* A thread under one command name. */
struct firefox_thread {
	uint32_t pid, tid, comm;
	uint32_t nth; /* of the names that the thread had */
	uint64_t weight;
	uint32_t first, n_samples; /* in order[]: of the main event */
	uint32_t n_markers;	   /* behind them */
};

struct firefox {
	const struct profile *p;
	const struct output_options *opt;
	const struct event_set *events;
	uint32_t main_event;
	struct calls calls;
	struct text out, words;
	/* ---- shared tables */
	struct strtab strings; /* stringArray, in the order of first use */
	uint32_t *stack_of;    /* by node: the row of its last frame, and 1; 0: not used */
	uint32_t *first_frame; /* by location, and 1; 0: not used */
	uint32_t n_stacks;
	VEC(struct firefox_frame) frames;
	VEC(struct firefox_func) funcs;
	struct hash_table func_of; /* (symbol, mapping) -> func */
	VEC(struct firefox_native) natives;
	struct hash_table native_of; /* (mapping, hash of name and address) -> native */
	VEC(uint32_t) libs;	     /* mappings */
	uint32_t *lib_of;	     /* by mapping, and 1; 0: not used */
	VEC(uint32_t) sources;	     /* string ids of the profile */
	uint32_t *source_of;	     /* by string id, and 1 */
	/* ---- threads */
	VEC(struct firefox_thread) threads;
	struct hash_table tasks, thread_of; /* (pid, tid) -> task; (task, comm) -> thread */
	struct hash_table process_of;	    /* pid -> the thread that stands for it */
	VEC(uint32_t) names_of_task;	    /* by task: how many */
	uint32_t *order;		    /* log entries by thread */
	struct strtab texts;
	uint32_t *arguments; /* by span: id in texts */
};

/* All return 0, or -1 when out of memory. */

/* Numbers stacks, frames, functions and libraries that the events use. */
int firefox_number(struct firefox *f);
/* Writes "libs", and later "shared". */
void firefox_write_libs(struct firefox *f, FILE *out);
void firefox_write_shared(struct firefox *f, FILE *out);
/* Sorts the log by thread. */
int firefox_sort(struct firefox *f);
/* Write "threads", then "counters". */
void firefox_write_threads(struct firefox *f, FILE *out);
int firefox_write_counters(struct firefox *f, FILE *out);

/* The index of a string in stringArray. */
uint32_t firefox_string(struct firefox *f, const char *s, size_t n);
uint32_t firefox_our_string(struct firefox *f, uint32_t id);
/* Nanoseconds as milliseconds. */
void firefox_add_ms(struct text *t, uint64_t ns);
/* What comes between members of an array. */
static inline void firefox_comma(struct text *t, size_t i)
{
	if (i)
		text_char(t, ',');
}

#endif
