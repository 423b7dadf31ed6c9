/* hash.h - 64-bit mixing and an open-addressing table u64 -> u32. Not thread-safe. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

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

uint64_t hash_bytes(const void *p, size_t n);

#define HASH_NONE UINT32_MAX

struct hash_slot {
	uint64_t key;
	uint32_t value; /* HASH_NONE: empty */
};

/* A zeroed table is empty. Keys are whole values (or hashes that the caller verifies). */
struct hash_table {
	struct hash_slot *slots;
	size_t n, mask; /* mask + 1 slots, a power of two, when slots */
};

/* HASH_NONE when absent. */
uint32_t hash_get(const struct hash_table *h, uint64_t key);
/* Sets or replaces. value must not be HASH_NONE. 0, or -1 when out of memory. */
int hash_put(struct hash_table *h, uint64_t key, uint32_t value);
void hash_done(struct hash_table *h);

#endif
