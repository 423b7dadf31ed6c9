/* cache.h - packed tables in a directory, one file per build id and state of its debug file.
 * Private to dwarf/.
 */
#ifndef DWARF_CACHE_H
#define DWARF_CACHE_H

#include "dwarf/dwarf.h"
#include "dwarf/pack.h"

/* identity.c: what a table is compiled from. `img` has the DWARF, `alt` may be NULL. Split
 * units need no part in it: the main file has their ids, and others are not used. */
void dwarf_cache_key(struct elf_image *img, struct elf_image *alt, struct pack_key *ret);

/* Maps and opens the file for a key. False when there is none that can be used. A zeroed file is
 * closed. */
bool dwarf_cache_open(const struct dwarf_cache *c, const struct pack_key *key, struct pack_file *f);
void dwarf_cache_close(struct pack_file *f);
/* Removes the file. False: it cannot be. */
bool dwarf_cache_remove(const struct dwarf_cache *c, const struct pack_key *key);

/* Publishes a file and removes those that were unused for longest when there are too many. That it
 * cannot (disk full, no permission) is no error: the next run compiles again. False when it never
 * will: it is larger than the whole cache may be. */
bool dwarf_cache_publish(const struct dwarf_cache *c, const struct pack_key *key,
			 const struct pack_bytes *bytes);

#endif
