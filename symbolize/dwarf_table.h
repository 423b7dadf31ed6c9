/* dwarf_table.h - the parts of all units in one sorted table. Private to symbolize/dwarf*. */
#ifndef SYMBOLIZE_DWARF_TABLE_H
#define SYMBOLIZE_DWARF_TABLE_H

#include "symbolize/dwarf_part.h"

/* What is at a segment. Ids count from 1; 0: unknown. */
struct dwarf_place {
	uint32_t node, file, line;
};

struct dwarf_table {
	/* Segments: from addrs[i] up to addrs[i + 1] there is places[i]. The last is empty. */
	VEC(uint64_t) addrs;
	VEC(struct dwarf_place) places;
	VEC(struct dwarf_node) nodes;
	VEC(struct dwarf_func) funcs;
	VEC(const char *) files;
	/* pages[i]: segments that begin before addrs[0] + (i << shift) */
	uint32_t *pages;
	size_t n_pages;
	unsigned shift;
};

/* Replaces *t. Where parts overlap, functions win over bare lines, and earlier units over later
 * ones. The names are not copied. 0 or -ERR_NOMEM. */
int dwarf_table_build(struct dwarf_table *t, const struct dwarf_part *parts, size_t n);
void dwarf_table_done(struct dwarf_table *t);

/* The place of an address; all zero when there is none. */
struct dwarf_place dwarf_table_find(const struct dwarf_table *t, uint64_t addr);

#endif
