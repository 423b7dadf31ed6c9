/* pipeline.h - makes a profile of a recording, for all commands.
 *
 * pipeline_load() reads and unwinds everything (integers only), pipeline_symbolize() finds the
 * names of the distinct addresses. All parts stay open until pipeline_done(), because results refer
 * to them. */
#ifndef CMD_PIPELINE_H
#define CMD_PIPELINE_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "cmd/verify.h"
#include "modules/modules.h"
#include "output/output.h"
#include "profile/fill.h"
#include "reader/reader.h"
#include "stitch/stitch.h"
#include "symbolize/symbolize.h"
#include "unwind/unwind.h"

struct cpu_range {
	uint32_t first, last;
};

struct cpu_ranges {
	struct cpu_range *v;
	size_t n, cap;
}; /* a VEC() */

struct number_list {
	uint32_t *v;
	size_t n, cap;
}; /* a VEC() */

/* Pointers into what was said on the command line. */
struct name_list {
	char **v;
	size_t n, cap;
}; /* a VEC() */

/* Selects samples. Empty lists and zero bounds select everything. */
struct sample_filter {
	struct name_list comms, dsos;
	struct number_list pids, tids;
	struct cpu_ranges cpus;
	uint64_t start_ns, end_ns; /* end_ns 0: open */
	const char *event;
	bool no_idle; /* without the idle task */
};

struct pipeline_options {
	const char *input;
	unsigned keep;	    /* enum profile_keep */
	unsigned n_threads; /* 0: all processors */
	struct sample_filter filter;
	struct unwind_options unwind;
	bool no_stitch;	       /* leave cut stacks as they are, without callers of other samples */
	uint64_t verify_every; /* --verify-unwind=N; 0: off */
	struct modules_options modules;
	struct symbolizer_options symbolizer;
	char cache_dir[PATH_MAX]; /* of the symbolizer */
	const volatile sig_atomic_t
		*stop; /* nonzero: end reading, keep what there is; may be NULL */
};

struct pipeline {
	struct perf_file *file;
	struct perf_file *counted; /* the same, read before: see prefetch_binaries.c; NULL */
	struct modules *modules;
	struct jit_codes *jit;
	struct symbolizer *symbolizer;
	/* NULL: fields of tracepoints are not wanted, or there are none. */
	struct trace_names *trace_names;
	struct profile *profile;
	struct unwind_stats unwind;   /* sum over the workers */
	struct verify verify;	      /* likewise */
	struct stitch_stats stitched; /* likewise */
	struct stack_depths *depths;
	uint64_t filtered; /* samples that the filter left out */
	bool no_inline;	   /* symbolized without DWARF */
	double seconds_load, seconds_symbolize;
	VEC(double) thread_seconds; /* of the processor, while loading */
};

/* The number of threads, at most. */
unsigned pipeline_threads(const struct pipeline_options *opt);
/* Opens the input; after that its header can be read. All functions: 0, or negative with *err. */
int pipeline_open(struct pipeline *p, const struct pipeline_options *opt, struct err *err);
int pipeline_load(struct pipeline *p, const struct pipeline_options *opt, struct err *err);
int pipeline_symbolize(struct pipeline *p, const struct pipeline_options *opt, struct err *err);
/* Frees everything; the pipeline may be zeroed or partly open. */
void pipeline_done(struct pipeline *p);

/* Is it the idle task ("swapper", as in the kernel, or "swapper/3", as in perf)? */
bool comm_is_idle(const char *comm);
bool sample_filter_match(const struct sample_filter *f, const struct perf_sample *s);
void sample_filter_done(struct sample_filter *f);

/* Monotonic clock, in seconds. */
double seconds_now(void);

/* The parts of pipeline_load(). */

/* scheduler.c: reads p->file to its end; fills p->profile, p->unwind and p->filtered. */
int scheduler_run(struct pipeline *p, const struct pipeline_options *opt, struct err *err);
/* trace_names.c: names the kernel's functions in the fields of tracepoints, when samples are added
 * to the profile. The scheduler does not read at the same time (stages.c). NULL when out of memory.
 */
struct trace_names *trace_names_new(struct pipeline *p, const struct pipeline_options *opt);
void trace_names_free(struct trace_names *t);
/* check_code.c: rejects (module_reject()) files without recorded build id whose code is not the
 * recorded code any more, before names are looked up. Returns 0, or negative with *err. */
int check_code(struct pipeline *p, struct err *err);
/* prefetch_binaries.c: reads the recording once before everything else, and fetches the missing
 * binaries that its samples were in, the hottest first, four at a time. Binaries that only callers
 * are in are fetched later by unwinding, as are all those of a pipe, which can be read only once.
 * Returns 0 or negative. */
int prefetch_binaries(struct pipeline *p, const struct pipeline_options *opt, struct err *err);

#endif
