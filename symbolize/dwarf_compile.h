/* dwarf_compile.h - compiles units into parts. Private to symbolize/dwarf*. */
#ifndef SYMBOLIZE_DWARF_COMPILE_H
#define SYMBOLIZE_DWARF_COMPILE_H

#include "symbolize/dwarf_early.h"
#include "symbolize/dwarf_hits.h"
#include "symbolize/dwarf_part.h"
#include "symbolize/dwarf_split.h"

/* Compiles one unit: `cu` has the DIEs, `main` the line table; they differ for split units. 0 or
 * -ERR_NOMEM. */
int dwarf_compile_unit(struct dwarf_part *part, const struct dwarf_filter *filter, bool rows,
		       const struct dwarf_cu *main, const struct dwarf_cu *cu);

/* Fills parts[i] for units->v[i], on up to n_threads threads; the result does not depend on how
 * many, nor on what was compiled early (NULL: nothing). 0 or -ERR_NOMEM. */
int dwarf_compile_units(const struct dwarf_file *f, const struct dwarf_filter *filter,
			struct dwarf_splits *splits, struct dwarf_early *early,
			const struct dwarf_jobs *units, struct dwarf_part *parts,
			unsigned n_threads);

#endif
