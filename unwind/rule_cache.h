/* rule_cache.h - rules by runtime address, one cache per worker. Private to unwind/.
 *
 * In sets of four. A key has a place of its own in its set, where it is looked for and goes when it
 * was found at another: so the hot loop looks at one place only, and keys that share it still do
 * not push each other out. An address means something only in its address space, to one kind of
 * code: these get 16-bit numbers, which share a key with the 48 address bits that user space has on
 * all supported processors. Addresses above never match and are not stored.
 */
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
	uint32_t number; /* of struct frame */
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
	/* Of entries; the first is NULL. Of those no entry of a space that still is refers to, some
	 * are gone. */
	VEC(const struct map *) maps;
	struct rule_cache_map {
		uint32_t number;	/* map_number(); 0: empty */
		uint32_t at;		/* in maps */
	} known[RULE_CACHE_MAPS_KNOWN]; /* by number */
	struct hash_table spaces;	/* layout -> number */
	uint64_t last_layout, last_space;
};

/* 0 or -ERR_NOMEM. */
int rule_cache_init(struct rule_cache *c);
void rule_cache_done(struct rule_cache *c);

/* Makes sure that the next `n` calls of rule_cache_space() do not run out of numbers: drops all
 * entries if they would, or if there are maps of very many processes. */
void rule_cache_reserve(struct rule_cache *c, size_t n);
/* What an address is or-ed with to make the key of its entry. `layout`: which maps there are and
 * what their code is for, as a number of the caller's, not 0. RULE_CACHE_NO_SPACE when out of
 * memory: then nothing may be cached, and no key matches. Valid until the next
 * rule_cache_reserve(). */
uint64_t rule_cache_space(struct rule_cache *c, uint64_t layout);

/* Where the entries' maps find this one. UINT32_MAX: out of memory. */
uint32_t rule_cache_map(struct rule_cache *c, const struct map *map);

/* The entry of a key that is not at its own place but elsewhere in the set; it is at its place
 * then. NULL: there is none. */
struct rule_entry *rule_cache_fetch(struct rule_cache *c, uint64_t key);
/* The place of a key that has no entry, for a new one. What was there moves on to the next place of
 * the set, what was there too, and so on; from a full set the last is dropped. */
struct rule_entry *rule_cache_place(struct rule_cache *c, uint64_t key);

/* Where the key belongs, whatever is there. Fibonacci hashing: the product's top bits. */
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
