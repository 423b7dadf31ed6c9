/* aranges.h - reads .debug_aranges (DWARF5 6.1.2). Private to dwarf/. */
#ifndef DWARF_ARANGES_H
#define DWARF_ARANGES_H

#include "dwarf/file.h"

/* The ranges of one unit. */
struct dwarf_aranges {
	uint64_t info_off; /* of the unit, as far as the set is to be believed */
	uint8_t addr_size;
	struct buf pairs;
};

/* The next set of the section. False: there is none. */
bool dwarf_aranges_next(struct buf *section, struct dwarf_aranges *ret);
/* The next range of a set that is not empty. False: there is none. */
bool dwarf_arange_next(struct dwarf_aranges *set, uint64_t *lo, uint64_t *hi);

#endif
