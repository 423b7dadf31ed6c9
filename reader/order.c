/* order.c - merges rising runs. */
#include "reader/order.h"

/* ---- the heap ---------------------------------------------------------------------------- */

static bool run_before(const struct order_run *a, const struct order_run *b)
{
	return a->first.time != b->first.time ? a->first.time < b->first.time
					      : a->first.where < b->first.where;
}

/* Puts `run` into the place i of n or below it, where it belongs. */
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

/* Puts `run` into the free place i or above it. */
static void heap_up(struct order_run *v, size_t i, struct order_run run)
{
	while (i && run_before(&run, &v[(i - 1) / 2])) {
		v[i] = v[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	v[i] = run;
}

/* Takes the first entry out of the heap's top run. *n counts the runs. */
static inline int heap_take(struct order_run *v, size_t *n, struct order_log *log,
			    struct order_entry *ret, struct err *err)
{
	struct order_run *run = &v[0];

	*ret = run->first;
	if (run->n_steps) {
		struct order_step step;
		int rc = order_log_take(log, &run->next, &step, err);

		if (rc)
			return rc;
		run->n_steps--;
		run->first.time += step.time;
		run->first.where += (uint64_t)step.where;
	} else {
		*run = v[--*n];
	}
	/* Where one ring buffer was busier than the others, its run mostly stays. */
	if ((*n > 1 && run_before(&v[1], run)) || (*n > 2 && run_before(&v[2], run)))
		heap_down(v, *n, 0, *run);
	return 0;
}

/* ---- entering ---------------------------------------------------------------------------- */

/* Adds an entry to a run whose last entry was `last`. */
static int run_add(struct order_run *run, struct order_log *log, struct order_entry last,
		   struct order_entry e)
{
	const struct order_step step = {e.time - last.time, (int64_t)(e.where - last.where)};
	uint64_t at;

	if (order_log_put(log, step, &at))
		return -1;
	if (!run->n_steps++)
		run->next = at;
	return 0;
}

/* Makes one run of those that are not merged yet. */
static int merge_fresh(struct order *o, struct err *err)
{
	struct order_run *v = o->fresh.v + o->n_merged, merged = {0};
	size_t n = o->fresh.n - o->n_merged;
	struct order_entry last, e;
	int rc;

	for (size_t i = n / 2; i-- > 0;)
		heap_down(v, n, i, v[i]);
	rc = heap_take(v, &n, &o->log, &merged.first, err);
	for (last = merged.first; !rc && n; last = e) {
		rc = heap_take(v, &n, &o->log, &e, err);
		if (!rc && run_add(&merged, &o->log, last, e))
			rc = err_nomem(err);
	}
	o->fresh.v[o->n_merged++] = merged;
	o->fresh.n = o->n_merged;
	return rc;
}

int order_push(struct order *o, uint64_t time, uint64_t where, struct err *err)
{
	const struct order_entry e = {time, where};
	struct order_run *run = o->fresh.n > o->n_merged ? &o->fresh.v[o->fresh.n - 1] : NULL;
	int rc = 0;

	if (run && time >= o->last.time) {
		rc = run_add(run, &o->log, o->last, e) ? err_nomem(err) : 0;
	} else {
		if (o->fresh.n - o->n_merged >= ORDER_RUNS_MAX)
			rc = merge_fresh(o, err);
		if (!rc && vec_push(&o->fresh, (struct order_run){.first = e}))
			rc = err_nomem(err);
	}
	o->last = e;
	if (time > o->max_time)
		o->max_time = time;
	return rc;
}

/* ---- leaving ----------------------------------------------------------------------------- */

int order_round(struct order *o, bool all, struct err *err)
{
	if (vec_reserve(&o->heap, o->heap.n + o->fresh.n))
		return err_nomem(err);
	for (size_t i = 0; i < o->fresh.n; i++)
		heap_up(o->heap.v, o->heap.n++, o->fresh.v[i]);
	o->fresh.n = o->n_merged = 0;
	o->limit = all ? UINT64_MAX : o->previous_round;
	o->previous_round = o->max_time;
	return 0;
}

int order_pop(struct order *o, struct order_entry *ret, struct err *err)
{
	int rc;

	if (!order_ready(o))
		return 0;
	rc = heap_take(o->heap.v, &o->heap.n, &o->log, ret, err);
	if (rc)
		return rc;
	o->n_late += ret->time < o->last_left;
	if (ret->time > o->last_left)
		o->last_left = ret->time;
	return 1;
}

void order_done(struct order *o)
{
	order_log_done(&o->log);
	vec_done(&o->heap);
	vec_done(&o->fresh);
}
