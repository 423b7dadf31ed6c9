/* order.h - puts records into time order. Private to reader/.
 *
 * Records are entered in the order of the file; each is an entry {time, where}. perf writes a
 * FINISHED_ROUND record after it has emptied all ring buffers once. Everything that was recorded
 * before that round began is then complete. So after a round all entries up to the highest time of
 * the round before may leave:
 *
 *	round 1: times 1..7    round 2: times 5..12 -> 1..7 leave    round 3 -> 8..12 leave
 *
 * A file without rounds is complete only at its end, so entries must be small. Every ring buffer
 * was written in (nearly) rising time, so the waiting entries consist of rising runs, and within a
 * run an entry is stored as the difference to the one before (order_log.h). A heap of the runs
 * yields the next entry. If the runs are so short that there are too many, they are merged into
 * one. */
#ifndef READER_ORDER_H
#define READER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "reader/order_log.h"

/* when there are more new runs than this, they are merged */
#define ORDER_RUNS_MAX 65536
/* An entry that is this far (an hour, in ns) ahead of all before is trusted only when a second one
 * near it follows. */
#define ORDER_LEAP 3600000000000u
/* So many leave at once. */
#define ORDER_DUE_MAX 64

struct order_entry {
	uint64_t time;
	/* Rises in the order of entering; entries of equal time leave in this order. */
	uint64_t where;
};

struct order_run {
	struct order_entry first; /* of those that have not left */
	uint64_t next;		  /* in the log: the step to the second */
	uint64_t n_steps;
};

/* A zeroed order is empty. */
struct order {
	struct order_log log;
	/* Complete runs, the one with the earliest first entry on top. */
	VEC(struct order_run) heap;
	/* Runs entered since the last round; only the last one is still open. */
	VEC(struct order_run) fresh;
	/* This many at the start of fresh were merged of others, and are closed. */
	size_t n_merged;
	struct order_entry last; /* the last entry that was pushed */
	uint64_t limit;		 /* entries of the heap up to this time may leave */
	uint64_t max_time;	 /* the highest time entered, not counting the open run */
	/* The last entry that was too far ahead to count for max_time. */
	struct order_entry leap;
	uint64_t previous_round; /* max_time when the last round finished */
	uint64_t last_left;	 /* time of the last that left */
	/* Entries that left after one with a later time: the rounds were wrong. */
	uint64_t n_late;
	/* Taken out of the heap: the next entries to leave. */
	struct order_entry due[ORDER_DUE_MAX];
	size_t n_due, n_gone; /* entries in due, and how many of these have left */
};

/* Appends an entry to a run whose last entry was `last`. Returns 0, or -1 when out of memory. */
static inline int order_run_add(struct order_run *run, struct order_log *log,
				struct order_entry last, struct order_entry e)
{
	const struct order_step step = {e.time - last.time, (int64_t)(e.where - last.where)};
	uint64_t at;

	if (order_log_put(log, step, &at))
		return -1;
	if (!run->n_steps++)
		run->next = at;
	return 0;
}

/* The slow path of order_push(): the entry begins a run. */
int order_begin_run(struct order *o, struct order_entry e, struct err *err);

/* All functions that return int: negative with *err when out of memory, or when the temporary file
 * cannot be read. */
static inline int order_push(struct order *o, uint64_t time, uint64_t where, struct err *err)
{
	const struct order_entry e = {time, where};

	if (o->fresh.n == o->n_merged || time < o->last.time)
		return order_begin_run(o, e, err);
	if (order_run_add(&o->fresh.v[o->fresh.n - 1], &o->log, o->last, e))
		return err_nomem(err);
	o->last = e;
	return 0;
}

/* Call it when a round has finished, with `all` when the file has. */
int order_round(struct order *o, bool all, struct err *err);

/* Is there an entry that may leave? */
static inline bool order_ready(const struct order *o)
{
	return o->n_gone < o->n_due || (o->heap.n && o->heap.v[0].first.time <= o->limit);
}

/* The slow path of order_pop(): takes more entries out of the heap. */
int order_more_due(struct order *o, struct err *err);

/* Returns 1 and the next entry that may leave, or 0 if there is none. */
static inline int order_pop(struct order *o, struct order_entry *ret, struct err *err)
{
	int rc = o->n_gone < o->n_due ? 1 : order_more_due(o, err);

	if (rc > 0)
		*ret = o->due[o->n_gone++];
	return rc;
}

void order_done(struct order *o);

#endif
