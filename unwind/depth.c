/* depth.c - how large the copies of the stacks that were cut should have been.
 *
 * Kept per thread: the places where its stacks end, which samples have shown that reached the root,
 * and for those that were cut how many began where. A thread has one stack, or a few: one more
 * after an exec, one for signal handlers. */
#include "unwind/depth.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"

enum { TOPS = 8, UNIT = 1024 };

/* No stack is larger: a root farther above is another stack's. */
#define DEPTH_MAX (1ull << 30)

struct depth_thread {
	uint64_t key; /* pid and tid */
	uint64_t tops[TOPS];
	uint32_t n_tops; /* ever added: the oldest gives way */
};

/* Stacks that were cut, of one thread, whose copies began in the same KiB. */
struct depth_cut {
	uint32_t thread;
	uint64_t unit;	    /* sp / UNIT */
	uint64_t stack_end; /* of the process's first thread; 0: not known */
	uint64_t n;
};

struct stack_depths {
	VEC(struct depth_thread) threads;
	VEC(struct depth_cut) cuts;
	struct hash_table thread_of; /* by key */
	struct hash_index cut_of;
	uint32_t last; /* thread */
};

struct stack_depths *stack_depths_new(void)
{
	return calloc(1, sizeof(struct stack_depths));
}

void stack_depths_free(struct stack_depths *d)
{
	if (!d)
		return;
	vec_done(&d->threads);
	vec_done(&d->cuts);
	hash_done(&d->thread_of);
	hash_index_done(&d->cut_of);
	free(d);
}

/* HASH_NONE: no memory. */
static uint32_t thread_get(struct stack_depths *d, uint64_t key)
{
	struct depth_thread new = {.key = key};
	uint32_t i;

	if (d->last < d->threads.n && d->threads.v[d->last].key == key)
		return d->last;
	i = hash_get(&d->thread_of, key);
	if (i == HASH_NONE) {
		i = (uint32_t)d->threads.n;
		if (vec_reserve(&d->threads, d->threads.n + 1) || hash_put(&d->thread_of, key, i))
			return HASH_NONE;
		d->threads.v[d->threads.n++] = new;
	}
	return d->last = i;
}

static uint64_t thread_key(const struct perf_sample *s)
{
	return (uint64_t)s->pid << 32 | s->tid;
}

static void top_add(struct stack_depths *d, uint64_t key, uint64_t top)
{
	uint32_t i = thread_get(d, key), k;
	struct depth_thread *t;

	if (i == HASH_NONE)
		return;
	t = &d->threads.v[i];
	for (k = 0; k < t->n_tops && k < TOPS; k++)
		if (t->tops[k] == top)
			return;
	t->tops[t->n_tops++ % TOPS] = top;
}

static void cut_add(struct stack_depths *d, uint64_t key, const struct depth_cut *cut)
{
	struct depth_cut new = *cut;
	struct hash_probe probe;
	uint32_t i, hash;

	new.thread = thread_get(d, key);
	if (new.thread == HASH_NONE)
		return;
	hash = (uint32_t)hash_mix(new.thread, new.unit ^ new.stack_end);
	probe = hash_index_probe(&d->cut_of, hash);
	while ((i = hash_index_next(&d->cut_of, &probe)) != HASH_NONE) {
		struct depth_cut *c = &d->cuts.v[i];

		if (c->thread == new.thread && c->unit == new.unit &&
		    c->stack_end == new.stack_end) {
			c->n += new.n;
			return;
		}
	}
	if (!vec_reserve(&d->cuts, d->cuts.n + 1) &&
	    !hash_index_put(&d->cut_of, hash, (uint32_t)d->cuts.n))
		d->cuts.v[d->cuts.n++] = new;
}

void stack_depths_root(struct stack_depths *d, const struct perf_sample *s, uint64_t top)
{
	top_add(d, thread_key(s), top);
}

void stack_depths_cut(struct stack_depths *d, const struct perf_sample *s, uint64_t sp)
{
	uint64_t end = s->pid == s->tid ? address_space_stack_end(s->space) : 0;
	struct depth_cut cut = {.unit = sp / UNIT, .stack_end = end, .n = 1};

	cut_add(d, thread_key(s), &cut);
}

void stack_depths_add(struct stack_depths *to, const struct stack_depths *from)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < from->threads.n; i++) {
		const struct depth_thread *t = &from->threads.v[i];

		for (k = 0; k < t->n_tops && k < TOPS; k++)
			top_add(to, t->key, t->tops[k]);
	}
	for (i = 0; i < from->cuts.n; i++)
		cut_add(to, from->threads.v[from->cuts.v[i].thread].key, &from->cuts.v[i]);
}

/* ---- the answer -------------------------------------------------------------------------- */

/* Whole KiB; 0: not known. */
static uint64_t bytes_needed(const struct stack_depths *d, const struct depth_cut *c)
{
	const struct depth_thread *t = &d->threads.v[c->thread];
	uint64_t sp = c->unit * UNIT, top = 0;
	uint32_t k;

	for (k = 0; k < t->n_tops && k < TOPS; k++)
		if (t->tops[k] > sp && t->tops[k] - sp < DEPTH_MAX && (!top || t->tops[k] < top))
			top = t->tops[k];
	/* Above the root there are arguments and environment: this is a little more. */
	if (!top && c->stack_end > sp && c->stack_end - sp < DEPTH_MAX)
		top = c->stack_end;
	return top ? (top - sp + UNIT - 1) / UNIT * UNIT : 0;
}

struct need {
	uint64_t bytes, n;
};

static int compare_needs(const void *a, const void *b)
{
	const struct need *x = a, *y = b;

	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

int stack_depths_need(const struct stack_depths *d, unsigned percent, uint64_t bytes_max,
		      struct stack_need *ret)
{
	struct need *needs = calloc(d->cuts.n + 1, sizeof *needs);
	uint64_t sum = 0;
	size_t n = 0, i;

	*ret = (struct stack_need){0};
	if (!needs)
		return -ERR_NOMEM;
	for (i = 0; i < d->cuts.n; i++) {
		needs[n] = (struct need){bytes_needed(d, &d->cuts.v[i]), d->cuts.v[i].n};
		ret->cut += needs[n].n;
		if (!needs[n].bytes)
			continue;
		ret->known += needs[n].n;
		if (needs[n].bytes > bytes_max)
			ret->too_deep += needs[n].n;
		n++;
	}
	qsort(needs, n, sizeof *needs, compare_needs);
	for (i = 0; i < n && sum * 100 < ret->known * percent; i++) {
		sum += needs[i].n;
		ret->bytes = needs[i].bytes;
	}
	free(needs);
	return 0;
}
