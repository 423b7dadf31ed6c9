/* probe_tracefs.h - the events of probes in tracefs: made, tried and removed there. Private to
 * capture/.
 *
 * set->tracefs must have been found: probe_events_tracefs(). Needs the rights to write there. An
 * event stays in the kernel, also after this process, until it is removed. */
#ifndef CAPTURE_PROBE_TRACEFS_H
#define CAPTURE_PROBE_TRACEFS_H

#include "base/err.h"
#include "capture/probe_event.h"

/* Events are named GROUP, the number of the process, "/", and what the process likes. */
#define PROBE_GROUP "unspool_"

/* Probes at some places of a file, to become one event of this name. */
struct probe_batch {
	struct probe_events *set;
	const char *name, *path;
	char letter; /* p: entry, r: return */
	bool is_span_end;
	bool says_loops;
	bool with_fields;   /* those of places */
	const char *fields; /* what is read at a hit */
	const struct probe_place *places;
	size_t n;
	const char *event; /* for people; NULL: nothing is said of it */
};

/* Adds the event, or more places of it. Returns 0, or a negative value with *err (which may be
 * NULL): then some of its places may be there, to be removed. */
int probe_batch_add(const struct probe_batch *b, struct err *err);

/* Adds the event with those places of p->found that can be probed, and leaves only these there.
 * Maps the file meanwhile. Returns 0, or a negative value with *err. */
int probe_batch_add_passing(struct probe_batch b, struct probe_event *p, struct err *err);

/* The number of a tracepoint or event, "GROUP/NAME", for perf_event_attr.config. 0, or negative. */
int probe_tracefs_id(const struct probe_events *set, const char *name, uint64_t *ret);

/* Can perf_event_open() open the event? *id: its number, if it is there. */
bool probe_tracefs_opens(const struct probe_events *set, const char *name, uint64_t *id);

/* Removes an event with all of its places. */
void probe_tracefs_remove(const struct probe_events *set, const char *name);

/* Removes what recordings left behind that were killed: their process is no more. */
void probe_tracefs_remove_stale(const struct probe_events *set);

#endif
