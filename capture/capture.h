/* capture.h - record samples with registers and stack copies into a perf.data file.
 *
 * Sources of truth: perf_event_open(2), include/uapi/linux/perf_event.h, Documentation/admin-guide/
 * perf-security.rst, tools/perf/Documentation/perf.data-file-format.txt. The file is a file-mode
 * perf.data whose records go out in zstd blocks (PERF_RECORD_COMPRESSED) while recording, so that a
 * killed recording is readable up to its last block.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum capture_call_graph { CALL_GRAPH_DWARF, CALL_GRAPH_FP, CALL_GRAPH_NONE };

#define CAPTURE_EVENTS_MAX 32

struct capture_options {
	bool system_wide;              /* -a */
	const pid_t *pids, *tids;      /* -p, -t */
	size_t n_pids, n_tids;
	const char *cpus;              /* -C "0,2-3"; NULL: all online */
	unsigned frequency_hz;         /* -F; 0: use period */
	uint64_t period;               /* -c */
	const char *events[CAPTURE_EVENTS_MAX]; /* -e; none: cycles, else cpu-clock */
	size_t n_events;
	enum capture_call_graph call_graph;
	uint32_t stack_bytes;          /* dump size for DWARF; 0: 32768 */
	const char *output;            /* path */
	unsigned delay_ms;             /* -D */
	double duration_s;             /* --duration; 0: until the command ends or a signal comes */
	size_t ring_bytes;             /* -m per CPU; 0: chosen */
	bool no_compress, no_inherit, no_kernel /* exclude kernel samples */;
	char *const *command;          /* argv, NULL-terminated; NULL: none */
	char *const *recorder_argv;    /* for the file's command line feature */
	int recorder_argc;
	bool quiet, verbose;
};

struct capture_result {
	uint64_t samples, lost, truncated_stacks, user_stacks, bytes_written, throttled;
	int child_status;   /* wait status of the command; 0 without one */
	bool interrupted;   /* ended by SIGINT / SIGTERM */
	char event[64];     /* name of the (first) event that was recorded */
	char notes[8][256]; /* what the user should know: fallback to cpu-clock, exclude_kernel ... */
	unsigned n_notes;
};

/* Records until the command ends, the duration passes, or *stop becomes nonzero (set it from a signal
 * handler). Returns 0, or negative with a message that names the setting and its cure. A file that
 * holds samples is left behind and valid also on errors after the start. */
int capture_run(const struct capture_options *opt, volatile int *stop, struct capture_result *ret,
		struct err *err);

/* Says, one line each through say(), what would work here: paranoid level, mlock, PMU, tracefs ... */
void capture_check(void (*say)(void *arg, const char *line), void *arg);

#endif
