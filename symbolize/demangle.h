/* demangle.h - names for people from names for linkers. Private to symbolize/.
 *
 * C++ (Itanium ABI; of the newest without constraints, see older.h), Rust (legacy and v0) and D,
 * through libiberty; Java. Bounded in time, memory and stack for any input; what cannot be
 * demangled stays as it is.
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
	bool nomem;  /* out of memory, now or for an earlier text */
};

void namebuf_add(struct namebuf *t, const char *s, size_t n);
void namebuf_done(struct namebuf *t);

enum mangling { MANGLING_NONE, MANGLING_CXX, MANGLING_RUST, MANGLING_D, MANGLING_JAVA };

/* How names are written. */
struct name_style {
	enum sym_demangle demangle;
	bool fold_clones;	 /* without .isra.0, .cold and their like */
	bool cut_templates;	 /* arguments deeper than template_depth levels become <...> */
	unsigned template_depth; /* 0: no arguments at all */
};

/* Working memory, to be reused from name to name by one thread. Zeroed to start. */
struct demangler {
	struct namebuf base, full, text, older;
};

/* A symbol's name in this style, in the demangler's memory until its next use, or `name` itself.
 * Less readable than it could be when out of memory; demangler_is_out_of_memory() says so, from
 * then on. */
const char *demangle(struct demangler *d, const char *name, const struct name_style *style);
/* The same for a name put together from DWARF, which is readable already or dwarf_mangle.h's. */
const char *restyle(struct demangler *d, const char *name, const struct name_style *style);
bool demangler_is_out_of_memory(const struct demangler *d);
void demangler_done(struct demangler *d);

/* demangle_java.c: appends "int Class.method(long)" for a class and a method with its descriptor.
 * False, with anything in out: it is something else. */
bool demangle_java(struct namebuf *out, const char *name);
/* Appends "Class.method" for that, and for what HotSpot and perf-map-agent write into perf maps. */
bool simplify_java(struct namebuf *out, const char *name);
/* demangle_dotnet.c: appends "Class`1[...]::Method". False, with anything in out: it is something
 * else. */
bool simplify_dotnet(struct namebuf *out, const char *name);
/* demangle_crystal.c: appends "Array(T)#push". False: it is something else. */
bool simplify_crystal(struct namebuf *out, const char *name);

/* simplify.c. All append and return true, or leave the text as it was: of no known shape. */

/* The demangled `s` without argument lists, return type, ABI tags, with `depth` levels of template
 * arguments. */
bool simplify_name(struct namebuf *out, const char *s, enum mangling mangling, unsigned depth);
/* `s` with `depth` levels of template arguments; the rest as it is. */
bool cut_templates(struct namebuf *out, const char *s, enum mangling mangling, unsigned depth);
#endif
