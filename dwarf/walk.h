/* walk.h - one pass over the DIEs of a unit. Private to dwarf/.
 *
 * It visits everything, because functions with code may be in classes, in abstract functions and in
 * lexical blocks; only DIEs that cannot contain code are skipped, where DW_AT_sibling allows. */
#ifndef DWARF_WALK_H
#define DWARF_WALK_H

#include "base/vec.h"
#include "dwarf/unit.h"

/* Limit on nested scopes and code; compilers reach some hundreds. */
#define DWARF_LEVELS_MAX 4096

/* The state at the begin of a DIE's children. */
struct dwarf_level {
	size_t depth;	/* of these children; those of the root have 1 */
	uint32_t node;	/* node of the enclosing code, 0: none */
	uint32_t nodes; /* inline depth of that node */
	uint32_t group; /* number of the enclosing function with code */
	uint32_t scope; /* index + 1 of the innermost enclosing dwarf_scope, 0: none */
};

/* Called for scopes, functions and inlined functions. Must read one list of the DIE's attributes
 * from b, and change *level from the parent's to that of the children. Returns 0 or -ERR_NOMEM. */
typedef int dwarf_visit(void *arg, const struct dwarf_cu *cu, uint64_t off,
			const struct dwarf_abbrev *a, struct buf *b, struct dwarf_level *level);

/* Passes over the attributes of a DIE. Sets *children to false if its children are skipped, too. */
static inline void dwarf_pass_over(const struct dwarf_cu *cu, const struct dwarf_abbrev *a,
				   struct buf *b, bool *children)
{
	struct dwarf_value v[DWARF_SLOT_SIBLING + 1];
	uint64_t to;

	if (a->fixed_size >= 0) {
		buf_skip(b, (uint64_t)a->fixed_size);
		return;
	}
	v[DWARF_SLOT_SIBLING].form = 0;
	dwarf_die_read(cu->abbrevs, cu->unit, a, DWARF_WANT_SKIP, b, v);
	if (!v[DWARF_SLOT_SIBLING].form || !*children)
		return;
	to = dwarf_value_ref(cu, v[DWARF_SLOT_SIBLING]).off;
	if (to > buf_off(b) && to < cu->unit->end) {
		buf_seek(b, to);
		*children = false;
	}
}

/* Skips DIEs that are not wanted (most are not), with a small table that says how long each is and
 * whether it has children. Stops before any other DIE, and at the end of the innermost level. Has
 * no data-dependent branches: which kind of DIE comes next cannot be predicted. */
static inline void dwarf_skip_plain(const struct dwarf_abbrevs *t, struct buf *b, size_t *depth,
				    size_t floor)
{
	const uint8_t *p = b->p, *end = b->end;
	size_t d = *depth;

	while (p < end) {
		uint16_t step = t->plain[*p];
		size_t next = d + (step & 3) - 1;

		if (step == DWARF_PLAIN_STOP || next < floor)
			break;
		d = next;
		if ((size_t)(end - p) <= step >> 2) {
			b->bad = true;
			p = end;
			break;
		}
		p += 1 + (step >> 2);
	}
	b->p = p;
	*depth = d;
}

/* Returns 0; 1 if the unit is damaged (the DIEs before the damage were visited); -ERR_NOMEM.
 * Inlined with the visitor, because it runs for millions of DIEs. */
static inline __attribute__((always_inline)) int dwarf_walk(const struct dwarf_cu *cu,
							    dwarf_visit *visit, void *arg)
{
	struct dwarf_level *levels = malloc(DWARF_LEVELS_MAX * sizeof *levels);
	struct buf b = dwarf_cu_at(cu, cu->first_die);
	size_t depth = 1, top = 0;
	int rc = levels ? 0 : -ERR_NOMEM;

	if (levels)
		levels[0] = (struct dwarf_level){.depth = 1};
	while (!rc && buf_left(&b)) {
		const struct dwarf_abbrev *a;
		struct dwarf_level level = levels[top];
		uint64_t off, code;
		bool children;

		dwarf_skip_plain(cu->abbrevs, &b, &depth, level.depth);
		if (!buf_left(&b))
			break;
		off = buf_off(&b);
		code = buf_uleb(&b);
		if (!code) {
			if (--depth < level.depth && !top--)
				break;
			continue;
		}
		a = dwarf_abbrev_at(cu->abbrevs, code);
		if (!a) {
			rc = 1;
			break;
		}
		children = a->children;
		if (a->kind <= DWARF_KIND_LEAF) {
			dwarf_pass_over(cu, a, &b, &children);
			depth += children;
			continue;
		}
		rc = visit(arg, cu, off, a, &b, &level);
		if (!children)
			continue;
		if (++top == DWARF_LEVELS_MAX) {
			rc = 1;
			break;
		}
		level.depth = ++depth;
		levels[top] = level;
	}
	free(levels);
	return rc ? rc : !buf_ok(&b);
}

#endif
