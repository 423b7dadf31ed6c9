/* line_orphans.h - line tables that no unit refers to. Private to dwarf/.
 *
 * A line table itself says where its code is, and nearly everything about its files. It is what is
 * left if .debug_info is missing (a server sent only .debug_line), cut off, or damaged. */
#ifndef DWARF_LINE_ORPHANS_H
#define DWARF_LINE_ORPHANS_H

#include "base/vec.h"
#include "dwarf/unit.h"

struct dwarf_offsets {
	uint64_t *v;
	size_t n, cap;
};

/* Sets f->orphans to the tables of .debug_line whose offset is not in `taken`, which is sorted
 * here. Returns 0 or -ERR_NOMEM. */
int dwarf_line_orphans_find(struct dwarf_file *f, struct dwarf_offsets *taken);

/* Unit number i of a file: first the units, then the orphans. */
static inline const struct dwarf_unit *dwarf_unit_number(const struct dwarf_file *f, size_t i)
{
	return i < f->n_units ? &f->units[i] : &f->orphans[i - f->n_units];
}

/* Opens unit number i. An orphan has no DIEs, and cu->abbrevs is NULL. Returns 0; 1 if the root DIE
 * is damaged; -ERR_NOMEM. */
int dwarf_unit_open(struct dwarf_cu *cu, const struct dwarf_file *f, size_t i);

#endif
