/* names.h - what functions are called. Private to dwarf/.
 *
 * A DIE with code rarely has a name itself: it refers to an abstract instance
 * (DW_AT_abstract_origin), that one to a declaration (DW_AT_specification), perhaps in another unit
 * or file. Where no link says a linkage name, the name is put together: from the scopes around the
 * declaration and, for C++ whose parameters are known, by cxx_name.h. */
#ifndef DWARF_NAMES_H
#define DWARF_NAMES_H

#include "base/arena.h"
#include "base/vec.h"
#include "dwarf/unit.h"
#include "dwarf/walk.h"

/* A namespace, class or function, by its offset in the unit. */
struct dwarf_scope {
	uint32_t off;
	uint32_t parent; /* index + 1 of the scope around; 0: none */
};

struct dwarf_scopes {
	VEC(struct dwarf_scope) v; /* by offset */
};

/* Appends a scope and makes it the one around what follows in *level. 0 or -1 (out of memory). */
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
	struct arena *strings;		   /* for names put together here */
	/* private */
	struct dwarf_cu other; /* the last other unit; file NULL: none */
	uint64_t budget;       /* bytes that may still be put together */
	uint64_t steps;	       /* DIEs that may still be read for names */
	uint64_t type_steps;   /* the same for types */
};

void dwarf_namer_init(struct dwarf_namer *n, const struct dwarf_cu *cu,
		      const struct dwarf_scopes *scopes, struct arena *strings);
/* Names the function whose DIE this is. 0 or -ERR_NOMEM; what is not found stays NULL. */
int dwarf_namer_run(struct dwarf_namer *n, struct dwarf_ref die, struct dwarf_func *ret);
/* Does a name that is not mangled have a lambda in it? */
bool dwarf_name_has_lambda(const char *name);
/* Gives a function without linkage name a name with parameters (cxx_name.h) if DWARF has them.
 * One that has code has a symbol, too: only with a lambda in its name, and then where it begins. */
int dwarf_namer_sign(struct dwarf_namer *n, struct dwarf_ref die, struct dwarf_func *f);

/* For what else asks for names. The unit of a DIE, opened, until the next call; the innermost scope
 * around a DIE that is a scope or a function. NULL and file NULL: there is none, or *rc is
 * -ERR_NOMEM. */
const struct dwarf_cu *dwarf_namer_cu(struct dwarf_namer *n, struct dwarf_ref die, int *rc);
struct dwarf_ref dwarf_namer_scope(struct dwarf_namer *n, struct dwarf_ref die, int *rc);

#endif
