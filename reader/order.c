/* order.c - merges rising runs. */
#include "reader/order.h"

int order_push(struct order *o, uint64_t time, uint64_t where)
{
	const struct order_entry e = {time, where};
	struct order_run *run = o->fresh.n ? &o->fresh.v[o->fresh.n - 1] : NULL;
	const bool goes_on = run && time >= o->last.time && time - o->last.time <= UINT32_MAX &&
			     where - o->last.where <= UINT32_MAX;

	if (goes_on) {
		const struct order_step step = {(uint32_t)(time - o->last.time),
						(uint32_t)(where - o->last.where)};

		if (vec_push(&o->steps, step))
			return -1;
		run->end++;
	} else if (vec_push(&o->fresh, (struct order_run){e, o->steps.n, o->steps.n})) {
		return -1;
	}
	o->last = e;
	if (time > o->max_time)
		o->max_time = time;
	return 0;
}

static bool run_before(const struct order_run *a, const struct order_run *b)
{
	return a->first.time != b->first.time ? a->first.time < b->first.time
					      : a->first.where < b->first.where;
}

/* Puts `run` into the place i or below it, where it belongs. */
static void heap_down(struct order *o, size_t i, struct order_run run)
{
	struct order_run *v = o->heap.v;
	size_t n = o->heap.n, child;

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
static void heap_up(struct order *o, size_t i, struct order_run run)
{
	struct order_run *v = o->heap.v;

	while (i && run_before(&run, &v[(i - 1) / 2])) {
		v[i] = v[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	v[i] = run;
}

/* Forgets steps at the front that no run needs any more, now and then. */
static void trim_steps(struct order *o)
{
	size_t used = o->steps.n, i;

	for (i = 0; i < o->heap.n; i++)
		if (o->heap.v[i].next < used)
			used = o->heap.v[i].next;
	if (used <= o->steps.n / 2)
		return;
	o->steps.n -= used;
	memmove(o->steps.v, o->steps.v + used, o->steps.n * sizeof *o->steps.v);
	for (i = 0; i < o->heap.n; i++) {
		o->heap.v[i].next -= used;
		o->heap.v[i].end -= used;
	}
}

int order_round(struct order *o, bool all)
{
	if (vec_reserve(&o->heap, o->heap.n + o->fresh.n))
		return -1;
	for (size_t i = 0; i < o->fresh.n; i++)
		heap_up(o, o->heap.n++, o->fresh.v[i]);
	o->fresh.n = 0;
	trim_steps(o);
	o->limit = all ? UINT64_MAX : o->previous_round;
	o->previous_round = o->max_time;
	return 0;
}

bool order_pop(struct order *o, struct order_entry *ret)
{
	struct order_run run;

	if (!order_ready(o))
		return false;
	run = o->heap.v[0];
	*ret = run.first;
	if (run.next < run.end) {
		const struct order_step *step = &o->steps.v[run.next++];

		run.first.time += step->time;
		run.first.where += step->where;
	} else {
		run = o->heap.v[--o->heap.n];
	}
	if (o->heap.n)
		heap_down(o, 0, run);
	o->n_late += ret->time < o->last_left;
	if (ret->time > o->last_left)
		o->last_left = ret->time;
	return true;
}

void order_done(struct order *o)
{
	vec_done(&o->steps);
	vec_done(&o->heap);
	vec_done(&o->fresh);
}
