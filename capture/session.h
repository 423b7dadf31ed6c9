/* session.h - private: the open events of one recording and their rings. */
#ifndef CAPTURE_SESSION_H
#define CAPTURE_SESSION_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "capture/attr.h"
#include "capture/capture.h"
#include "capture/event.h"
#include "capture/exchange.h"
#include "capture/probe_event.h"
#include "capture/ring.h"
#include "capture/sample_pack.h"
#include "capture/switch_rate.h"
#include "capture/targets.h"

/* The sampled events, the sideband event, and the alarm, which come last. */
#define SESSION_EVENTS_MAX (CAPTURE_EVENTS_MAX + 2)

/* MMAP, COMM, FORK ... have their own rings, so that samples cannot fill them; so have the samples
 * of context switches, which are held up alone (switch_rate.h). The alarm says that a thread has
 * begun or ended, for those whose stacks are to be touched (touch.h): its records, which the
 * sideband has, too, are not read, but each of them wakes the reader. A wakeup costs the program
 * some microseconds, and an exec makes some 30 records of maps. */
enum ring_kind { RING_SAMPLES, RING_SWITCHES, RING_SIDEBAND, RING_ALARM, RING_KINDS };

/* One open perf event: an event on one CPU, for one thread (and the threads it starts) or for all.
 */
struct counter {
	int fd;
	uint32_t event; /* index into session.events */
	uint32_t slot;	/* index of its CPU and ring */
	uint64_t id;
	uint64_t value_before, lost_before; /* of parts that are written */
};

/* Sizes of a CPU's rings, in KiB: of samples unless more is needed, and the least for others. */
enum { SESSION_RING_KB = 4096, SESSION_SIDE_KB = 256 };

struct cpu_ring {
	struct ring ring; /* not mapped when the CPU has no counter */
	/* The counter whose fd is polled; SIZE_MAX: the threads of all counters have ended. */
	size_t poll_counter;
	uint64_t switches;	 /* records of threads that give up the CPU, since it was read */
	struct switch_rate rate; /* of RING_SWITCHES */
};

/* The counters and rings of one kind: one ring per CPU. */
struct ring_set {
	struct cpu_list cpus;	/* slot -> CPU */
	struct cpu_ring *rings; /* by slot */
	VEC(struct counter) counters;
};

struct session {
	const struct capture_options *opt;
	struct capture_result *result; /* for notes */
	struct event events[SESSION_EVENTS_MAX];
	struct perf_event_attr attrs[SESSION_EVENTS_MAX];
	struct sample_fields layouts[SESSION_EVENTS_MAX];
	size_t n_events; /* that are sampled; behind them: the sideband, the alarm */
	struct probe_events probes;
	struct attr_policy policy;
	pid_t command_pid;  /* 0: a command is not what is recorded */
	bool all_processes; /* -a, or a cgroup */
	bool has_alarm;
	bool default_event;	   /* the user named none: cycles may be replaced by another */
	int cgroup_fd;		   /* -1: none */
	struct tid_list processes; /* processes whose threads are recorded, unless all_processes */
	struct tid_list sample_tids, side_tids;
	struct ring_set sets[RING_KINDS];
	struct exchange exchange;
	struct syscall_texts *texts; /* NULL: no system calls are recorded */
	struct hash_table by_id;     /* counter id -> event index */
	struct hash_table reopened;  /* reopen.c: id -> the counter whose place it has taken */
	size_t ring_bytes, side_bytes;
};

/* Opens all events, disabled. The exec of a command enables its events (samples not with -D).
 * `command` is the forked process, or 0. Gives up while *stop is nonzero. Keeps pointers to opt and
 * result. On failure nothing stays open. */
int session_open(struct session *s, const struct capture_options *opt, pid_t command,
		 const volatile int *stop, struct capture_result *result, struct err *err);
void session_close(struct session *s);
/* Closes the counters and removes the probes, once nothing more is to be read; what was known of
 * the events stays. */
void session_end_events(struct session *s);

/* Where the samples of an event go. */
enum ring_kind session_ring_of(const struct session *s, size_t event);

/* Enables or disables all counters of one kind; those of RING_SWITCHES with those of RING_SAMPLES,
 * those of RING_ALARM with those of RING_SIDEBAND. */
void session_enable(struct session *s, enum ring_kind kind, bool on);
/* Those of one CPU. */
void session_enable_slot(struct session *s, enum ring_kind kind, size_t slot, bool on);

/* The ids of an event; the caller frees them. NULL when out of memory. */
uint64_t *session_event_ids(const struct session *s, size_t event, size_t *ret_n);

/* One of these ids. */
uint64_t session_any_id(const struct session *s, size_t event);

/* The polled counter hung up, because its thread has ended: polls the next counter of the ring.
 * Returns false if none is left. */
bool session_next_poll(struct session *s, enum ring_kind kind, size_t slot);

/* ---- between session.c, session_events.c, counter.c and rings.c ------------------------------ */

/* Fills s->events from the options. Without any the event is cycles. Returns 0, or negative with
 * *err: names that are unknown, or events that cannot go together. */
int session_choose_events(struct session *s, struct err *err);
/* The attributes to sample an event with, as far as the kernel supports them. */
void session_fill_attr(struct session *s, size_t event);
/* Opens c->event on the CPU of c->slot for a thread (-1: all). Returns 1, 0 if the thread has
 * ended, or negative. While the event has no counter yet, features that the kernel refuses are
 * given up. */
int session_open_counter(struct session *s, const struct counter *c, pid_t pid, struct err *err);

/* Maps the rings, and directs the output of all counters to them. */
int session_map_rings(struct session *s, struct err *err);
void session_unmap_rings(struct session *s);

/* What the rings of a CPU lock, in KiB, if those of samples have `ring_kb`: with the small ring for
 * other records and the page before each. */
size_t session_locked_kb(size_t ring_kb);

/* Adds a line for the user about the recording; ignored when notes[] is full. */
void capture_note(struct capture_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
