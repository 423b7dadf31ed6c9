/* demangle.h - names for people from names for linkers. Private to symbolize/.
 *
 * C++ (Itanium ABI), Rust (legacy and v0) and D, through libiberty. Bounded in time, memory and
 * stack for any input; what cannot be demangled stays as it is.
 */
#ifndef SYMBOLIZE_DEMANGLE_H
#define SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "symbolize/symbolize.h"

/* A growing, bounded name. A zeroed one is empty. */
struct namebuf {
	char *s; /* NUL-terminated when not NULL */
	size_t len, cap;
	bool failed; /* out of memory, or longer than allowed: the text is of no use */
};

void namebuf_add(struct namebuf *t, const char *s, size_t n);
void namebuf_done(struct namebuf *t);

enum mangling { MANGLING_NONE, MANGLING_CXX, MANGLING_RUST, MANGLING_D };

/* Working memory, to be reused from name to name by one thread. Zeroed to start. */
struct demangler {
	struct namebuf full, simple;
};

/* The name as `how` asks, in the demangler's memory until its next use, or `name` itself. */
const char *demangle(struct demangler *d, const char *name, enum sym_demangle how);
void demangler_done(struct demangler *d);

/* Appends the demangled `s` without argument lists, with template arguments as <...>, without
 * return type, clone suffixes and ABI tags. The text stays empty when s is of no known shape. */
void simplify_name(struct namebuf *out, const char *s, enum mangling mangling);

#endif
