/* dwarf_cache.h - packed tables in a directory, one file per build id. Private to symbolize/dwarf*.
 */
#ifndef SYMBOLIZE_DWARF_CACHE_H
#define SYMBOLIZE_DWARF_CACHE_H

#include "symbolize/dwarf.h"
#include "symbolize/dwarf_pack.h"

/* False when the file has no build id: then nothing tells whether a cached table is its own. */
bool dwarf_cache_key(struct elf_image *img, struct pack_key *ret);
/* Fills a zeroed table for the addresses. 0; 1 when the cache has nothing (usable); -ERR_NOMEM. */
int dwarf_cache_load(const struct dwarf_cache *c, const struct pack_key *key, struct dwarf_table *t,
		     struct arena *strings, const uint64_t *addrs, size_t n);
/* Publishes a table and removes the files that were unused for longest when there are too many.
 * That it cannot (disk full, no permission) is no error: the next run compiles again. */
void dwarf_cache_save(const struct dwarf_cache *c, const struct pack_key *key,
		      const struct dwarf_table *t);

#endif
