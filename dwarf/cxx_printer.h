/* cxx_printer.h - between cxx_name.c, which prints functions and scopes, and cxx_type.c, which
 * prints types. They call each other: functions have parameters, and a class can be inside of a
 * function.
 *
 * All of these write at the end of p->out. What DWARF does not say, and what is too long or nested
 * too deep, sets p->out.failed; a file that cannot be read, and no memory, also p->rc. The caller
 * looks at both when all is written. */
#ifndef DWARF_CXX_PRINTER_H
#define DWARF_CXX_PRINTER_H

#include "dwarf/cxx_spelling.h"
#include "dwarf/die.h"
#include "dwarf/names.h"

enum {
	NESTING_MAX = 48, /* limit on types in types */
	/* Limit on typedefs and qualifiers of a type, and on links from a function to its
	 * declaration. */
	LINKS_MAX = 16,
};

struct cxx_printer {
	struct dwarf_namer *n;
	unsigned nesting;
	int rc;		     /* 0, or negative: the error of reading a DIE */
	struct cxx_text out; /* failed, too, if DWARF does not say enough */
};

/* Iterates over the children of *d. */
#define EACH_CHILD(p, d, child)                                                                   \
	for (bool more_ = dwarf_die_child((p)->n, d, child, &(p)->rc); more_ && !(p)->out.failed; \
	     more_ = dwarf_die_next((p)->n, child, &(p)->rc))

/* Returns false, without reading, if something failed before. */
bool cxx_read_die(struct cxx_printer *p, struct dwarf_ref at, struct dwarf_die *d);

/* Sets *d to the declaration that `at` refers to, which is in the scopes of the name. Its name and
 * linkage name are the first ones on the way. */
bool cxx_declaration(struct cxx_printer *p, struct dwarf_ref at, struct dwarf_die *d);

/* Writes a namespace, class, enumeration or function without the scopes around it, except that a
 * function has them. */
void cxx_put_scope(struct cxx_printer *p, const struct dwarf_die *d);
/* Writes the scopes around a DIE, each followed by "::". */
void cxx_put_scopes(struct cxx_printer *p, struct dwarf_ref at);

/* Writes the types of a function's parameters, in parentheses. */
void cxx_put_parameters(struct cxx_printer *p, const struct dwarf_die *d);
/* Writes the qualifiers of a member function: const and volatile of what `this` points to, & and
 * &&. */
void cxx_put_method_qualifiers(struct cxx_printer *p, const struct dwarf_die *d);

/* A type without its typedefs and qualifiers. */
struct cxx_bare_type {
	struct dwarf_die d;
	const char *alias; /* the last typedef; NULL: none */
	bool is_const, is_volatile;
};

/* Sets *t to the bare type; without a type it is void. */
void cxx_find_bare(struct cxx_printer *p, struct dwarf_ref type, struct cxx_bare_type *t);

/* Writes the part of a type that comes before the name of a variable. */
void cxx_put_before(struct cxx_printer *p, const struct cxx_bare_type *t);
/* Writes the part of a type that comes after the name of a variable. */
void cxx_put_after(struct cxx_printer *p, const struct cxx_bare_type *t);
/* Writes both. const and volatile of a parameter are not part of the signature. */
void cxx_put_type(struct cxx_printer *p, struct dwarf_ref type, bool is_parameter);

#endif
