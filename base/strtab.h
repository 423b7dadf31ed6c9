/* strtab.h - interned strings: equal strings get equal ids. Id 0 is always "". Not thread-safe.
 * Strings live, unmoved, until strtab_done(); they may contain any byte and are NUL-terminated. */
#ifndef BASE_STRTAB_H
#define BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

#define STRTAB_FAILED UINT32_MAX

struct strtab_entry {
	const char *s;
	uint32_t len;
	uint32_t hash;
};

/* A zeroed strtab is ready for use. */
struct strtab {
	struct arena arena;
	VEC(struct strtab_entry) entries;
	uint32_t *slots; /* entry index + 1; 0 = free */
	size_t n_slots;
	uint64_t seed; /* of the hashes */
};

/* The id, or STRTAB_FAILED when out of memory (or len > 4 GiB). */
uint32_t strtab_add(struct strtab *t, const char *s, size_t len);
uint32_t strtab_add_cstr(struct strtab *t, const char *s);
/* Returns the id of a string that is in the table already, else STRTAB_FAILED. */
uint32_t strtab_find(const struct strtab *t, const char *s, size_t len);
const char *strtab_get(const struct strtab *t, uint32_t id);
size_t strtab_len(const struct strtab *t, uint32_t id);
/* Number of strings, counting "". */
size_t strtab_count(const struct strtab *t);
void strtab_done(struct strtab *t);

#endif
