/* perf_record.h - what the options of perf record that capture has not mean to it: nothing, because
 * it does so anyway, or a line that says what to do instead. Rows of option tables; private to
 * capture.c. */
#ifndef CMD_PERF_RECORD_H
#define CMD_PERF_RECORD_H

#include "cmd/options.h"

/* X(letter, long name, value): capture does so anyway, or the file has no place for it. */
#define PERF_RECORD_ACCEPTED(X)             \
	X('B', "no-buildid", NULL)          \
	X('N', "no-buildid-cache", NULL)    \
	X('P', "period", NULL)              \
	X('R', "raw-samples", NULL)         \
	X('T', "timestamp", NULL)           \
	X('r', "realtime", "PRIORITY")      \
	X('z', "compression-level", "[=N]") \
	X(0, "buildid-all", NULL)           \
	X(0, "buildid-mmap", NULL)          \
	X(0, "no-buffering", NULL)          \
	X(0, "proc-map-timeout", "MS")      \
	X(0, "sample-cpu", NULL)            \
	X(0, "sample-identifier", NULL)     \
	X(0, "num-thread-synthesize", "N")  \
	X(0, "aio", "[=N]")                 \
	X(0, "affinity", "HOW")             \
	X(0, "mmap-flush", "SIZE")          \
	X(0, "tail-synthesize", NULL)

/* X(letter, long name, value, identifier, answer) */
#define PERF_RECORD_ANSWERED(X)                                                                   \
	X('b', "branch-any", NULL, branch_any,                                                    \
	  "branch records are not recorded; perf record -b does, and resolve reads it")           \
	X('j', "branch-filter", "HOW", branch_filter,                                             \
	  "branch records are not recorded; perf record -j does, and resolve reads it")           \
	X('d', "data", NULL, data,                                                                \
	  "data addresses are not recorded; perf record -d does, and resolve reads it")           \
	X('W', "weight", NULL, weight,                                                            \
	  "weights are not recorded; perf record -W does, and resolve reads it")                  \
	X('I', "intr-regs", "[=NAMES]", intr_regs,                                                \
	  "the registers of user code are recorded, with --call-graph dwarf")                     \
	X(0, "user-regs", "[=NAMES]", user_regs,                                                  \
	  "all registers of user code are recorded, with --call-graph dwarf")                     \
	X('k', "clockid", "CLOCK", clockid, "times are those of CLOCK_MONOTONIC")                 \
	X('n', "no-samples", NULL, no_samples, "counting without samples is `perf stat`")         \
	X('s', "stat", NULL, stat, "counting per thread is `perf stat --per-thread`")             \
	X('S', "snapshot", "[=HOW]", snapshot, "hardware traces are not recorded")                \
	X('u', "uid", "USER", uid,                                                                \
	  "name the processes: -p $(pgrep -d, -u USER), or -a and resolve --comm")                \
	X(0, "all-kernel", NULL, all_kernel,                                                      \
	  "-e EVENT:k, as in -e cycles:k, samples the kernel only")                               \
	X(0, "control", "HOW", control, "-D MS and --duration SEC say when to sample")            \
	X(0, "filter", "FILTER", filter,                                                          \
	  "tracepoints are not filtered; perf record --filter does, and resolve reads it")        \
	X(0, "exclude-perf", NULL, exclude_perf,                                                  \
	  "tracepoints are not filtered; resolve shows without capture by --comm")                \
	X(0, "group", NULL, group, "each event is sampled by itself")                             \
	X(0, "kcore", NULL, kcore,                                                                \
	  "the kernel's code is not copied; resolve where it was recorded")                       \
	X(0, "max-size", "SIZE", max_size,                                                        \
	  "--duration SEC ends a recording; `ulimit -f` bounds a file")                           \
	X(0, "off-cpu", NULL, off_cpu,                                                            \
	  "-e sched:sched_switch samples what gives up a processor, and where")                   \
	X(0, "overwrite", NULL, overwrite, "all that is sampled is kept; --duration SEC ends it") \
	X(0, "switch-output", "[=HOW]", switch_output,                                            \
	  "a recording is one file; --duration SEC in a loop makes several")                      \
	X(0, "switch-events", NULL, switch_events, "-e sched:sched_switch samples them")          \
	X(0, "per-thread", NULL, per_thread,                                                      \
	  "rings are per processor; -t TID records single threads")                               \
	X(0, "phys-data", NULL, phys_data,                                                        \
	  "data addresses are not recorded; perf record does, and resolve reads it")              \
	X(0, "threads", "[=HOW]", threads,                                                        \
	  "one thread has been enough: 0 samples lost at 20000 Hz; leave it out")                 \
	X(0, "transaction", NULL, transaction, "transaction flags are not recorded")              \
	X(0, "dry-run", NULL, dry_run, "--check says what would work here")                       \
	X(0, "vmlinux", "FILE", vmlinux, "resolve --vmlinux FILE names the kernel's functions")

static int accept_habit(void *target, char *text, struct err *err)
{
	(void)target;
	(void)text;
	(void)err;
	return 0;
}

#define X(letter, name, value, id, answer)                                      \
	static int answer_##id(void *target, char *text, struct err *err)       \
	{                                                                       \
		(void)target;                                                   \
		(void)text;                                                     \
		return err_set(err, ERR_USAGE, NULL, "--%s: %s", name, answer); \
	}
PERF_RECORD_ANSWERED(X)
#undef X

#define PERF_RECORD_ACCEPTED_ROW(letter, name, value) \
	{letter, name, NULL, value, NULL, CALLS(accept_habit)},
#define PERF_RECORD_ANSWERED_ROW(letter, name, value, id, answer) \
	{letter, name, NULL, value, NULL, CALLS(answer_##id)},
#define PERF_RECORD_ROWS                               \
	PERF_RECORD_ACCEPTED(PERF_RECORD_ACCEPTED_ROW) \
	PERF_RECORD_ANSWERED(PERF_RECORD_ANSWERED_ROW)

#endif
