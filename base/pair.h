/* pair.h - dense ids for pairs of ids; longer keys are pairs of pairs. */
#ifndef BASE_PAIR_H
#define BASE_PAIR_H

#include "base/hash.h"

static inline uint64_t pair_key(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

/* The pair's id in h: its own when it is there, the next from 0 on when it is new. HASH_NONE when
 * out of memory. */
static inline uint32_t pair_intern(struct hash_table *h, uint32_t a, uint32_t b)
{
	uint64_t key = pair_key(a, b);
	uint32_t id = hash_get(h, key);

	if (id != HASH_NONE || h->n >= HASH_NONE)
		return id;
	id = (uint32_t)h->n;
	return hash_put(h, key, id) ? HASH_NONE : id;
}

#endif
