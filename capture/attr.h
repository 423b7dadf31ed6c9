/* attr.h - private: fills struct perf_event_attr for samples and for records about processes. */
#ifndef CAPTURE_ATTR_H
#define CAPTURE_ATTR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "capture/event.h"

/* The size passed to the kernel and written to the file: VER7 is the largest that perf 6.1 reads,
 * and no later field is used. */
#define ATTR_SIZE 128

/* Features that a kernel may lack. X(name, since, what it gives), in the order in which they are
 * given up. */
#define ATTR_FEATURES(X)                                                  \
	X(STAYS, "6.12", "events of threads that stay with their thread") \
	X(LOST, "6.0", "exact loss counters")                             \
	X(BUILD_ID, "5.12", "build ids from the kernel")                  \
	X(KSYMBOL, "5.1", "BPF programs and other late kernel code")      \
	X(CLOCKID, "4.1", "times in CLOCK_MONOTONIC")                     \
	X(COMM_EXEC, "3.16", "exec distinguished from renaming")          \
	X(MMAP2, "3.16", "inodes of mapped files")

#define X(name, since, text) ATTR_F_##name,
enum attr_feature { ATTR_FEATURES(X) ATTR_F_N };
#undef X
#define ATTR_HAS(features, name) ((features) >> ATTR_F_##name & 1)
#define ATTR_F_ALL		 ((1u << ATTR_F_N) - 1)

/* The clock of all records: the one that programs log with. */
#define ATTR_CLOCK CLOCK_MONOTONIC

struct attr_policy {
	unsigned features; /* bits of enum attr_feature */
	enum capture_call_graph call_graph;
	uint32_t stack_bytes;
	unsigned frequency_hz;
	uint64_t period;
	bool inherit, enable_on_exec;
	bool cgroups; /* samples have the cgroup, and records name those that are made */
	bool data;    /* samples have addresses of data, records tell of maps of data */
	bool phys_data;
	bool args;  /* samples of probes have registers, with stack copies or without */
	bool stays; /* related threads do not exchange their events, where the kernel has STAYS */
};

/* The trailer that sample_id_all adds to every record that is not a sample: TID, TIME, CPU,
 * IDENTIFIER (perf_event.h, struct sample_id). Equal for all our events. */
#define ATTR_SAMPLE_ID_BYTES 32

/* After so many bytes of samples of context switches it is looked whether there are too many. */
#define SWITCH_WAKEUP_BYTES (256u << 10)

void attr_for_samples(struct perf_event_attr *a, const struct event *e,
		      const struct attr_policy *p);
/* cpu-clock and task-clock fire at any rate that is asked for. At a high rate the timer is due
 * again before the stack has been copied, so that a CPU does nothing else; on Linux 6.18, 100000
 * samples a second were seen to block one for minutes. */
#define ATTR_CLOCK_HZ_MAX 20000
/* Limits the rate of a clock with stack copies to that. Returns false if nothing had to be changed.
 */
bool attr_bound_clock(struct perf_event_attr *a);
/* MMAP, COMM, FORK, EXIT, KSYMBOL without samples. */
void attr_for_sideband(struct perf_event_attr *a, const struct attr_policy *p);
/* FORK and EXIT once more, each of which wakes the reader. */
void attr_for_alarm(struct perf_event_attr *a, const struct attr_policy *p);

/* Counts the switches of a task, which then keeps its events (exchange.h). */
void attr_for_switches(struct perf_event_attr *a, const struct attr_policy *p);

/* The registers that unwinding needs on this CPU (asm/perf_regs.h); 0 if the CPU is unknown. */
uint64_t attr_user_regs(void);

/* Bits of enum attr_feature that this kernel supports. All bits if perf_event_open is not permitted
 * at all: the real call will then report the reason. */
unsigned attr_probe(void);

/* Has the kernel cgroups in samples? (Linux 5.7, and built with CONFIG_CGROUP_PERF.) */
bool attr_has_cgroups(void);

/* perf_event_open(2) with PERF_FLAG_FD_CLOEXEC: fd, or -1 with errno. */
int attr_open(const struct perf_event_attr *a, pid_t pid, int cpu, unsigned long flags);

#endif
