/* filter.h - which addresses can be code, and which are wanted. Private to dwarf/. */
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

/* Can code begin at lo? Cuts *hi to the end of its section. Functions that the linker dropped have
 * ranges that begin at zero or at another address without code. */
bool dwarf_filter_code(const struct dwarf_filter *f, uint64_t lo, uint64_t *hi);
/* Index of the first wanted address >= addr. */
size_t dwarf_filter_first(const struct dwarf_filter *f, uint64_t addr);
/* Is some wanted address in [lo, hi)? */
static inline bool dwarf_filter_wants(const struct dwarf_filter *f, uint64_t lo, uint64_t hi)
{
	size_t i;

	if (!f->addrs)
		return true;
	i = dwarf_filter_first(f, lo);
	return i < f->n && f->addrs[i] < hi;
}

#endif
