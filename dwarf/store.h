/* store.h - what a module's cache file knew, and what will be saved in it. Private to dwarf/.
 *
 * The policy. A run needs only a few addresses of a large module, and compiling only the units that
 * contain them is the fastest way to a result. So the first run of a module does just that, and
 * saves its answers: resolving the same recording again needs no DWARF. A new recording of the same
 * module needs other addresses. Once the units compiled in all runs add up to the size of the
 * module, everything is compiled and saved. So never more than twice the necessary minimum is
 * spent, and a module that is profiled again and again costs nothing from the third recording on. A
 * first run that needs most of the module compiles the rest with it. */
#ifndef DWARF_STORE_H
#define DWARF_STORE_H

#include "dwarf/cache.h"
#include "dwarf/table.h"

/* A zeroed store is closed. */
struct dwarf_store {
	const struct dwarf_cache *cache; /* NULL: nothing is saved */
	struct pack_key key;
	struct pack_file known; /* the cache file; closed: none */
	/* The wanted addresses that are code, rising; empty if the file is complete. */
	struct pack_addrs asked;
	struct pack_addrs unknown; /* those of them that are not in the cache */
};

/* Looks up the wanted addresses in the cache. Returns 0 or -ERR_NOMEM. */
int dwarf_store_open(struct dwarf_store *s, const struct dwarf_cache *cache, struct elf_image *img,
		     struct elf_image *alt, const struct dwarf_filter *filter);
void dwarf_store_close(struct dwarf_store *s);

/* Should everything be compiled, now that this run is about to compile `bytes` of all_bytes? */
bool dwarf_store_wants_all(const struct dwarf_store *s, uint64_t bytes, uint64_t all_bytes);

/* Saves what was compiled: everything, if it is `complete` and the cache may be that large, else
 * what the wanted addresses need. */
void dwarf_store_save(struct dwarf_store *s, struct dwarf_table *compiled, uint64_t bytes,
		      bool complete);

#endif
