/* order.h - puts records into the order of time. Private to reader/.
 *
 * Records are entered as they stand in the file; each of them is an entry {time, where}. perf
 * writes a FINISHED_ROUND after it has emptied all ring buffers once. What was recorded before the
 * round began is then complete, so after a round all entries up to the highest time of the round
 * before may leave:
 *
 *	round 1: times 1..7    round 2: times 5..12 -> 1..7 leave    round 3 -> 8..12 leave
 *
 * Files without rounds are complete at their end only, so entries are small: every ring buffer was
 * written in order of time (nearly), so what waits consists of rising runs, and in a run an entry
 * is the step from the one before (order_log.h). A heap of the runs gives the next. Where runs are
 * so short that they become many, they are merged into one.
 */
#ifndef READER_ORDER_H
#define READER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "reader/order_log.h"

/* More new runs than this are merged. */
#define ORDER_RUNS_MAX 65536
/* So far ahead of all before (an hour, in ns) no entry is believed without a second one near it. */
#define ORDER_LEAP 3600000000000u
/* So many leave at once. */
#define ORDER_DUE_MAX 64

struct order_entry {
	uint64_t time;
	uint64_t where; /* rises in the order of entering: equal times keep it */
};

struct order_run {
	struct order_entry first; /* of those that have not left */
	uint64_t next;		  /* in the log: the step to the second */
	uint64_t n_steps;
};

/* A zeroed order is empty. */
struct order {
	struct order_log log;
	VEC(struct order_run) heap;  /* of complete runs, the earliest first entry on top */
	VEC(struct order_run) fresh; /* entered since the last round; the last is still open */
	size_t n_merged;	     /* of fresh, at its start: made of others, and closed */
	struct order_entry last;     /* that entered */
	uint64_t limit;		     /* entries of the heap up to this time may leave */
	uint64_t max_time;	     /* of all that entered, but those of the open run */
	struct order_entry leap;     /* the last that was too far ahead to count for max_time */
	uint64_t previous_round;     /* max_time when the last round finished */
	uint64_t last_left;	     /* time of the last that left */
	uint64_t n_late;	     /* left after a later one: the rounds were wrong */
	struct order_entry due[ORDER_DUE_MAX]; /* out of the heap: the next to leave */
	size_t n_due, n_gone;		       /* in due: entries, and how many of them have left */
};

/* Adds an entry to a run whose last entry was `last`. 0, or -1 when out of memory. */
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

/* For order_push(): what comes begins a run. */
int order_begin_run(struct order *o, struct order_entry e, struct err *err);

/* All: negative with *err when out of memory, or when what was put into a file cannot be read. */
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

/* A round has finished; `all`: so has the file. */
int order_round(struct order *o, bool all, struct err *err);

/* May one leave? */
static inline bool order_ready(const struct order *o)
{
	return o->n_gone < o->n_due || (o->heap.n && o->heap.v[0].first.time <= o->limit);
}

/* For order_pop(): takes more out of the heap. */
int order_more_due(struct order *o, struct err *err);

/* 1 and the next entry that may leave, or 0 when there is none. */
static inline int order_pop(struct order *o, struct order_entry *ret, struct err *err)
{
	int rc = o->n_gone < o->n_due ? 1 : order_more_due(o, err);

	if (rc > 0)
		*ret = o->due[o->n_gone++];
	return rc;
}

void order_done(struct order *o);

#endif
