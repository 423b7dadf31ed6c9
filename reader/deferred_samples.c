/* deferred_samples.c - a queue over all waiting samples, and one per thread. */
#include "reader/deferred_samples.h"

#include <assert.h>

static struct held_list *list_of(const struct deferred_samples *d, uint32_t tid)
{
	uint32_t i = hash_get(&d->by_tid, tid);

	return i == HASH_NONE ? NULL : &d->lists.v[i];
}

int deferred_samples_add(struct deferred_samples *d, struct held *h)
{
	struct held_list *l = list_of(d, h->tid);

	if (!l) {
		if (d->lists.n >= HASH_NONE ||
		    vec_push(&d->lists, (struct held_list){.tid = h->tid}))
			return -1;
		if (hash_put(&d->by_tid, h->tid, (uint32_t)d->lists.n - 1)) {
			d->lists.n--;
			return -1;
		}
		l = &d->lists.v[d->lists.n - 1];
	}
	h->next = h->next_of_tid = NULL;
	h->prev = d->newest;
	*(d->newest ? &d->newest->next : &d->oldest) = h;
	d->newest = h;
	*(l->last ? &l->last->next_of_tid : &l->first) = h;
	l->last = h;
	d->n++;
	d->bytes += h->h.size;
	return 0;
}

/* Removes a list; the last list is moved to its place. */
static void list_drop(struct deferred_samples *d, struct held_list *l)
{
	hash_remove(&d->by_tid, l->tid);
	*l = d->lists.v[--d->lists.n];
	if (l < d->lists.v + d->lists.n) /* replaces an existing key, so it needs no memory */
		hash_put(&d->by_tid, l->tid, (uint32_t)(l - d->lists.v));
}

struct held *deferred_samples_take(struct deferred_samples *d, uint32_t tid)
{
	struct held_list *l = list_of(d, tid);
	struct held *h = l ? l->first : NULL;

	if (!h)
		return NULL;
	l->first = h->next_of_tid;
	if (!l->first)
		list_drop(d, l);
	*(h->prev ? &h->prev->next : &d->oldest) = h->next;
	*(h->next ? &h->next->prev : &d->newest) = h->prev;
	d->n--;
	d->bytes -= h->h.size;
	return h;
}

struct held *deferred_samples_take_oldest(struct deferred_samples *d)
{
	struct held *h = d->oldest ? deferred_samples_take(d, d->oldest->tid) : NULL;

	/* Both queues are in the order of adding. */
	assert(!h || !h->prev);
	return h;
}

void deferred_samples_done(struct deferred_samples *d)
{
	struct held *h;

	while ((h = deferred_samples_take_oldest(d)))
		free(h);
	hash_done(&d->by_tid);
	vec_done(&d->lists);
}
