/* hash.h - 64-bit mixing, a table u64 -> u32 and an index of things kept elsewhere, both with open
 * addressing. Not thread-safe. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/prefetch.h"

/* Finaliser of splitmix64: every input bit changes half of the output bits. */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static inline uint64_t hash_mix(uint64_t seed, uint64_t x)
{
	return hash_u64(seed * 0x9e3779b97f4a7c15u ^ x);
}

/* The same for the same bytes in every process, so that files may hold it. */
uint64_t hash_bytes(const void *p, size_t n);

/* A number that differs between processes. Without it the author of a file could choose keys that
 * all collide, so that every look-up walks over all of them. */
uint64_t hash_secret(void);
/* A hash of bytes that come from a file: without the seed its value cannot be chosen. */
uint64_t hash_bytes_seeded(uint64_t seed, const void *p, size_t n);

#define HASH_NONE UINT32_MAX

struct hash_slot {
	uint64_t key;
	uint32_t value; /* HASH_NONE: empty */
};

/* A zeroed table is empty. Keys are whole values (or hashes that the caller verifies), and may come
 * from files. */
struct hash_table {
	struct hash_slot *slots;
	size_t n, mask; /* mask + 1 slots, a power of two, when slots */
	uint64_t seed;	/* where a key goes depends on it */
};

static inline size_t hash_place(const struct hash_table *h, uint64_t key)
{
	return hash_u64(key ^ h->seed) & h->mask;
}

/* HASH_NONE when absent. */
uint32_t hash_get(const struct hash_table *h, uint64_t key);

/* Sets or replaces. value must not be HASH_NONE. 0, or -1 when out of memory. */
int hash_put(struct hash_table *h, uint64_t key, uint32_t value);
/* The key may be absent. */
void hash_remove(struct hash_table *h, uint64_t key);
void hash_done(struct hash_table *h);

/* Finds ids by a hash of the things that they stand for; the hash must be seeded if the things come
 * from a file. It needs half the memory of a table that stores keys: the caller has the things
 * themselves, goes through the few candidates and compares.
 *
 *	struct hash_probe probe = hash_index_probe(&x, hash);
 *	while ((id = hash_index_next(&x, &probe)) != HASH_NONE && !equal(things[id], thing))
 *		;
 *
 * A zeroed index is empty. */
struct hash_index {
	uint64_t *slots; /* hash << 32 | id + 1; 0: free */
	size_t n, mask;	 /* mask + 1 slots, a power of two, when slots */
};

struct hash_probe {
	size_t at;
	uint32_t hash;
};

static inline struct hash_probe hash_index_probe(const struct hash_index *x, uint32_t hash)
{
	return (struct hash_probe){hash & x->mask, hash};
}

/* Announces a probe that follows soon: prefetches its first slot. */
PREFETCHING void hash_index_expect(const struct hash_index *x, uint32_t hash)
{
	if (x->slots)
		__builtin_prefetch(&x->slots[hash & x->mask], 1);
}

/* The next id with that hash; HASH_NONE when there are no more. */
static inline uint32_t hash_index_next(const struct hash_index *x, struct hash_probe *p)
{
	uint64_t slot;

	while (x->slots && (slot = x->slots[p->at])) {
		p->at = (p->at + 1) & x->mask;
		if (slot >> 32 == p->hash)
			return (uint32_t)slot - 1;
	}
	return HASH_NONE;
}

/* Adds an id that is not in the index yet and is not HASH_NONE. Returns 0, or -1 when out of
 * memory. */
int hash_index_put(struct hash_index *x, uint32_t hash, uint32_t id);
void hash_index_done(struct hash_index *x);

#endif
