/* capture.h - record samples with registers and stack copies into a perf.data file.
 *
 * Sources of truth: perf_event_open(2), include/uapi/linux/perf_event.h, Documentation/admin-guide/
 * perf-security.rst, tools/perf/Documentation/perf.data-file-format.txt. The file is a file-mode
 * perf.data whose records go out in zstd blocks (PERF_RECORD_COMPRESSED) while recording. The
 * header is kept true after every block, so that a killed recording is a valid file up to its last
 * block.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "dwarf/dwarf.h"

enum capture_call_graph { CALL_GRAPH_DWARF, CALL_GRAPH_FP, CALL_GRAPH_NONE };

/* What of the mapped files the recording carries, each more than the one before (enum cut_level of
 * cut/cut.h, in its order). */
enum capture_bundle {
	CAPTURE_BUNDLE_NONE,
	CAPTURE_BUNDLE_IDS,
	CAPTURE_BUNDLE_UNWIND,
	CAPTURE_BUNDLE_SYMBOLS,
	CAPTURE_BUNDLE_FULL,
	CAPTURE_BUNDLE_UNSET, /* for the command line only */
};

#define CAPTURE_EVENTS_MAX  2048  /* syscalls:* are some 720 */
#define CAPTURE_STACK_BYTES 32768 /* of a stack copy, when none is asked for */
/* A record is at most 65535 bytes long, and the copy in it a multiple of 8. */
#define CAPTURE_STACK_MAX 65528

/* How far a recording is. */
struct capture_progress {
	double seconds;		       /* since the start */
	uint64_t samples, lost, bytes; /* lost: as reported so far; bytes of the file */
};

struct capture_result;

/* A snapshot that was written. */
struct capture_snapshot {
	char path[4096];
	char why[256];	     /* what asked for it: "SIGUSR2", an event, a command that fails */
	const char *problem; /* NULL: it is complete */
	uint64_t samples, lost, bytes;
	double seconds; /* that it has */
};

/* Everything that it points to must live until capture_run() returns. */
struct capture_options {
	/* Called about once a second by the thread that runs capture_run(); NULL: not wanted. */
	void (*progress)(void *arg, const struct capture_progress *p);
	/* Called once when the recording has begun, with the notes until then; NULL: not wanted. */
	void (*begun)(void *arg, const struct capture_result *r);
	/* Called now and then where it takes long to make the probes of an event: `done` of `n` are
	 * there; 0 of n: they are being removed. NULL: not wanted. */
	void (*probes_made)(void *arg, const char *event, size_t done, size_t n);
	void *progress_arg;	  /* of all of them */
	bool system_wide;	  /* -a */
	const pid_t *pids, *tids; /* -p, -t */
	size_t n_pids, n_tids;
	bool pids_may_end;    /* -u: those of pids that have ended meanwhile are left out */
	const char *cgroup;   /* --cgroup: path, absolute or below the cgroup mount */
	bool data, phys_data; /* -d, --phys-data: samples have the address of what was accessed */
	bool all_cgroups;     /* --all-cgroups: samples have the cgroup that they were taken in */
	const char *cpus;     /* -C "0,2-3"; NULL: all online */
	/* -F; 0: use period; UINT32_MAX: the highest rate that the kernel allows. */
	unsigned frequency_hz;
	uint64_t period;			 /* -c */
	bool asks_rate;				 /* -F or -c was given */
	const char *events[CAPTURE_EVENTS_MAX];	 /* -e, each a comma-separated list; none: cycles,
						    else cpu-clock */
	const char *filters[CAPTURE_EVENTS_MAX]; /* --filter of each; NULL: none */
	size_t n_events;
	bool args, strings; /* of probed functions: arguments; and the texts that they point to */
	/* --alloc: allocations of memory, with a stack for at least one of so many bytes; 0: no. */
	uint64_t alloc_bytes;
	bool syscalls;	     /* all system calls, with what their arguments point to */
	bool syscall_stacks; /* and their stacks */
	enum capture_call_graph call_graph;
	uint32_t stack_bytes; /* of stack copies (DWARF); 0: CAPTURE_STACK_BYTES */
	const char *output;   /* path; an existing file is renamed to PATH.old */
	unsigned delay_ms;    /* -D */
	double duration_s;    /* --duration; 0: until the command ends or a signal comes */
	uint64_t max_bytes;   /* --max-size: end when the file has so many; 0: none */
	/* --max-hit-rate: end at more samples of probes a second, and let the command run without
	 * them; 0: none. */
	uint64_t max_hit_rate;
	bool strict_freq; /* --strict-freq: fail rather than sample at a lower rate */
	/* --snapshot: the last seconds are kept in memory (of at most max_bytes), and written at
	 * the end, and whenever one of the next asks for it; 0: no. */
	unsigned snapshot_s;
	const char *snapshot_event;   /* a sample of one of these events (as in -e); NULL */
	const char *snapshot_command; /* for the shell, run every second: it fails; NULL */
	volatile int *snapshot_asked; /* becomes nonzero; NULL */
	/* The file for a snapshot that is not that of the end, valid until the next call. NULL:
	 * out of memory. */
	const char *(*snapshot_path)(void *arg);
	void (*snapshot_written)(void *arg, const struct capture_snapshot *s); /* NULL */
	/* --switch-output: a part ends when it has so many bytes, is so old (0: neither), or *asked
	 * becomes nonzero; the next one goes to another file, and nothing is lost in between. */
	/* Returns the path of the file for it, valid until the end. NULL: no parts. */
	const char *(*next_part)(void *arg);
	uint64_t part_bytes;
	double part_s;
	volatile int *part_asked; /* NULL */
	/* A part is complete; the result is about it alone. That of the last one is returned. */
	void (*part_written)(void *arg, const char *path, const struct capture_result *r);
	unsigned every_ms; /* capture_stacks(): again and again; 0: once */
	size_t ring_bytes; /* -m per CPU; 0: chosen */
	int realtime;	   /* SCHED_FIFO priority of the reader; 0: chosen; negative: none */
	/* Of compiled debug information, and of where the kernel's code ends. dir NULL: none. */
	struct dwarf_cache cache;
	enum capture_bundle bundle;
	uint64_t bundle_max; /* bytes; 0: no limit */
	/* For a signal handler that ends the process. 0: it must not, as the recording is not
	 * complete. Positive: it may, as the bundle is being made, and the recording is complete
	 * without it; the number is the process of the command, which the handler then has to end,
	 * or 1 if there is none that runs. Negative: it must wait, as the bundle is being written.
	 * May be NULL. */
	volatile int *bundling;
	/* Called twice, with progress_arg: before *bundling becomes positive, when the result lacks
	 * only the notes and the bundle; and when the bundle is written, or could not be, to make
	 * *bundling positive again and to do what had to wait. NULL only if bundling is. */
	void (*complete)(void *progress_arg, const struct capture_result *r);
	/* Called with the same arg when the recording is complete, but the command still runs,
	 * which capture_run() waits for. NULL. */
	void (*ended)(void *progress_arg, const struct capture_result *r);
	/* Nonzero while there are probes in the kernel, which stay there if the process is ended.
	 * NULL. */
	volatile int *probing;
	bool keep_env; /* arguments and environment stay in stack copies */
	bool off_cpu;  /* --off-cpu: where threads wait; with events beside them */
	bool wall;     /* --wall: these and samples of a clock, as one event */
	bool wakers;   /* --wakers: and who ends the waits */
	bool no_touch; /* stack pages that are missing stay missing */
	bool no_compress, no_inherit;
	bool no_kernel;		    /* samples of user code only */
	char *const *command;	    /* argv, NULL-terminated; NULL: none */
	char *const *recorder_argv; /* for the file's command line feature */
	int recorder_argc;
};

struct capture_result {
	uint64_t bare_waits;	/* with --off-cpu: waits without a sample of their own, not lost */
	uint64_t touched_pages; /* of stacks, that were missing */
	uint64_t samples, lost, truncated_stacks, user_stacks, bytes_written, throttled;
	uint64_t lost_sideband; /* MMAP, COMM, FORK ... records lost */
	uint64_t other_records; /* MMAP, COMM, FORK ... written, synthesized ones included */
	uint64_t raw_bytes;	/* before compression */
	/* Counted by the kernel for the first event, whether or not it was sampled. */
	uint64_t period_total;
	uint32_t stack_bytes; /* of stack copies, as used */
	size_t ring_bytes;    /* sample ring per CPU in use */
	int child_status;     /* wait status of the command; 0 without one */
	bool child_running;   /* the command did not end although it got SIGTERM */
	bool interrupted;     /* ended through *stop */
	bool reached_limit;   /* ended by duration_s or max_bytes */
	char event[256];      /* name of the (first) event that was recorded */
	size_t n_events;
	char notes[8][256]; /* messages for the user: fallback to cpu-clock, exclude_kernel ... */
	unsigned n_notes;
	uint64_t bundle_bytes; /* 0: there is none */
	size_t bundle_modules;
	double bundle_seconds;
};

/* Records until the command ends, the duration has passed, all processes of -p/-t are gone, or
 * *stop becomes nonzero (set it in a signal handler). Returns 0, or negative with a message that
 * names the setting and its cure. If an error occurs after samples were written, the file is kept
 * and valid; *ret is filled with what is known by then. If there is a command, the caller must be
 * single-threaded. */
int capture_run(const struct capture_options *opt, volatile int *stop, struct capture_result *ret,
		struct err *err);

/* Records what each thread of the processes does at this moment, whether it runs or waits: pids,
 * tids or system_wide say which; of the others only stack_bytes, output, no_compress, every_ms and
 * duration_s mean something. A thread does not run while its registers and stack are copied, well
 * below a millisecond; ret->notes says if it was more. Returns as capture_run(). */
int capture_stacks(const struct capture_options *opt, volatile int *stop,
		   struct capture_result *ret, struct err *err);

struct capture_list_options {
	pid_t pid;    /* whose files are meant; 0: ours */
	bool verbose; /* fields and parameters of all that is listed */
};

/* Says, a line each, what can be recorded and is like `what`: events ("*faults"), tracepoints
 * ("sched:*"), functions ("uprobe:./prog:*", "./prog:*", "libz.so.1"). What is named whole is
 * followed by its fields, or its parameters with their types, its result and its source, each with
 * four spaces before it. NULL: all events and tracepoints. Returns 0, or negative with *err, also
 * if there is none. */
int capture_list(const char *what, const struct capture_list_options *opt,
		 void (*say)(void *arg, const char *line), void *arg, struct err *err);

/* Reports through say(), in single lines, what would work on this machine: paranoid level, mlock,
 * PMU, tracefs ... */
void capture_check(void (*say)(void *arg, const char *line), void *arg);

#endif
