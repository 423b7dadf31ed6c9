/* dwarf_names.h - what functions are called. Private to symbolize/dwarf*.
 *
 * A DIE with code rarely has a name itself: it refers to an abstract instance
 * (DW_AT_abstract_origin), that one to a declaration (DW_AT_specification), perhaps in another unit
 * or file. Where no link says a linkage name, the name is put together from the scopes around the
 * declaration. */
#ifndef SYMBOLIZE_DWARF_NAMES_H
#define SYMBOLIZE_DWARF_NAMES_H

#include "base/arena.h"
#include "base/vec.h"
#include "symbolize/dwarf_unit.h"
#include "symbolize/dwarf_walk.h"

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
	uint64_t steps;	       /* DIEs that may still be read */
};

void dwarf_namer_init(struct dwarf_namer *n, const struct dwarf_cu *cu,
		      const struct dwarf_scopes *scopes, struct arena *strings);
/* Names the function whose DIE this is. 0 or -ERR_NOMEM; what is not found stays NULL. */
int dwarf_namer_run(struct dwarf_namer *n, struct dwarf_ref die, struct dwarf_func *ret);

#endif
