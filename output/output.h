/* output.h - the profile, and the table of formats that write it.
 *
 * struct profile uses pprof's nouns: mappings, functions, locations, samples. Call stacks are nodes
 * of a calling-context tree, root first: a node is (parent node, location); equal stacks are one
 * node. Everything is a dense integer id; strings are interned in one table and looked at only by
 * writers. Source of truth for the nouns: github.com/google/pprof/proto/profile.proto.
 *
 * A profile is filled in two steps: profile_add() for every sample (integers only), then, once for
 * every distinct location, profile_set_lines() with what the symbolizer said. Writers see it const.
 */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "reader/reader.h"
#include "symbolize/symbolize.h"
#include "unwind/unwind.h"

/* What one location's code belongs to: a dso; with PROFILE_KEEP_IPS a place where it was mapped. */
struct profile_mapping {
	/* NULL for the [unknown] mapping (id 0) and for profiles read from text. */
	const struct dso *dso;
	struct map map; /* a copy; without PROFILE_KEEP_IPS all 0 */
	uint32_t path;	/* string id */
	uint32_t name;	/* string id: as perf shows it: "[kernel.kallsyms]", "[nf_nat]", a path */
	uint32_t short_name; /* string id: what profile_mapping_short_name() gives */
	enum dso_kind kind;
	bool symbolized; /* some location in it got a name */
};

struct profile_function {
	/* String ids. Functions with the same name, file and start line are one; of their system
	 * names the first counts. */
	uint32_t name, system_name, file;
	uint32_t start_line;
};

struct profile_line {
	uint32_t function; /* index into functions */
	uint32_t line;
};

struct profile_location {
	uint32_t mapping;
	uint64_t ip;	  /* runtime address of the first sight (exact with PROFILE_KEEP_IPS) */
	uint64_t off;	  /* as in struct sym_query, of the lookup address */
	uint64_t made_ns; /* JIT code: when it was made (struct jit_span); 0: not known */
	bool is_return_address, is_kernel;
	uint8_t how;  /* enum frame_how; ways of equal worth (CFI, a Go table ..) are told as one */
	uint8_t miss; /* enum sym_miss */
	uint32_t symbol;	      /* string id of the enclosing symbol; 0: none */
	uint64_t symbol_offset;	      /* lookup address - symbol start */
	uint32_t first_line, n_lines; /* in lines[], innermost first */
};

/* Node 0 is the root (the empty stack). */
struct profile_node {
	uint32_t parent;
	uint32_t location;
	uint32_t depth; /* number of frames; 0 for the root */
};

/* An aggregate: all samples with equal key. */
struct profile_sample {
	uint32_t node;
	uint32_t event;	   /* index into events */
	uint32_t comm;	   /* string id */
	uint32_t pid, tid; /* 0 unless PROFILE_KEEP_TIDS / _PIDS */
	uint8_t stop;	   /* enum unwind_stop of the user part */
	uint64_t count, period;
};

/* One recorded sample, kept with PROFILE_KEEP_LOG, in time order. */
struct profile_log_entry {
	uint64_t seq; /* of the sample: merging profiles keeps this order */
	uint64_t time_ns, period, ip;
	uint32_t node, event, comm, pid, tid, cpu;
	uint8_t cpumode, stop;
	bool has_stack; /* the event records call chains or stacks (script prints a block then) */
};

struct profile_event {
	uint32_t name; /* string id */
	struct perf_attr attr;
	uint64_t samples, period;
};

enum profile_keep {
	PROFILE_KEEP_IPS = 1, /* locations differ by mapping: runtime addresses are exact */
	PROFILE_KEEP_LOG = 2,
	PROFILE_KEEP_PIDS = 4, /* aggregate per process */
	PROFILE_KEEP_TIDS = 8, /* aggregate per thread */
};

struct profile {
	struct strtab strings;
	VEC(struct profile_mapping) mappings;
	VEC(struct profile_function) functions;
	VEC(struct profile_location) locations;
	VEC(struct profile_line) lines;
	VEC(struct profile_node) nodes;
	VEC(struct profile_sample) samples;
	VEC(struct profile_log_entry) log;
	VEC(struct profile_event) events;
	const struct perf_file_info *info; /* NULL for profiles that come from elsewhere */
	uint64_t first_ns, last_ns;	   /* over all samples */
	struct profile_index *index_;	   /* private to profile*.c */
};

/* keep: bits of enum profile_keep. NULL when out of memory. */
struct profile *profile_new(unsigned keep);
void profile_free(struct profile *p);

/* Tells the profile about the recording's events and header; both must outlive the profile. */
int profile_set_file(struct profile *p, const struct perf_file *f, struct err *err);
/* From now on JIT code is told apart from other code at the same address, by the times in jitdump
 * files, if the recording has their clock. `jit` must outlive the profile. */
void profile_set_jit(struct profile *p, struct jit_codes *jit);
/* A checksum of a stack's frames, usually all that profile_add_batch() needs of them. */
struct stack_digest {
	/* Those of the trace. The digest is taken to be of any trace with this pointer and n, so
	 * nobody may change frames in place. */
	const struct frame *frames;
	size_t n;
	uint64_t sum[2];
};
/* May be called from any thread; fastest on the one that unwound, which has the frames in its
 * cache.
 */
void profile_digest(const struct profile *p, const struct stack_trace *traces, size_t n,
		    struct stack_digest *ret);
/* Adds samples with their frames (leaf first, as from unwind_samples), n <= PROFILE_BATCH. 0 or
 * -ERR_NOMEM. Faster than one by one, because their accesses to memory overlap. `digests` are those
 * of the traces; one whose trace has other frames by now is not used. NULL: none. */
#define PROFILE_BATCH 32
int profile_add_batch(struct profile *p, const struct perf_sample *const *samples,
		      const struct stack_trace *traces, const struct stack_digest *digests,
		      size_t n, struct err *err);
static inline int profile_add(struct profile *p, const struct perf_sample *s,
			      const struct stack_trace *t, struct err *err)
{
	return profile_add_batch(p, &s, t, NULL, 1, err);
}
/* Adds all of src to dst; both were made with the same keep bits and file. src stays as it is. */
int profile_merge(struct profile *dst, const struct profile *src, struct err *err);
/* The query for location i. */
struct sym_query profile_query(const struct profile *p, size_t i);
/* Stores an answer; `strings` is the symbolizer's table, the same one in all calls. 0 or ERR_NOMEM.
 */
int profile_set_lines(struct profile *p, size_t location, const struct sym_result *r,
		      const struct strtab *strings, struct err *err);

/* ---- writing ----------------------------------------------------------------------------- */

struct output_options {
	bool count_samples;	 /* weights are numbers of samples instead of periods */
	bool with_pid, with_tid; /* folded: comm-PID, comm-PID/TID as root; pprof: labels. The
				    profile must keep PIDS / TIDS */
	bool mark_kernel, mark_jit, mark_inline; /* folded: _[k] _[j] _[i] */
	bool mark_stitched; /* folded, top, speedscope: _[s]; the other formats always mark them */
	bool addrs;	    /* folded: [module <file offset or address>] for unknown symbols */
	bool nanoseconds;   /* script: times with 9 digits behind the point */
	bool no_inline;
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

/* ---- helpers shared by formats ------------------------------------------------------------- */

/* Name to show for a location that has no lines, without brackets: base name of its mapping. */
const char *profile_mapping_short_name(const struct profile *p, uint32_t mapping);

#endif
