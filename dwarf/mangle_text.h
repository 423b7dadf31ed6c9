/* mangle_text.h - C++ types as compilers spell them for people, in the encoding of linkage names.
 * Private to dwarf/.
 *
 * DW_AT_name of a class template's instance holds its arguments: "array<const long int*, 3>". The
 * children of its DIE hold fewer: of a partial specialization only what is left to choose. */
#ifndef DWARF_MANGLE_TEXT_H
#define DWARF_MANGLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MANGLED_MAX = 4000 }; /* longer names are not demangled */

struct mangled {
	size_t len;
	bool failed;  /* not understood, or too long */
	bool untyped; /* in the last name are numbers of unknown type, written as int */
	unsigned nesting;
	char text[MANGLED_MAX];
};

void mangled_put_n(struct mangled *m, const char *s, size_t n);
void mangled_put(struct mangled *m, const char *s);
void mangled_put_number(struct mangled *m, uint64_t number);
/* <source-name>; any characters will do. */
void mangled_put_identifier(struct mangled *m, const char *s, size_t n);
/* The code of a type of the language; false: it is none. */
bool mangled_put_base_type(struct mangled *m, const char *s, size_t n);
/* A name without its scopes, template arguments included. False, with nothing put: not understood.
 */
bool mangled_put_name(struct mangled *m, const char *s, size_t n);

/* The code of a class of namespace std that has its own, which demanglers write as std::ostream;
 * NULL: it has none. */
const char *mangled_std_class(const char *s, size_t n);

/* Where the template arguments in a name begin, or its end; angle brackets of an operator do not
 * count. */
size_t mangled_arguments_at(const char *s, size_t n);

#endif
