/* store.h - what a module's cache file knew, and what it will know. Private to dwarf/.
 *
 * The policy. What a run asks for is little of a large module, and compiling only the units that it
 * hits is the fastest way to an answer, so the first run of a module does just that, and leaves the
 * answers behind: to resolve the same recording again needs no DWARF. A new recording of the same
 * module asks for other addresses. Once the units that were compiled in all runs come to as much as
 * the module has, everything is compiled and kept: never is more than twice the least necessary
 * spent, and a module that is profiled again and again costs nothing from the third recording on.
 * A first run that hits most of the module compiles the rest with it.
 */
#ifndef DWARF_STORE_H
#define DWARF_STORE_H

#include "dwarf/cache.h"
#include "dwarf/table.h"

/* A zeroed one is closed. */
struct dwarf_store {
	const struct dwarf_cache *cache; /* NULL: nothing is kept */
	struct pack_key key;
	struct pack_file known;	   /* from the cache; closed: nothing */
	struct pack_addrs asked;   /* those in code, rising; unless the file is complete */
	struct pack_addrs unknown; /* those of them that are not in the cache */
};

/* Looks up the wanted addresses. 0 or -ERR_NOMEM. */
int dwarf_store_open(struct dwarf_store *s, const struct dwarf_cache *cache, struct elf_image *img,
		     struct elf_image *alt, const struct dwarf_filter *filter);
void dwarf_store_close(struct dwarf_store *s);

/* Whether everything is to be compiled, now that this run is about to compile so many bytes. */
bool dwarf_store_wants_all(const struct dwarf_store *s, uint64_t bytes, uint64_t all_bytes);

/* Keeps what was compiled: everything there is (`complete`) if the cache may be that large, or what
 * the wanted addresses need. */
void dwarf_store_save(struct dwarf_store *s, struct dwarf_table *compiled, uint64_t bytes,
		      bool complete);

#endif
