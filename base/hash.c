/* hash.c - linear probing, load at most 1/2. */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/pages.h"

uint64_t hash_bytes_seeded(uint64_t seed, const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h = hash_mix(seed, n), w;

	for (; n >= 8; n -= 8, s += 8) {
		memcpy(&w, s, 8);
		h = hash_mix(h, w);
	}
	if (n) {
		w = 0;
		memcpy(&w, s, n);
		h = hash_mix(h, w);
	}
	return h;
}

uint64_t hash_bytes(const void *p, size_t n)
{
	return hash_bytes_seeded(0, p, n);
}

/* The kernel gives every process 16 random bytes. */
uint64_t hash_secret(void)
{
	const void *p = (const void *)getauxval(AT_RANDOM);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof v);
	return v;
}

uint32_t hash_get(const struct hash_table *h, uint64_t key)
{
	size_t i;

	if (!h->slots)
		return HASH_NONE;
	for (i = hash_place(h, key); h->slots[i].value != HASH_NONE; i = (i + 1) & h->mask)
		if (h->slots[i].key == key)
			return h->slots[i].value;
	return HASH_NONE;
}

static int rehash(struct hash_table *h, size_t size)
{
	struct hash_table bigger = {.slots = pages_calloc(size, sizeof *bigger.slots),
				    .n = h->n,
				    .mask = size - 1,
				    .seed = hash_secret()};
	size_t i, j;

	if (!bigger.slots)
		return -1;
	for (i = 0; i < size; i++)
		bigger.slots[i].value = HASH_NONE;
	for (i = 0; h->slots && i <= h->mask; i++) {
		if (h->slots[i].value == HASH_NONE)
			continue;
		j = hash_place(&bigger, h->slots[i].key);
		while (bigger.slots[j].value != HASH_NONE)
			j = (j + 1) & bigger.mask;
		bigger.slots[j] = h->slots[i];
	}
	free(h->slots);
	*h = bigger;
	return 0;
}

int hash_put(struct hash_table *h, uint64_t key, uint32_t value)
{
	size_t i;

	if (!h->slots && rehash(h, 64))
		return -1;
	if (h->n * 2 > h->mask && rehash(h, (h->mask + 1) * 2))
		return -1;
	for (i = hash_place(h, key); h->slots[i].value != HASH_NONE; i = (i + 1) & h->mask)
		if (h->slots[i].key == key) {
			h->slots[i].value = value;
			return 0;
		}
	h->slots[i] = (struct hash_slot){key, value};
	h->n++;
	return 0;
}

/* Knuth, The Art of Computer Programming 6.4, algorithm R: entries that follow the gap, up to the
 * next free slot, are moved into it if their probe sequence passes it. */
void hash_remove(struct hash_table *h, uint64_t key)
{
	size_t gap, i;

	if (!h->slots)
		return;
	for (gap = hash_place(h, key); h->slots[gap].key != key; gap = (gap + 1) & h->mask)
		if (h->slots[gap].value == HASH_NONE)
			return;
	if (h->slots[gap].value == HASH_NONE)
		return;
	for (i = (gap + 1) & h->mask; h->slots[i].value != HASH_NONE; i = (i + 1) & h->mask) {
		size_t from_home = (i - hash_place(h, h->slots[i].key)) & h->mask;

		if (from_home < ((i - gap) & h->mask))
			continue;
		h->slots[gap] = h->slots[i];
		gap = i;
	}
	h->slots[gap].value = HASH_NONE;
	h->n--;
}

void hash_done(struct hash_table *h)
{
	free(h->slots);
	*h = (struct hash_table){0};
}

static void index_insert(struct hash_index *x, uint64_t slot)
{
	size_t i = (slot >> 32) & x->mask;

	while (x->slots[i])
		i = (i + 1) & x->mask;
	x->slots[i] = slot;
}

static int index_grow(struct hash_index *x)
{
	size_t size = x->slots ? (x->mask + 1) * 2 : 64, i;
	struct hash_index bigger = {pages_calloc(size, sizeof *bigger.slots), x->n, size - 1};

	if (!bigger.slots)
		return -1;
	for (i = 0; x->slots && i <= x->mask; i++)
		if (x->slots[i])
			index_insert(&bigger, x->slots[i]);
	free(x->slots);
	*x = bigger;
	return 0;
}

int hash_index_put(struct hash_index *x, uint32_t hash, uint32_t id)
{
	if ((!x->slots || x->n * 2 > x->mask) && index_grow(x))
		return -1;
	index_insert(x, (uint64_t)hash << 32 | (id + 1));
	x->n++;
	return 0;
}

void hash_index_done(struct hash_index *x)
{
	free(x->slots);
	*x = (struct hash_index){0};
}
