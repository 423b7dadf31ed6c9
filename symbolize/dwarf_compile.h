/* dwarf_compile.h - compiles units into parts. Private to symbolize/dwarf*. */
#ifndef SYMBOLIZE_DWARF_COMPILE_H
#define SYMBOLIZE_DWARF_COMPILE_H

#include "symbolize/dwarf_hits.h"
#include "symbolize/dwarf_part.h"
#include "symbolize/dwarf_split.h"

/* Fills parts[i] for units->v[i], on up to n_threads threads; the result does not depend on how
 * many. 0 or -ERR_NOMEM. */
int dwarf_compile_units(const struct dwarf_file *f, const struct dwarf_filter *filter,
			struct dwarf_splits *splits, const struct dwarf_jobs *units,
			struct dwarf_part *parts, unsigned n_threads);

#endif
