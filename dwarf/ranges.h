/* ranges.h - the address ranges of a DIE. Private to dwarf/. */
#ifndef DWARF_RANGES_H
#define DWARF_RANGES_H

#include "dwarf/unit.h"

/* Iterates over the ranges of DW_AT_ranges, or of DW_AT_low_pc and DW_AT_high_pc. */
struct dwarf_range_iter {
	const struct dwarf_cu *cu;
	struct buf b;
	uint64_t base, lo, hi;
	enum { DWARF_ITER_DONE, DWARF_ITER_PAIR, DWARF_ITER_RANGES, DWARF_ITER_RNGLIST } mode;
	bool dead_base; /* base address of code that the linker dropped */
	uint8_t addr_size;
};

void dwarf_range_iter_init(struct dwarf_range_iter *it, const struct dwarf_cu *cu,
			   struct dwarf_value low_pc, struct dwarf_value high_pc,
			   struct dwarf_value ranges);
/* Returns false at the end, or if the list is damaged. Empty ranges are left out. *budget counts
 * the list entries that may still be read: several DIEs may share one list. */
bool dwarf_range_next(struct dwarf_range_iter *it, uint64_t *budget, uint64_t *lo, uint64_t *hi);

#endif
