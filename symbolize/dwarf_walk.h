/* dwarf_walk.h - one pass over the DIEs of a unit. Private to symbolize/dwarf*.
 *
 * Everything is walked through, since functions with code stand in classes, in abstract functions
 * and in lexical blocks; only what cannot hold code is jumped over where DW_AT_sibling allows. */
#ifndef SYMBOLIZE_DWARF_WALK_H
#define SYMBOLIZE_DWARF_WALK_H

#include "base/vec.h"
#include "symbolize/dwarf_unit.h"

/* Nesting of DIEs; compilers reach some hundreds. */
#define DWARF_DEPTH_MAX 4096

/* What is known where the children of a DIE begin. */
struct dwarf_level {
	uint32_t node;	/* inline node of the code around, 0: none */
	uint32_t depth; /* of that node */
	uint32_t group; /* number of the function with code around */
	uint32_t scope; /* innermost dwarf_scope around + 1, 0: none */
};

/* Called for scopes, functions and inlined functions; reads one list of attributes of the DIE from
 * b. *level is the parent's and becomes that of the children. 0 or -ERR_NOMEM. */
typedef int dwarf_visit(void *arg, const struct dwarf_cu *cu, uint64_t off,
			const struct dwarf_abbrev *a, struct buf *b, struct dwarf_level *level);

static inline void dwarf_pass_over(const struct dwarf_cu *cu, const struct dwarf_abbrev *a,
				   struct buf *b, bool *jumped)
{
	struct dwarf_value v[DWARF_SLOT_SIBLING + 1];
	uint64_t to;

	v[DWARF_SLOT_SIBLING].form = 0;
	dwarf_die_read(cu->abbrevs, cu->unit, a, DWARF_WANT_SKIP, b, v);
	if (!v[DWARF_SLOT_SIBLING].form || !a->children)
		return;
	to = dwarf_value_ref(cu, v[DWARF_SLOT_SIBLING]).off;
	if (to > buf_off(b) && to < cu->unit->end) {
		buf_seek(b, to);
		*jumped = true;
	}
}

/* 0; 1 when the unit is damaged (what came before was visited); -ERR_NOMEM. Inlined with the
 * visitor: millions of DIEs go through here. */
static inline __attribute__((always_inline)) int dwarf_walk(const struct dwarf_cu *cu,
							    dwarf_visit *visit, void *arg)
{
	struct dwarf_level *levels = malloc(DWARF_DEPTH_MAX * sizeof *levels);
	struct buf b = dwarf_cu_at(cu, cu->first_die);
	size_t depth = 0;
	int rc = levels ? 0 : -ERR_NOMEM;

	if (levels)
		levels[0] = (struct dwarf_level){0};
	while (!rc && buf_left(&b)) {
		uint64_t off = buf_off(&b), code = buf_uleb(&b);
		const struct dwarf_abbrev *a;
		struct dwarf_level level;
		bool jumped = false;

		if (!code) {
			if (!depth--)
				break;
			continue;
		}
		a = dwarf_abbrev_at(cu->abbrevs, code);
		if (!a) {
			rc = 1;
			break;
		}
		level = levels[depth];
		if (a->kind == DWARF_KIND_OTHER || a->kind == DWARF_KIND_LEAF)
			dwarf_pass_over(cu, a, &b, &jumped);
		else
			rc = visit(arg, cu, off, a, &b, &level);
		if (!rc && !buf_ok(&b))
			rc = 1;
		if (!a->children || jumped)
			continue;
		if (++depth == DWARF_DEPTH_MAX)
			rc = 1;
		else
			levels[depth] = level;
	}
	free(levels);
	return rc;
}

#endif
