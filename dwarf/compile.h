/* compile.h - compiles units into parts. Private to dwarf/. */
#ifndef DWARF_COMPILE_H
#define DWARF_COMPILE_H

#include "dwarf/early.h"
#include "dwarf/hits.h"
#include "dwarf/part.h"
#include "dwarf/split.h"

/* Compiles the unit of a file of one unit; nothing of it refers to .debug_info. NULL: it looked
 * beyond, or there is no memory. */
struct dwarf_part *dwarf_compile_alone(const struct dwarf_filter *filter,
				       const struct dwarf_cu *cu);
/* Frees that; NULL is nothing. */
void dwarf_part_free(struct dwarf_part *part);

/* Fills parts[i] for units->v[i], on up to n_threads threads; the result does not depend on how
 * many, nor on what was compiled early (NULL: nothing). 0 or -ERR_NOMEM. */
int dwarf_compile_units(struct dwarf_file *f, const struct dwarf_filter *filter,
			struct dwarf_splits *splits, struct dwarf_early *early,
			const struct dwarf_jobs *units, struct dwarf_part *parts,
			unsigned n_threads);

#endif
