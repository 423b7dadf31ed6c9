/* line_orphans.h - line tables that no unit refers to. Private to dwarf/.
 *
 * A line table says by itself where its code is, and nearly everything about its files: what is
 * left when .debug_info is missing (a server gave only .debug_line), cut, or damaged. */
#ifndef DWARF_LINE_ORPHANS_H
#define DWARF_LINE_ORPHANS_H

#include "base/vec.h"
#include "dwarf/unit.h"

struct dwarf_offsets {
	uint64_t *v;
	size_t n, cap;
};

/* Sets f->orphans from those tables of .debug_line whose offset is not among `taken`, which gets
 * sorted. 0 or -ERR_NOMEM. */
int dwarf_line_orphans_find(struct dwarf_file *f, struct dwarf_offsets *taken);

/* Unit number i of a file: orphans have the numbers behind the units'. */
static inline const struct dwarf_unit *dwarf_unit_number(const struct dwarf_file *f, size_t i)
{
	return i < f->n_units ? &f->units[i] : &f->orphans[i - f->n_units];
}

/* Opens unit number i. 0; 1 when its root DIE is damaged; -ERR_NOMEM. An orphan has no DIEs, and
 * cu->abbrevs is NULL. */
int dwarf_unit_open(struct dwarf_cu *cu, const struct dwarf_file *f, size_t i);

#endif
