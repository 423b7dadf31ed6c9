/* load.h - from an input of any kind to a profile, once and for all commands.
 *
 *	struct load_options opt = {.keep = format->keep};
 *	struct loaded in;
 *	rc = load_profile(&opt, "perf.data", &in, &err);
 *	if (!rc) use(in.profile), say(in.notes);
 *	loaded_done(&in);
 *
 * What an input is, its content says. A recording is read and unwound (integers only), then the
 * distinct addresses get their names; profiles of other tools have names already. Nothing is
 * printed: what there is to say about an input is in the result, and what goes on meanwhile is told
 * to a callback. */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/vec.h"
#include "cut/cut.h"
#include "input/input.h"
#include "modules/modules.h"
#include "profile/profile.h"
#include "reader/reader.h"
#include "stitch/stitch.h"
#include "symbolize/symbolize.h"
#include "unwind/unwind.h"
#include "values/values.h"

/* ---- which samples ----------------------------------------------------------------------------
 */

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

/* Times of the recording's clock, or percentages of the time from its first to its last sample. */
struct time_span {
	uint64_t start_ns, end_ns; /* end_ns 0: open */
	bool is_percent;
	double from, to; /* percent */
};

/* Selects samples. Empty lists and zero bounds select everything. */
struct sample_filter {
	struct name_list comms, dsos, cgroups;
	struct number_list pids, tids;
	struct cpu_ranges cpus;
	struct time_span time;
	const char *event; /* a list of names; NULL: all */
	bool no_idle;	   /* without the idle task */
	bool with_ends;	   /* a listed event call:F means its ends, too */
};

void sample_filter_done(struct sample_filter *f);
/* Is it the idle task ("swapper", as in the kernel, or "swapper/3", as in perf)? */
bool comm_is_idle(const char *comm);

/* ---- options ----------------------------------------------------------------------------------
 */

/* What of debug files is fetched. Needs load_options.modules.fetch. */
enum fetch_mode {
	FETCH_MODE_OFF,
	FETCH_MODE_AUTO, /* by weight */
	FETCH_MODE_SYM,
	FETCH_MODE_LINE,
	FETCH_MODE_FULL,
};

/* What takes long. */
enum load_step {
	LOAD_LOOKS_FOR_BINARIES, /* that must be fetched before stacks can be unwound */
	LOAD_READS,		 /* and unwinds */
	LOAD_FETCHES,		 /* what the profile's modules lack, from debuginfod */
	LOAD_NAMES,
};

/* Told from the thread that called load_profile(), in pairs, one step after the other, also if a
 * step fails. */
struct load_listener {
	/* records: of a recording that is read, how many were so far, which another thread may
	 * watch (by an atomic load) until end(); NULL: not known. NULL is allowed. */
	void (*begin)(void *arg, enum load_step step, const char *path, const uint64_t *records);
	void (*end)(void *arg, enum load_step step);
	void *arg;
};

/* What calls (struct spans) weigh: one each, or the time that they took without the calls within
 * them, which needs PROFILE_KEEP_LOG and PROFILE_KEEP_TRACE. */
enum load_weigh { LOAD_WEIGH_COUNT, LOAD_WEIGH_DURATION };

/* Everything that options point to must outlive the struct loaded. All 0 is a good default. */
struct load_options {
	unsigned keep;	    /* enum profile_keep */
	unsigned n_threads; /* 0: all processors */
	struct sample_filter filter;
	struct unwind_options unwind;
	struct values_options values; /* parameters of functions */
	enum load_weigh weigh;
	const char *weigh_field; /* of tracepoints: what they weigh, likewise; NULL: one each */
	bool no_stitch;	       /* leave cut stacks as they are, without callers of other samples */
	uint64_t verify_every; /* compare each Nth stack with libdw's; 0: none */
	struct modules_options modules;
	struct symbolizer_options symbolizer;
	enum fetch_mode fetch;
	bool bundle_full;  /* load_portable(): whole files */
	bool strip_stacks; /* load_portable(): call chains in place of stack copies */
	bool no_cmdline;   /* load_portable(): without the command line of the recorder */
	/* The name of an option that only a recording can fulfil: other inputs are refused with it;
	 * NULL: there is none. */
	const char *for_recording;
	struct load_listener listener;
	/* Nonzero: end reading, keep what there is; may be NULL. */
	const volatile sig_atomic_t *stop;
	/* As those of struct perf_file_options. */
	bool off_cpu, wall;
	uint64_t off_cpu_least_ns;
};

/* ---- the result -------------------------------------------------------------------------------
 */

struct load_module {
	char *path;
	struct build_id id;
};

/* The machine, as a recording or a pprof file made of one tells it; "" or 0: unknown. */
struct load_facts {
	char cpu[64], kernel[128], arch[32], host[64];
	uint64_t cpus;
	uint64_t frequency; /* of profiles */
	uint64_t arguments; /* a hash of the words behind the program's name, also by sh -c */
	/* Of the first and the last sample, since 1970; 0: unknown. */
	uint64_t began_ns, ended_ns;
	/* Of a recording: all files whose code was mapped, also without samples. Owned by struct
	 * loaded. */
	VEC(struct load_module) modules;
	bool made_code; /* code without a file was mapped: it was made at run time */
};

/* Private to load/. */
struct heap_weights {
	VEC(struct perf_heap_weight) weights;
	VEC(struct perf_heap_rest) rest;
};

struct loaded {
	const char *path;		   /* as given */
	const struct input_format *format; /* NULL: a recording */
	struct profile *profile;
	/* A line each, for people, about the input; without its name. */
	VEC(char *) notes;
	bool damaged;		   /* something could not be read, or the input ends early */
	bool interrupted;	   /* *stop became nonzero */
	uint64_t lost;		   /* samples, while recording */
	uint64_t skipped;	   /* records that could not be used */
	uint64_t lost_bytes;	   /* not read */
	uint64_t filtered;	   /* samples that the filters left out */
	uint64_t undecided;	   /* of them, as the value of a condition is not known */
	uint32_t names_seen;	   /* bit i: the name of condition i is one of a parameter */
	uint64_t tracepoints_lost; /* descriptions of tracepoints that are not used */
	bool no_traceevent;	   /* as libtraceevent is not installed */
	struct load_facts facts;

	/* Of a recording, until loaded_detach(); else 0. */
	struct perf_file *file;
	struct modules *modules;
	struct jit_codes *jit;
	struct symbolizer *symbolizer;
	struct unwind_stats unwind;   /* sum over the threads */
	struct verify verify;	      /* likewise */
	struct stitch_stats stitched; /* likewise */
	struct stack_depths *depths;
	bool no_inline; /* symbolized without DWARF */
	double seconds_load, seconds_symbolize;
	VEC(double) thread_seconds; /* of the processor, while loading */

	/* Private to load/. */
	struct perf_file *counted, *again;
	struct bundle *bundle; /* what the recording carries; NULL: nothing */
	bool bundle_damaged, code_damaged;
	struct processes *processes;
	struct cut_chains *chains; /* of strip_stacks */
	struct trace_names *trace_names;
	struct heap_weights heap;
	bool keeps_calls; /* the profile will tell which two events are one call */
	struct sample_filter filter;
};

/* Fills *ret from a file, a directory of `perf record --threads`, or standard input ("-"). At least
 * one sample is in it. Returns 0, or negative with *err; the notes are then all the same worth
 * telling. loaded_done() must be called in both cases. */
int load_profile(const struct load_options *opt, const char *path, struct loaded *ret,
		 struct err *err);
/* Frees everything, the profile too. *l may be zeroed. */
void loaded_done(struct loaded *l);
/* Closes all that the profile was made from, so that many can be held: the profile is then one
 * without log, which refers to nothing outside of it. What was compiled of debug information is
 * left in the cache for the next input. Returns 0, or negative with *err. */
int loaded_detach(struct loaded *l, unsigned keep, struct err *err);

/* The option that asks for load_portable(): messages name the one that was given. */
const char *load_portable_option(const struct load_options *opt);
/* Writes the recording that was loaded, with all that its profile was made from: it gives the same
 * profile where none of the files is. For a file, once. *report says what is in it, and what is
 * not; its `lacks` is the caller's. Returns 0, or negative with *err. */
int load_portable(const struct load_options *opt, struct loaded *l, FILE *out,
		  struct cut_report *report, struct err *err);

/* Writes the files that a recording carries below a folder that exists: PATH/ID/elf (vdso, debug),
 * as in perf's ~/.debug, and links to them by build id: .build-id/12/34.. to the folder, as perf,
 * .build-id/12/34...debug to the file with symbols, as gdb, LLVM and elfutils have it. Files that
 * are there already are replaced. Returns 0, or negative with *err. */
struct unbundle_report {
	size_t files;
	size_t moved;	/* of these, under .other: their path leads elsewhere, or is too long */
	size_t damaged; /* entries that could not be unpacked */
	uint64_t lost;	/* bytes that belong to no entry, or to one that is too large */
	size_t no_id;	/* files without build id ... */
	size_t twins;	/* ... or with that of a file with other code: there is no link by it */
	size_t links_failed; /* by build id, that could not be made ... */
	int link_errno;	     /* ... and why not */
};
int load_unbundle(const char *path, const char *dir, struct unbundle_report *report,
		  struct err *err);

/* Are the events (a list of names; NULL: any) among the profile's? If not, *err lists those. */
int load_check_events(const struct profile *p, const char *list, struct err *err);
/* Hands out the header of a recording, a line each; nothing else is read. Returns 0, or negative
 * with *err. */
int load_header(const struct load_options *opt, const char *path,
		void (*line)(void *arg, const char *line), void *arg, struct err *err);
/* For messages: "-" is standard input. */
const char *input_name(const char *path);

/* ---- how much of a recording's profile goes through each dso ----------------------------------
 */

struct dso_weight {
	const struct dso *dso;
	uint64_t samples; /* whose stack goes through the dso */
};

/* All dsos with at least one sample, heaviest first. The caller frees the result; *n is 0 when out
 * of memory. */
struct dso_weight *weigh_dsos(const struct loaded *l, size_t *n);
/* Number of samples that go through at least one dso with picked[dso->id] set. */
uint64_t weigh_picked(const struct loaded *l, const bool *picked);
/* Number of samples that are in the profile. */
uint64_t loaded_samples(const struct loaded *l);
double percent(uint64_t part, uint64_t whole);
/* Is it worth to be fetched in this mode? (Names of kernels have other sources.) */
bool fetch_is_worth_it(const struct dso *dso, enum fetch_mode mode);

#endif
