/* shared_library.h - a library that is loaded when it is first needed, because a machine may have
 * none. */
#ifndef BASE_SHARED_LIBRARY_H
#define BASE_SHARED_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct shared_symbol {
	const char *name;
	void *to; /* a pointer to a pointer to a function of its type */
};

/* Loads it, and sets all *to. Returns false if there is no such library, or if it lacks one of the
 * functions (*to is then NULL). It stays loaded. */
bool shared_library_load(const char *name, const struct shared_symbol *symbols, size_t n);

#endif
