/* names.h - finds the names of functions. Private to dwarf/.
 *
 * A DIE with code rarely has a name itself: it refers to an abstract instance
 * (DW_AT_abstract_origin), and that to a declaration (DW_AT_specification), perhaps in another unit
 * or file. If none of these has a linkage name, a name is made: from the scopes around the
 * declaration and, for C++ functions with known parameters, by cxx_name.h. */
#ifndef DWARF_NAMES_H
#define DWARF_NAMES_H

#include "base/arena.h"
#include "base/vec.h"
#include "dwarf/unit.h"
#include "dwarf/walk.h"

/* A namespace, class or function, by its offset in the unit. */
struct dwarf_scope {
	uint32_t off;
	uint32_t parent; /* index + 1 of the enclosing scope; 0: none */
};

struct dwarf_scopes {
	VEC(struct dwarf_scope) v; /* by offset */
};

/* Appends a scope and makes it the enclosing one of the DIEs that follow in *level. Returns 0, or
 * -1 when out of memory. */
static inline int dwarf_scopes_add(struct dwarf_scopes *s, uint64_t off, struct dwarf_level *level)
{
	if (vec_push(&s->v, (struct dwarf_scope){(uint32_t)off, level->scope}))
		return -1;
	level->scope = (uint32_t)s->v.n;
	return 0;
}

void dwarf_scopes_free(struct dwarf_scopes *s);

struct dwarf_func;

struct dwarf_namer {
	const struct dwarf_cu *cu;	   /* the unit that is compiled */
	const struct dwarf_scopes *scopes; /* its scopes */
	struct arena *strings;		   /* memory for names that are made here */
	/* private */
	struct dwarf_cu other; /* the other unit that was used last; file NULL: none */
	uint64_t budget;       /* bytes that names made here may still take */
	uint64_t steps;	       /* DIEs that may still be read for names */
	uint64_t type_steps;   /* the same for types */
};

void dwarf_namer_init(struct dwarf_namer *n, const struct dwarf_cu *cu,
		      const struct dwarf_scopes *scopes, struct arena *strings);
/* Finds the names of the function with this DIE; those that are not found stay NULL. Returns 0 or
 * -ERR_NOMEM. */
int dwarf_namer_run(struct dwarf_namer *n, struct dwarf_ref die, struct dwarf_func *ret);
/* Does a name that is not mangled have a lambda in it? */
bool dwarf_name_has_lambda(const char *name);
/* Gives a function without linkage name a name with parameters (cxx_name.h) if DWARF has them. A
 * function with code has a symbol as well: it gets such a name only if there is a lambda in its
 * name, and then also f->entry. Returns 0 or -ERR_NOMEM. */
int dwarf_namer_sign(struct dwarf_namer *n, struct dwarf_ref die, struct dwarf_func *f);

/* For cxx_name.c and die.c. dwarf_namer_cu(): the opened unit of a DIE, valid until the next call.
 * dwarf_namer_scope(): the innermost scope around a DIE that is a scope or a function. NULL (file
 * NULL): there is none, or out of memory (then *rc is -ERR_NOMEM). */
const struct dwarf_cu *dwarf_namer_cu(struct dwarf_namer *n, struct dwarf_ref die, int *rc);
struct dwarf_ref dwarf_namer_scope(struct dwarf_namer *n, struct dwarf_ref die, int *rc);

#endif
