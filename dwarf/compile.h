/* compile.h - compiles units into parts. Private to dwarf/. */
#ifndef DWARF_COMPILE_H
#define DWARF_COMPILE_H

#include "dwarf/compile_streaming.h"
#include "dwarf/unit_lookup.h"
#include "dwarf/compiled_unit.h"
#include "dwarf/split.h"

/* Compiles the unit of a file that has one unit. The result does not point into .debug_info.
 * Returns NULL if the unit refers to something beyond itself, or when out of memory. To be freed
 * with dwarf_compiled_unit_free(). */
struct dwarf_compiled_unit *dwarf_compile_alone(const struct dwarf_filter *filter,
						const struct dwarf_cu *cu);
/* NULL is ignored. */
void dwarf_compiled_unit_free(struct dwarf_compiled_unit *part);

/* Fills parts[i] for units->v[i], on up to n_threads threads. The result depends neither on the
 * number of threads nor on what was compiled while streaming (NULL: nothing). Returns 0 or
 * -ERR_NOMEM. */
int dwarf_compile_units(struct dwarf_file *f, const struct dwarf_filter *filter,
			struct dwarf_splits *splits, struct dwarf_streaming *streaming,
			const struct dwarf_jobs *units, struct dwarf_compiled_unit *parts,
			unsigned n_threads);

#endif
