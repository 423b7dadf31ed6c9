/* functab.h - a table of functions by address, whatever they come from. Private to symbolize/.
 *
 * Fill with functab_add() in any order, functab_finish() once, then look up from any thread. Names
 * are borrowed: they live in the source's bytes or in the table's arena.
 */
#ifndef SYMBOLIZE_FUNCTAB_H
#define SYMBOLIZE_FUNCTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

enum func_flags {
	FUNC_WEAK = 1,
	FUNC_GLOBAL = 2,
	FUNC_SIZELESS = 4, /* size unknown: reaches to the next start, at most to `end` */
};

#define FUNC_TAG_MAX ((1u << 28) - 1)

struct func {
	uint64_t start;
	uint64_t end; /* one past the last byte */
	const char *name;
	uint32_t flags : 4; /* enum func_flags */
	uint32_t tag : 28;  /* the owner's: module of kallsyms, record of a JIT map */
};

/* All functions that start at one address. */
struct func_group {
	uint64_t start;
	uint32_t first; /* in funcs; the next group's first ends it */
	uint32_t outer; /* innermost earlier group that is still open here; FUNC_NONE */
};

#define FUNC_NONE UINT32_MAX

/* A zeroed table is empty and can be filled. */
struct functab {
	VEC(struct func) funcs;
	VEC(struct func_group) groups;
	struct arena names;
	/* Of overlapping functions the one with the highest tag counts; added by rising tag, all
	 * with a size (JIT code). */
	bool latest_wins;
};

/* A function of no length (start == end) is ignored. 0, or -1 when out of memory. */
int functab_add(struct functab *t, const struct func *f);
/* Sorts. 0, or -1 when out of memory. */
int functab_finish(struct functab *t);
void functab_done(struct functab *t);

/* Where the last lookup ended: rising addresses are found in a few steps. Zeroed to start. */
struct func_cursor {
	size_t group;
};

/* The function at addr, or NULL. Among functions with the same start perf's choice is made: known
 * size, then non-weak, global, fewer leading underscores, longer name, first added; among those
 * without size the last added. Of nested functions the innermost counts; a function of unknown size
 * only where no sized one is. */
const struct func *functab_find(const struct functab *t, uint64_t addr, struct func_cursor *cursor);
/* The same among functions whose tag is below `limit`; for tables where the latest wins: as they
 * were then. */
const struct func *functab_find_before(const struct functab *t, uint64_t addr, uint32_t limit,
				       struct func_cursor *cursor);
/* For tables where the latest wins: of those whose tag is at the limit or above, the first. */
const struct func *functab_find_next(const struct functab *t, uint64_t addr, uint32_t limit,
				     struct func_cursor *cursor);
/* The functions that cover addr, the innermost groups first, at most max. Returns how many. */
size_t functab_covering(const struct functab *t, uint64_t addr, const struct func **found,
			size_t max);
/* The functions that are the same bytes as f, f among them, at most max. Returns how many. */
size_t functab_twins(const struct functab *t, const struct func *f, const struct func **twins,
		     size_t max);

#endif
