/* order.c - merges rising runs. */
#include "reader/order.h"

/* ---- the heap ---------------------------------------------------------------------------- */

static inline bool entry_before(struct order_entry a, struct order_entry b)
{
	return a.time != b.time ? a.time < b.time : a.where < b.where;
}

static bool run_before(const struct order_run *a, const struct order_run *b)
{
	return entry_before(a->first, b->first);
}

/* Places `run` at i or below, so that the heap of n runs is in order. */
static void heap_down(struct order_run *v, size_t n, size_t i, struct order_run run)
{
	size_t child;

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && run_before(&v[child + 1], &v[child]))
			child++;
		if (!run_before(&v[child], &run))
			break;
		v[i] = v[child];
		i = child;
	}
	v[i] = run;
}

/* Places `run` at the free place i or above, so that the heap is in order. */
static void heap_up(struct order_run *v, size_t i, struct order_run run)
{
	while (i && run_before(&run, &v[(i - 1) / 2])) {
		v[i] = v[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	v[i] = run;
}

/* Takes at most `room` entries before `bound` from the heap, all of one run. *n is the number of
 * runs. Returns how many entries it took; if an error is the reason for none, negative with *err.
 */
static int heap_take(struct order_run *v, size_t *n, struct order_log *log,
		     struct order_entry bound, struct order_entry *ret, size_t room,
		     struct err *err)
{
	struct order_run run = v[0];
	size_t got = 0;
	int rc = 0;

	for (size_t i = 1; i < *n && i < 3; i++)
		if (entry_before(v[i].first, bound))
			bound = v[i].first;
	while (got < room && entry_before(run.first, bound)) {
		struct order_step step;

		if (!run.n_steps) {
			ret[got++] = run.first;
			run = v[--*n];
			break;
		}
		rc = order_log_take(log, &run.next, &step, err);
		if (rc)
			break;
		ret[got++] = run.first;
		run.n_steps--;
		run.first.time += step.time;
		run.first.where += (uint64_t)step.where;
	}
	if (*n)
		heap_down(v, *n, 0, run);
	return got ? (int)got : rc;
}

/* ---- entering ---------------------------------------------------------------------------- */

/* Merges the runs that were not merged yet into one. */
static int merge_fresh(struct order *o, struct err *err)
{
	const struct order_entry end = {UINT64_MAX, UINT64_MAX};
	struct order_run *v = o->fresh.v + o->n_merged, merged = {0};
	size_t n = o->fresh.n - o->n_merged;
	struct order_entry last, some[ORDER_DUE_MAX];
	bool begun = false;
	int got = 0;

	for (size_t i = n / 2; i-- > 0;)
		heap_down(v, n, i, v[i]);
	while (n && (got = heap_take(v, &n, &o->log, end, some, ORDER_DUE_MAX, err)) > 0) {
		if (!begun)
			merged.first = some[0];
		for (int i = !begun; i < got; i++)
			if (order_run_add(&merged, &o->log, i ? some[i - 1] : last, some[i]))
				return err_nomem(err);
		last = some[got - 1];
		begun = true;
	}
	o->fresh.v[o->n_merged++] = merged;
	o->fresh.n = o->n_merged;
	return got < 0 ? got : 0;
}

/* Closes the open run. A time far above all others is taken for damage until a second one follows:
 * a limit that is too low only makes entries wait, but one that is too high lets all later entries
 * leave out of order. */
static void close_run(struct order *o)
{
	uint64_t t = o->last.time, leap = o->leap.time;

	if (t <= o->max_time || o->last.where == o->leap.where)
		return;
	if (t - o->max_time > ORDER_LEAP && (t > leap ? t - leap : leap - t) > ORDER_LEAP)
		o->leap = o->last;
	else
		o->max_time = t;
}

int order_begin_run(struct order *o, struct order_entry e, struct err *err)
{
	close_run(o);
	if (o->fresh.n - o->n_merged >= ORDER_RUNS_MAX) {
		int rc = merge_fresh(o, err);

		if (rc)
			return rc;
	}
	if (vec_push(&o->fresh, (struct order_run){.first = e}))
		return err_nomem(err);
	o->last = e;
	return 0;
}

/* ---- leaving ----------------------------------------------------------------------------- */

int order_round(struct order *o, bool all, struct err *err)
{
	if (vec_reserve(&o->heap, o->heap.n + o->fresh.n))
		return err_nomem(err);
	for (size_t i = 0; i < o->fresh.n; i++)
		heap_up(o->heap.v, o->heap.n++, o->fresh.v[i]);
	o->fresh.n = o->n_merged = 0;
	close_run(o);
	o->limit = all ? UINT64_MAX : o->previous_round;
	o->previous_round = o->max_time;
	return 0;
}

int order_more_due(struct order *o, struct err *err)
{
	const struct order_entry end = {o->limit, UINT64_MAX};

	o->n_due = o->n_gone = 0;
	while (o->n_due < ORDER_DUE_MAX && o->heap.n && entry_before(o->heap.v[0].first, end)) {
		struct order_entry *e = &o->due[o->n_due];
		int got = heap_take(o->heap.v, &o->heap.n, &o->log, end, e,
				    ORDER_DUE_MAX - o->n_due, err);

		if (got < 0) /* it is returned when those before it have left */
			return o->n_due ? 1 : got;
		o->n_due += (size_t)got;
		for (; got--; e++) {
			o->n_late += e->time < o->last_left;
			if (e->time > o->last_left)
				o->last_left = e->time;
		}
	}
	return o->n_due != 0;
}

void order_done(struct order *o)
{
	order_log_done(&o->log);
	vec_done(&o->heap);
	vec_done(&o->fresh);
}
