/* switch_event.h - private: context switches, for --off-cpu and --wall. */
#ifndef CAPTURE_SWITCH_EVENT_H
#define CAPTURE_SWITCH_EVENT_H

#include "capture/drain.h"
#include "capture/session.h"

/* Adds the events of --off-cpu and --wall to those of the session: sched:sched_switch with a record
 * of each context switch, under the name that makes readers weigh it (reader/switches.h), and for
 * --wall a clock, if the user named no other event. */
int switch_events_choose(struct session *s, struct err *err);
/* Asks tracefs for the tracepoint. Refuses with a cure where it may not be used. */
int switch_events_find(struct session *s, struct err *err);
/* Refuses fewer processors (-C) than there are. */
int switch_events_check_cpus(const struct session *s, size_t n, size_t n_online, struct err *err);
/* The event of the session; NULL: there is none. */
const struct event *switch_event(const struct session *s);

/* Remembers the thread of a record of a context switch, and when it was, in steps of
 * SWITCH_STEP_NS. Returns 0, or -1 when out of memory. */
#define SWITCH_STEP_NS 10000000ull
int switch_note_record(struct hash_table *seen, const uint8_t *rec, size_t n);

/* Writes a record that says nothing but when it is: where the recording begins, and where it ends.
 */
int switch_mark_time(struct drain *d, uint64_t time_ns, struct err *err);
/* Writes that nothing is known of switches from then on, or that it is again. */
int switch_mark_pause(struct drain *d, bool begins, uint64_t time_ns, struct err *err);
/* Of a cgroup: writes which threads are in it when its recording begins, and which of those that
 * switched are not when it ends. Of others: nothing. */
int switch_mark_members(struct drain *d, uint64_t time_ns, struct err *err);
int switch_mark_leavers(struct drain *d, uint64_t time_ns, struct err *err);
/* At the end: writes a sample for each thread of the recorded processes that neither ran nor gave
 * up a processor in the `ns` before end_ns, so that it has waited all the time, with its stack as
 * it is now.
 */
int switch_add_sleepers(struct drain *d, uint64_t ns, uint64_t end_ns, struct err *err);
/* Where a recording begins in the middle of a command: writes, for each thread of it that waits,
 * that it gave up its processor just now, with its stack. */
int switch_begin_sleepers(struct drain *d, uint64_t begin_ns, struct err *err);

#endif
