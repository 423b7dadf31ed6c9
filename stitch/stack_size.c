/* stack_size.c - how large the copies of the stacks that were cut should have been.
 *
 * Known per thread: the addresses where its stacks end, from samples that reached the root, and the
 * number of cut copies by start address. A thread has one stack, or a few: one more after an exec,
 * one for signal handlers. After the thread has ended nothing more can be learned about it, and
 * only the number of its stacks by the size they needed is kept. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/pair.h"
#include "base/vec.h"
#include "stitch/stitch.h"

enum { TOPS = 8, UNIT = 1024 };

#define NONE UINT32_MAX

/* No stack is larger: a root farther above belongs to another stack. */
#define DEPTH_MAX (1ull << 30)

struct depth_thread {
	uint64_t key; /* pid and tid */
	uint64_t tops[TOPS];
	uint32_t n_tops; /* number ever added; a new one overwrites the oldest */
	uint32_t cuts;	 /* its first cut; NONE: none */
};

/* The cut stacks of one thread whose copies began in the same KiB. */
struct depth_cut {
	uint64_t key;	    /* of the thread */
	uint64_t unit;	    /* sp / UNIT */
	uint64_t stack_end; /* for the first thread of a process; 0: not known */
	uint64_t n;
	uint32_t next; /* the next cut of the thread, or the next free one; NONE */
};

/* The number of stacks that need a copy of this size. */
struct depth_need {
	uint64_t bytes; /* whole KiB, at most DEPTH_MAX; 0: not known */
	uint64_t n;
};

struct stack_depths {
	VEC(struct depth_thread) threads;
	VEC(struct depth_cut) cuts;
	struct hash_table thread_of; /* by key */
	struct hash_table cut_of;    /* by cut_hash() */
	uint32_t free_cuts;	     /* the first free cut; NONE */
	uint64_t secret;	     /* hash seed: colliding cuts cannot be chosen */
	uint32_t last;		     /* thread of the last look-up */
	/* Totals of threads that have ended. */
	VEC(struct depth_need) needs;
	struct hash_table need_of; /* by bytes */
};

struct stack_depths *stack_depths_new(void)
{
	struct stack_depths *d = calloc(1, sizeof *d);

	if (d) {
		d->secret = hash_secret();
		d->free_cuts = NONE;
	}
	return d;
}

void stack_depths_free(struct stack_depths *d)
{
	if (!d)
		return;
	vec_done(&d->threads);
	vec_done(&d->cuts);
	vec_done(&d->needs);
	hash_done(&d->thread_of);
	hash_done(&d->cut_of);
	hash_done(&d->need_of);
	free(d);
}

/* ---- learning ---------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct depth_thread *thread_get(struct stack_depths *d, uint64_t key)
{
	struct depth_thread new = {.key = key, .cuts = NONE};
	uint32_t i;

	if (d->last < d->threads.n && d->threads.v[d->last].key == key)
		return &d->threads.v[d->last];
	i = hash_get(&d->thread_of, key);
	if (i == HASH_NONE) {
		i = (uint32_t)d->threads.n;
		if (vec_reserve(&d->threads, d->threads.n + 1) || hash_put(&d->thread_of, key, i))
			return NULL;
		d->threads.v[d->threads.n++] = new;
	}
	d->last = i;
	return &d->threads.v[i];
}

static void top_add(struct depth_thread *t, uint64_t top)
{
	uint32_t k;

	for (k = 0; k < t->n_tops && k < TOPS; k++)
		if (t->tops[k] == top)
			return;
	t->tops[t->n_tops++ % TOPS] = top;
}

static uint64_t cut_hash(const struct stack_depths *d, const struct depth_cut *c)
{
	return hash_mix(hash_mix(d->secret ^ c->key, c->unit), c->stack_end);
}

/* The index of a free element for a new cut; NONE: out of memory. */
static uint32_t cut_place(struct stack_depths *d)
{
	uint32_t i = d->free_cuts;

	if (i != NONE) {
		d->free_cuts = d->cuts.v[i].next;
		return i;
	}
	if (d->cuts.n == NONE || vec_reserve(&d->cuts, d->cuts.n + 1))
		return NONE;
	return (uint32_t)d->cuts.n++;
}

static void cut_add(struct stack_depths *d, struct depth_thread *t, struct depth_cut cut)
{
	uint64_t hash = cut_hash(d, &cut);
	uint32_t i = hash_get(&d->cut_of, hash);

	if (i != HASH_NONE) {
		d->cuts.v[i].n++;
		return;
	}
	i = cut_place(d);
	if (i == NONE)
		return;
	cut.n = 1;
	cut.next = t->cuts;
	if (hash_put(&d->cut_of, hash, i)) {
		cut.next = d->free_cuts;
		d->free_cuts = i;
	} else {
		t->cuts = i;
	}
	d->cuts.v[i] = cut;
}

static void add_one(struct stack_depths *d, const struct perf_sample *s,
		    const struct stack_trace *trace)
{
	uint64_t key = pair_key(s->pid, s->tid);
	struct depth_thread *t = thread_get(d, key);

	if (!t)
		return;
	if (trace->stop == UNWIND_STOP_END)
		top_add(t, trace->edge);
	else
		cut_add(d, t,
			(struct depth_cut){
				.key = key,
				.unit = trace->edge / UNIT,
				.stack_end =
					s->pid == s->tid ? address_space_stack_end(s->space) : 0,
			});
}

void stack_depths_add(struct stack_depths *d, const struct perf_sample *const *samples,
		      const struct stack_trace *traces, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (traces[i].edge)
			add_one(d, samples[i], &traces[i]);
}

/* ---- threads that have ended --------------------------------------------------------------- */

/* The copy size needed, in whole KiB; 0: not known. */
static uint64_t bytes_needed(const struct depth_thread *t, const struct depth_cut *c)
{
	uint64_t sp = c->unit * UNIT, top = 0;
	uint32_t k;

	for (k = 0; k < t->n_tops && k < TOPS; k++)
		if (t->tops[k] > sp && t->tops[k] - sp < DEPTH_MAX && (!top || t->tops[k] < top))
			top = t->tops[k];
	/* Arguments and environment are above the root, so this is slightly too large. */
	if (!top && c->stack_end > sp && c->stack_end - sp < DEPTH_MAX)
		top = c->stack_end;
	return top ? (top - sp + UNIT - 1) / UNIT * UNIT : 0;
}

static void need_add(struct stack_depths *d, struct depth_need need)
{
	uint32_t i = hash_get(&d->need_of, need.bytes);

	if (i != HASH_NONE)
		d->needs.v[i].n += need.n;
	else if (!vec_reserve(&d->needs, d->needs.n + 1) &&
		 !hash_put(&d->need_of, need.bytes, (uint32_t)d->needs.n))
		d->needs.v[d->needs.n++] = need;
}

void stack_depths_end(struct stack_depths *d, uint32_t pid, uint32_t tid)
{
	uint32_t at = hash_get(&d->thread_of, pair_key(pid, tid)), i, next;
	struct depth_thread *t;

	if (at == HASH_NONE)
		return;
	t = &d->threads.v[at];
	for (i = t->cuts; i != NONE; i = next) {
		struct depth_cut *c = &d->cuts.v[i];

		next = c->next;
		need_add(d, (struct depth_need){bytes_needed(t, c), c->n});
		hash_remove(&d->cut_of, cut_hash(d, c));
		c->next = d->free_cuts;
		d->free_cuts = i;
	}
	hash_remove(&d->thread_of, t->key);
	*t = d->threads.v[--d->threads.n];
	if (at < d->threads.n) /* replaces a value, so it cannot fail */
		hash_put(&d->thread_of, t->key, at);
}

/* ---- result ------------------------------------------------------------------------------ */

static int compare_needs(const void *a, const void *b)
{
	const struct depth_need *x = a, *y = b;

	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* The needs of all threads, ended or not, sorted. NULL: out of memory. */
static struct depth_need *needs_all(const struct stack_depths *d, size_t *ret_n)
{
	struct depth_need *needs = calloc(d->needs.n + d->cuts.n + 1, sizeof *needs);
	size_t n = d->needs.n, i;
	uint32_t k;

	if (!needs)
		return NULL;
	if (n)
		memcpy(needs, d->needs.v, n * sizeof *needs);
	for (i = 0; i < d->threads.n; i++) {
		const struct depth_thread *t = &d->threads.v[i];

		for (k = t->cuts; k != NONE; k = d->cuts.v[k].next) {
			const struct depth_cut *c = &d->cuts.v[k];

			needs[n++] = (struct depth_need){bytes_needed(t, c), c->n};
		}
	}
	qsort(needs, n, sizeof *needs, compare_needs);
	*ret_n = n;
	return needs;
}

int stack_depths_need(const struct stack_depths *d, unsigned percent, uint64_t bytes_max,
		      struct stack_need *ret)
{
	uint64_t sum = 0;
	size_t n, i;
	struct depth_need *needs = needs_all(d, &n);

	*ret = (struct stack_need){0};
	if (!needs)
		return -ERR_NOMEM;
	for (i = 0; i < n; i++) {
		ret->cut += needs[i].n;
		if (needs[i].bytes)
			ret->known += needs[i].n;
		if (needs[i].bytes > bytes_max)
			ret->too_deep += needs[i].n;
	}
	for (i = 0; i < n && sum * 100 < ret->known * percent; i++) {
		if (!needs[i].bytes)
			continue;
		sum += needs[i].n;
		ret->bytes = needs[i].bytes;
	}
	free(needs);
	return 0;
}
