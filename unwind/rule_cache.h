/* rule_cache.h - rules by runtime address, one cache per worker. Private to unwind/.
 *
 * The cache is 4-way set associative. Each key has a home slot in its set. The hot loop checks the
 * home slot only; an entry that is found in another slot of the set is swapped into its home slot.
 * So keys that share a home slot still do not evict each other.
 *
 * An address is valid only within one address space and for one kind of code. Each such combination
 * gets a 16-bit number; this number and the 48 address bits of user space (on all supported
 * processors) form the key. Higher addresses never match and are not stored. */
#ifndef UNWIND_RULE_CACHE_H
#define UNWIND_RULE_CACHE_H

#include "base/hash.h"
#include "base/vec.h"
#include "reader/reader.h"
#include "unwind/rule.h"

#define RULE_CACHE_BITS	      16
#define RULE_CACHE_WAYS	      4
#define FULL_RULE_CACHE_BITS  12
#define RULE_CACHE_IP_BITS    48
#define RULE_CACHE_NO_SPACE   ((uint64_t)UINT16_MAX << RULE_CACHE_IP_BITS)
#define RULE_CACHE_MAPS_KNOWN 64

struct rule_entry {
	uint64_t key;	 /* 0: empty */
	uint32_t map;	 /* rule_cache.maps[map] */
	uint32_t number; /* place_id of struct frame */
	struct rule rule;
};

struct full_rule_entry {
	uint64_t key;
	const struct full_rule *rule;
	uint64_t bias; /* runtime address minus vaddr */
};

struct rule_cache {
	struct rule_entry *entries;
	struct full_rule_entry *full_entries;
	/* The maps of the entries; maps.v[0] is NULL. A map may have been freed if only entries of
	 * address spaces that no longer exist refer to it. */
	VEC(const struct map *) maps;
	struct rule_cache_map {
		uint32_t number;	/* map_number(); 0: empty */
		uint32_t at;		/* in maps */
	} known[RULE_CACHE_MAPS_KNOWN]; /* direct-mapped by map_number() */
	struct hash_table spaces;	/* layout -> number */
	uint64_t last_layout, last_space;
};

/* Returns 0 or -ERR_NOMEM. */
int rule_cache_init(struct rule_cache *c);
void rule_cache_done(struct rule_cache *c);

/* Ensures that the next `n` calls of rule_cache_space() do not run out of numbers: drops all
 * entries if they would, or if `maps` has become too large. */
void rule_cache_reserve(struct rule_cache *c, size_t n);
/* The value to OR with an address to get its key. `layout`: a non-zero number by which the caller
 * identifies the maps and the kind of code. Returns RULE_CACHE_NO_SPACE when out of memory: then
 * nothing may be cached, and no key matches. Valid until the next rule_cache_reserve(). */
uint64_t rule_cache_space(struct rule_cache *c, uint64_t layout);

/* The index of `map` in `maps`, for rule_entry.map. UINT32_MAX: out of memory. */
uint32_t rule_cache_map(struct rule_cache *c, const struct map *map);

/* Finds the entry of a key that is not in its home slot, and swaps it into its home slot. Returns
 * NULL if there is none. */
struct rule_entry *rule_cache_fetch(struct rule_cache *c, uint64_t key);
/* Makes the home slot of a key without an entry free for a new one, and returns it. The entries
 * from there on move to the next slot of the set; if the set is full, the last is evicted. */
struct rule_entry *rule_cache_place(struct rule_cache *c, uint64_t key);

/* The home slot of a key. Fibonacci hashing: the top bits of the product. */
static inline size_t rule_cache_slot(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15u >> (64 - RULE_CACHE_BITS);
}

static inline struct rule_entry *rule_cache_at(const struct rule_cache *c, uint64_t key)
{
	return &c->entries[rule_cache_slot(key)];
}

static inline struct full_rule_entry *full_rule_cache_at(const struct rule_cache *c, uint64_t key)
{
	return &c->full_entries[key * 0x9e3779b97f4a7c15u >> (64 - FULL_RULE_CACHE_BITS)];
}

#endif
