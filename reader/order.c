/* order.c - natural merge sort: every ring buffer was written in order of time (nearly), so what
 * waits consists of few rising runs. */
#include "reader/order.h"

int order_push(struct order *o, uint64_t time, uint64_t where)
{
	if (time > o->max_time)
		o->max_time = time;
	return vec_push(&o->v, (struct order_entry){time, where});
}

static bool entry_before(const struct order_entry *a, const struct order_entry *b)
{
	return a->time != b->time ? a->time < b->time : a->where < b->where;
}

/* Writes the merge of [a, a_end) and [b, b_end) to out. */
static void merge(const struct order_entry *a, const struct order_entry *a_end,
		  const struct order_entry *b, const struct order_entry *b_end,
		  struct order_entry *out)
{
	while (a < a_end && b < b_end)
		*out++ = entry_before(b, a) ? *b++ : *a++;
	if (a < a_end)
		memcpy(out, a, (size_t)(a_end - a) * sizeof *a);
	else if (b < b_end)
		memcpy(out, b, (size_t)(b_end - b) * sizeof *b);
}

/* Starts of the rising runs of v, and its length behind the last. */
static int find_runs(struct order *o)
{
	size_t i;

	o->runs.n = 0;
	if (vec_push(&o->runs, 0))
		return -1;
	for (i = 1; i < o->v.n; i++)
		if (entry_before(&o->v.v[i], &o->v.v[i - 1]) && vec_push(&o->runs, i))
			return -1;
	return vec_push(&o->runs, o->v.n);
}

/* Merges neighbouring runs until one is left. */
static int sort(struct order *o)
{
	if (find_runs(o) || (o->runs.n > 2 && vec_reserve(&o->merged, o->v.n)))
		return -1;
	while (o->runs.n > 2) {
		const struct order_entry *v = o->v.v;
		struct order_entry *out = o->merged.v;
		size_t *runs = o->runs.v, n = o->runs.n - 1, kept = 0, i, end;

		for (i = 0; i < n; i += 2) {
			end = i + 2 <= n ? runs[i + 2] : runs[i + 1];
			merge(v + runs[i], v + runs[i + 1], v + runs[i + 1], v + end,
			      out + runs[i]);
			runs[kept++] = runs[i];
		}
		runs[kept++] = o->v.n;
		o->runs.n = kept;
		o->merged.n = o->v.n;
		/* The two arrays change places. */
		out = o->v.v;
		end = o->v.cap;
		o->v.v = o->merged.v;
		o->v.cap = o->merged.cap;
		o->merged.v = out;
		o->merged.cap = end;
	}
	return 0;
}

/* Number of entries up to a time, in sorted v. */
static size_t count_to(const struct order *o, uint64_t time)
{
	size_t lo = 0, hi = o->v.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (o->v.v[mid].time <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int order_round(struct order *o, bool all)
{
	uint64_t limit = all ? UINT64_MAX : o->previous_round;

	o->previous_round = o->max_time;
	if (o->head) {
		o->v.n -= o->head;
		memmove(o->v.v, o->v.v + o->head, o->v.n * sizeof *o->v.v);
		o->head = o->ready = 0;
	}
	if (sort(o))
		return -1;
	o->ready = count_to(o, limit);
	return 0;
}

bool order_pop(struct order *o, struct order_entry *ret)
{
	if (o->head == o->ready)
		return false;
	*ret = o->v.v[o->head++];
	o->n_late += ret->time < o->last_left;
	if (ret->time > o->last_left)
		o->last_left = ret->time;
	return true;
}

void order_done(struct order *o)
{
	vec_done(&o->v);
	vec_done(&o->merged);
	vec_done(&o->runs);
}
