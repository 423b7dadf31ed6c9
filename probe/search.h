/* search.h - the search for the functions of a file that a pattern means: between find.c, which
 * searches, and not_found.c, which says why nothing was found. Private to them. */
#ifndef PROBE_SEARCH_H
#define PROBE_SEARCH_H

#include "base/err.h"
#include "base/vec.h"
#include "functions/functions.h"
#include "modules/modules.h"
#include "probe/match.h"
#include "probe/places.h"
#include "probe/probe.h"

struct symbol {
	uint64_t off;
	const char *name; /* as in the file */
};

struct search {
	struct module *mod;
	struct functab tab;
	struct pattern pattern;
	struct probe_places *ret;
	enum probe_kind kind;
	const struct func *too_short; /* a function that is meant ends before the offset */
	const struct func *chooser;   /* one that is meant returns which function is called */
	const struct func *within;    /* the offset is within an instruction of this one */
	/* Of PROBE_LEAVE: functions without an exit in their own bytes, and cold halves that have
	 * one. */
	VEC(const struct func *) endless, leaving_halves;
	VEC(struct symbol) symbols; /* of the starts of functions */
	char inlined_at[INLINED_BYTES];
};

/* Has the image a .symtab? Without one the names of functions that are not exported are missing. */
bool has_symtab(struct elf_image *img);

/* Says in *err why there is no place, from what the search noted. Returns the negative error. */
int search_not_found(struct search *s, const struct probe_spec *spec, struct err *err);

#endif
