/* exchange.h - private: threads and processes keep their events, as long as they seldom switch.
 *
 * When a CPU switches between two tasks that inherited the same events, the kernel exchanges the
 * events of both instead of stopping and starting them (perf_event_context_sched_out in
 * kernel/events/core.c). A task that ends then takes with it what the clock of another one has
 * counted since its last sample: of a shell that runs short commands no sample is ever taken,
 * though half of the time may be its own. Events whose samples hold the values of others are not
 * exchanged (Linux 6.12), nor are those beside them, but then each switch costs some 5 us more. So
 * each task has one such event, which counts its switches and goes away once they are many. */
#ifndef CAPTURE_EXCHANGE_H
#define CAPTURE_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "capture/attr.h"

/* A zeroed struct prevents nothing. */
struct exchange {
	VEC(int) fds;
	uint64_t begin_ns, look_ns; /* CLOCK_MONOTONIC: of the first look, of the next one */
	int64_t tasks, threads;	    /* more than at the beginning; the first thread is none */
};

/* Prevents it for a thread and all that it will start. Where the kernel refuses this, events are
 * exchanged: no error. Returns -1 when out of memory. */
int exchange_prevent(struct exchange *x, const struct attr_policy *p, pid_t tid);

/* Takes FORK and EXIT records; ignores others. */
void exchange_note_record(struct exchange *x, const uint8_t *rec, size_t n);

/* Lets the kernel exchange events from now on if there were more than EXCHANGE_BURST switches and
 * EXCHANGE_PER_SECOND more in each second, or if there are more than EXCHANGE_TASKS tasks, or
 * EXCHANGE_THREADS threads of processes, than at the beginning. Tasks that began before and those
 * that began after it still exchange nothing with each other, so it is not put off. */
#define EXCHANGE_BURST	    10000
#define EXCHANGE_PER_SECOND 20000
#define EXCHANGE_TASKS	    64
#define EXCHANGE_THREADS    4
void exchange_look(struct exchange *x);

/* Lets the kernel exchange events from now on. */
void exchange_allow(struct exchange *x);

#endif
