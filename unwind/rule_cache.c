/* rule_cache.c - the memory of the cache, and the numbers of address spaces. */
#include "unwind/rule_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/pages.h"

#define N_ENTRIES      ((size_t)1 << RULE_CACHE_BITS)
#define N_FULL_ENTRIES ((size_t)1 << FULL_RULE_CACHE_BITS)

/* The largest number of an address space. 0 is used for empty entries, the number after the largest
 * for "not cached". */
#define NUMBERS_MAX (UINT16_MAX - 1)

/* Size of `maps` (a map may be in it several times) at which the cache is emptied: so that `maps`
 * does not grow much larger than the cache, and emptying is rare enough that programs that run for
 * long do not notice. */
enum { MAPS_MAX = 1 << 16 };

_Static_assert(sizeof(struct rule_entry) == 32, "two entries in a cache line");

int rule_cache_init(struct rule_cache *c)
{
	*c = (struct rule_cache){.entries = pages_calloc(N_ENTRIES, sizeof *c->entries),
				 .full_entries = calloc(N_FULL_ENTRIES, sizeof *c->full_entries)};
	if (c->entries && c->full_entries && rule_cache_map(c, NULL) != UINT32_MAX)
		return 0;
	rule_cache_done(c);
	return -ERR_NOMEM;
}

uint32_t rule_cache_map(struct rule_cache *c, const struct map *map)
{
	uint32_t number = map_number(map);
	struct rule_cache_map *k = &c->known[number % RULE_CACHE_MAPS_KNOWN];

	if (k->number == number && c->maps.n)
		return k->at;
	if (c->maps.n == UINT32_MAX || vec_push(&c->maps, map))
		return UINT32_MAX;
	*k = (struct rule_cache_map){number, (uint32_t)c->maps.n - 1};
	return k->at;
}

/* The n-th slot of the set, counted from the home slot. */
static struct rule_entry *way(const struct rule_cache *c, size_t slot, size_t n)
{
	return &c->entries[(slot & ~(size_t)(RULE_CACHE_WAYS - 1)) |
			   ((slot + n) & (RULE_CACHE_WAYS - 1))];
}

struct rule_entry *rule_cache_fetch(struct rule_cache *c, uint64_t key)
{
	size_t slot = rule_cache_slot(key), i;
	struct rule_entry *own = way(c, slot, 0), *e, found;

	for (i = 1; i < RULE_CACHE_WAYS; i++) {
		e = way(c, slot, i);
		if (e->key != key)
			continue;
		found = *e;
		*e = *own;
		*own = found;
		return own;
	}
	return NULL;
}

struct rule_entry *rule_cache_place(struct rule_cache *c, uint64_t key)
{
	size_t slot = rule_cache_slot(key), n = 0;

	while (n < RULE_CACHE_WAYS - 1 && way(c, slot, n)->key)
		n++;
	for (; n; n--)
		*way(c, slot, n) = *way(c, slot, n - 1);
	return way(c, slot, 0);
}

void rule_cache_done(struct rule_cache *c)
{
	free(c->entries);
	free(c->full_entries);
	vec_done(&c->maps);
	hash_done(&c->spaces);
	*c = (struct rule_cache){0};
}

void rule_cache_reserve(struct rule_cache *c, size_t n)
{
	if (c->spaces.n + n <= NUMBERS_MAX && c->maps.n <= MAPS_MAX)
		return;
	memset(c->entries, 0, N_ENTRIES * sizeof *c->entries);
	memset(c->full_entries, 0, N_FULL_ENTRIES * sizeof *c->full_entries);
	hash_done(&c->spaces);
	memset(c->known, 0, sizeof c->known);
	c->maps.n = 1;
	c->last_layout = c->last_space = 0;
}

uint64_t rule_cache_space(struct rule_cache *c, uint64_t layout)
{
	uint32_t no;

	if (layout == c->last_layout)
		return c->last_space;
	no = hash_get(&c->spaces, layout);
	if (no == HASH_NONE) {
		no = (uint32_t)c->spaces.n + 1;
		if (hash_put(&c->spaces, layout, no))
			return RULE_CACHE_NO_SPACE;
	}
	c->last_layout = layout;
	c->last_space = (uint64_t)no << RULE_CACHE_IP_BITS;
	return c->last_space;
}
