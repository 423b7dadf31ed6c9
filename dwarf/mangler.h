/* mangler.h - a linkage name on its way. Private to mangle*.c: names and scopes are in
 * mangle_name.c, types and functions in mangle.c. */
#ifndef DWARF_MANGLER_H
#define DWARF_MANGLER_H

#include <string.h>

#include "dwarf/die.h"
#include "dwarf/mangle_text.h"

enum {
	MANGLER_NESTING_MAX = 48, /* types in types */
	MANGLER_SCOPES_MAX = 32,
	MANGLER_LINKS_MAX = 16, /* from a function to its declaration */
};

struct mangler {
	struct dwarf_namer *n;
	unsigned nesting;
	int rc;
	struct mangled out; /* failed: DWARF does not say enough */
};

static inline void mangler_fail(struct mangler *m)
{
	m->out.failed = true;
}

static inline void mangler_put(struct mangler *m, const char *s)
{
	mangled_put(&m->out, s);
}

static inline void mangler_put_identifier(struct mangler *m, const char *s)
{
	mangled_put_identifier(&m->out, s, strlen(s));
}

static inline bool mangler_read(struct mangler *m, struct dwarf_ref at, struct dwarf_die *d)
{
	return !m->out.failed && dwarf_die_at(m->n, at, d, &m->rc);
}

/* Children of *d, one by one. */
#define MANGLER_EACH(m, d, child)                                                                 \
	for (bool more_ = dwarf_die_child((m)->n, d, child, &(m)->rc); more_ && !(m)->out.failed; \
	     more_ = dwarf_die_next((m)->n, child, &(m)->rc))

struct mangler_scopes {
	struct dwarf_die v[MANGLER_SCOPES_MAX]; /* innermost first */
	size_t n;
	struct dwarf_ref function; /* around them all; file NULL: none */
};

/* Makes *d the declaration it refers to, which stands in the scopes that count. */
bool mangler_declaration(struct mangler *m, struct dwarf_ref at, struct dwarf_die *d);
/* Appends the scopes around a DIE. */
bool mangler_scopes(struct mangler *m, struct dwarf_ref at, struct mangler_scopes *s);
/* The beginning of a <nested-name>, or of one in a <local-name>: what is around. */
void mangler_put_scopes(struct mangler *m, const struct mangler_scopes *s, const char *qualifiers);
/* What the two outermost scopes are together, or NULL. */
const char *mangler_std_class(const struct mangler_scopes *s);
/* Template arguments below a DIE; false when there are none. */
bool mangler_put_template_arguments(struct mangler *m, const struct dwarf_die *d);
/* Where a function's template arguments and parameters, and the types made for them, are over. */
bool mangler_is_body(const struct dwarf_die *d);

/* Length of a name without its template arguments. */
static inline size_t mangler_plain_length(const char *name)
{
	return mangled_arguments_at(name, strlen(name));
}

/* Behind typedefs; of a parameter's type const and volatile do not belong to the signature. */
void mangler_put_type(struct mangler *m, struct dwarf_ref type, bool is_parameter);
void mangler_put_function(struct mangler *m, struct dwarf_ref function);

#endif
