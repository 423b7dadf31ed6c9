/* filter.h - which addresses can be code, and which are asked for. Private to dwarf/.
 */
#ifndef DWARF_FILTER_H
#define DWARF_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modules/modules.h"

struct dwarf_region {
	uint64_t lo, hi;
};

struct dwarf_filter {
	const uint64_t *addrs; /* sorted; NULL: every address is wanted */
	size_t n;
	struct dwarf_region *code; /* executable sections: sorted, disjoint */
	size_t n_code;
};

/* 0 or -ERR_NOMEM. A zeroed filter is closed. */
int dwarf_filter_open(struct dwarf_filter *f, struct elf_image *img, const uint64_t *addrs,
		      size_t n);
void dwarf_filter_close(struct dwarf_filter *f);

/* Whether code can begin at lo; *hi is cut to the end of its section. Ranges of functions that the
 * linker dropped begin at zero or somewhere else where no code is. */
bool dwarf_filter_code(const struct dwarf_filter *f, uint64_t lo, uint64_t *hi);
/* Index of the first wanted address >= addr. */
size_t dwarf_filter_first(const struct dwarf_filter *f, uint64_t addr);
/* Whether some wanted address is in [lo, hi). */
static inline bool dwarf_filter_wants(const struct dwarf_filter *f, uint64_t lo, uint64_t hi)
{
	size_t i;

	if (!f->addrs)
		return true;
	i = dwarf_filter_first(f, lo);
	return i < f->n && f->addrs[i] < hi;
}

#endif
