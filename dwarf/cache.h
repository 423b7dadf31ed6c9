/* cache.h - packed tables in a directory, one file per build id and state of its debug file.
 * Private to dwarf/.
 */
#ifndef DWARF_CACHE_H
#define DWARF_CACHE_H

#include "dwarf/dwarf.h"
#include "dwarf/pack.h"

/* identity.c: identifies what a table is compiled from. `img` has the DWARF, `alt` may be NULL.
 * Split units are not part of the key: the main file has their ids, and split units with other ids
 * are not used. */
void dwarf_cache_key(struct elf_image *img, struct elf_image *alt, struct pack_key *ret);

/* Maps and opens the file of a key. Returns false if there is none, or it cannot be used. A zeroed
 * file is closed. */
bool dwarf_cache_open(const struct dwarf_cache *c, const struct pack_key *key, struct pack_file *f);
void dwarf_cache_close(struct pack_file *f);
/* Removes the file. Returns false if that fails. */
bool dwarf_cache_remove(const struct dwarf_cache *c, const struct pack_key *key);

/* Publishes a file, and removes the least recently used files while the cache is too large. Returns
 * false only if the file is larger than the whole cache may be, so that it never can be published.
 * Other failures (disk full, no permission) are ignored: the next run compiles again. */
bool dwarf_cache_publish(const struct dwarf_cache *c, const struct pack_key *key,
			 const struct pack_bytes *bytes);

#endif
