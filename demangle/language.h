/* language.h - functions for the names of one language each, and what they share. Private to
 * demangle/. */
#ifndef DEMANGLE_LANGUAGE_H
#define DEMANGLE_LANGUAGE_H

#include "demangle/demangle.h"

void namebuf_add(struct namebuf *t, const char *s, size_t n);
void namebuf_done(struct namebuf *t);

enum mangling { MANGLING_NONE, MANGLING_CXX, MANGLING_RUST, MANGLING_D, MANGLING_JAVA };

/* java.c: appends "int Class.method(long)" for a class and a method with its descriptor. Returns
 * false, with an incomplete text in out, if it is something else. */
bool demangle_java(struct namebuf *out, const char *name);
/* Appends "Class.method" for such a name, and for the names that HotSpot and perf-map-agent write
 * to perf maps. */
bool simplify_java(struct namebuf *out, const char *name);
/* dotnet.c: appends "Class`1[...]::Method". Returns false, with an incomplete text in out, if it is
 * something else. */
bool simplify_dotnet(struct namebuf *out, const char *name);
/* crystal.c: appends "Array(T)#push". Returns false if it is something else. */
bool simplify_crystal(struct namebuf *out, const char *name);
/* ocaml.c, ghc.c: append the name as the source has it; in full with the numbers and suffixes that
 * tell symbols apart. Return false, with an incomplete text in out, if it is something else. */
bool demangle_ocaml(struct namebuf *out, const char *name, bool simple);
bool demangle_ghc(struct namebuf *out, const char *name, bool simple);

/* simplify.c. Both append and return true; if the name has no known form, they leave the text as it
 * was and return false. */

/* The demangled name `s` without argument lists, return type and ABI tags, with `depth` levels of
 * template arguments. */
bool simplify_name(struct namebuf *out, const char *s, enum mangling mangling, unsigned depth);
/* `s` with `depth` levels of template arguments; the rest as it is. */
bool cut_templates(struct namebuf *out, const char *s, enum mangling mangling, unsigned depth);

#endif
