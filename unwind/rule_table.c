/* rule_table.c - a hash table with open addressing. A slot's key is written once, after its
 * rule. */
#include "unwind/rule_table.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/pages.h"

struct rule_slot {
	_Atomic uint64_t key; /* vaddr + 1; 0: free */
	struct rule rule;
	uint32_t number;
};

struct rule_slots {
	struct rule_slots *older; /* other threads may still be reading it */
	uint64_t secret;	  /* hash seed: colliding addresses cannot be chosen */
	size_t n, mask;
	struct rule_slot *v; /* mask + 1 slots, at most half of them used */
};

static struct rule_slot *slot_of(const struct rule_slots *s, uint64_t key)
{
	size_t i = hash_u64(key ^ s->secret) & s->mask;
	uint64_t there;

	while ((there = atomic_load_explicit(&s->v[i].key, memory_order_acquire)) && there != key)
		i = (i + 1) & s->mask;
	return &s->v[i];
}

static void slot_set(struct rule_slots *s, uint64_t key, struct rule rule, uint32_t number)
{
	struct rule_slot *slot = slot_of(s, key);

	slot->rule = rule;
	slot->number = number;
	atomic_store_explicit(&slot->key, key, memory_order_release);
	s->n++;
}

static struct rule_slots *grown(struct rule_slots *old)
{
	struct rule_slots *s = calloc(1, sizeof *s);
	size_t size = old ? 2 * (old->mask + 1) : 256, i;

	if (!s)
		return NULL;
	s->v = pages_calloc(size, sizeof *s->v);
	if (!s->v) {
		free(s);
		return NULL;
	}
	s->secret = hash_secret();
	s->mask = size - 1;
	s->older = old;
	for (i = 0; old && i <= old->mask; i++)
		if (old->v[i].key)
			slot_set(s, old->v[i].key, old->v[i].rule, old->v[i].number);
	return s;
}

bool rule_table_get(const struct rule_table *t, uint64_t vaddr, struct rule *ret, uint32_t *number)
{
	const struct rule_slots *s = atomic_load_explicit(&t->slots, memory_order_acquire);
	const struct rule_slot *slot;

	if (!s || vaddr == UINT64_MAX)
		return false;
	slot = slot_of(s, vaddr + 1);
	/* The slot was free, but another address may have got it meanwhile. */
	if (atomic_load_explicit(&slot->key, memory_order_acquire) != vaddr + 1)
		return false;
	*ret = slot->rule;
	*number = slot->number;
	return true;
}

uint32_t rule_table_put(struct rule_table *t, uint64_t vaddr, struct rule rule)
{
	struct rule_slots *s = atomic_load_explicit(&t->slots, memory_order_relaxed);

	if (vaddr == UINT64_MAX)
		return 0;
	if (!s || 2 * s->n > s->mask) {
		s = grown(s);
		if (!s)
			return 0;
		atomic_store_explicit(&t->slots, s, memory_order_release);
	}
	slot_set(s, vaddr + 1, rule, (uint32_t)s->n + 1);
	return (uint32_t)s->n;
}

void rule_table_done(struct rule_table *t)
{
	struct rule_slots *s = t->slots, *older;

	for (; s; s = older) {
		older = s->older;
		free(s->v);
		free(s);
	}
	t->slots = NULL;
}
