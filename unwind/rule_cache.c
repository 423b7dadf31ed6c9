/* rule_cache.c - the cache's memory and the numbers of address spaces. */
#include "unwind/rule_cache.h"

#include <sys/mman.h>
#include <stdlib.h>

enum {
	ENTRY_BYTES = sizeof(struct rule_entry) << RULE_CACHE_BITS,
	FULL_ENTRY_BYTES = sizeof(struct full_rule_entry) << FULL_RULE_CACHE_BITS,
};

_Static_assert(sizeof(struct rule_entry) == 32, "two entries in a cache line");

/* On huge pages where the system has them: entries are touched at random. */
static void *zeroed_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	(void)madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

int rule_cache_init(struct rule_cache *c)
{
	*c = (struct rule_cache){.entries = zeroed_map(ENTRY_BYTES),
				 .full_entries = zeroed_map(FULL_ENTRY_BYTES)};
	if (c->entries && c->full_entries)
		return 0;
	rule_cache_done(c);
	return -ERR_NOMEM;
}

void rule_cache_done(struct rule_cache *c)
{
	if (c->entries)
		munmap(c->entries, ENTRY_BYTES);
	if (c->full_entries)
		munmap(c->full_entries, FULL_ENTRY_BYTES);
	hash_done(&c->spaces);
	*c = (struct rule_cache){0};
}

void rule_cache_reserve(struct rule_cache *c, size_t n)
{
	if (c->spaces.n + n <= UINT16_MAX)
		return;
	memset(c->entries, 0, ENTRY_BYTES);
	memset(c->full_entries, 0, FULL_ENTRY_BYTES);
	hash_done(&c->spaces);
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
			return 0;
	}
	c->last_layout = layout;
	c->last_space = (uint64_t)no << RULE_CACHE_IP_BITS;
	return c->last_space;
}
