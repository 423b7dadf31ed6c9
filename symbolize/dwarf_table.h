/* dwarf_table.h - the parts of all units in one sorted table. Private to symbolize/dwarf*. */
#ifndef SYMBOLIZE_DWARF_TABLE_H
#define SYMBOLIZE_DWARF_TABLE_H

#include "symbolize/dwarf.h"
#include "symbolize/dwarf_part.h"

/* What is at a segment. Ids count from 1; 0: unknown. */
struct dwarf_place {
	uint32_t node, file, line;
};

static inline bool dwarf_place_is_empty(struct dwarf_place p)
{
	return !p.node && !p.file && !p.line;
}

struct dwarf_table {
	/* Segments: from addrs[i] up to addrs[i + 1] there is places[i]. The last is empty. */
	uint64_t *addrs;
	struct dwarf_place *places;
	size_t n;
	struct dwarf_node *nodes;
	size_t n_nodes, n_funcs;
	struct dwarf_func *funcs;
	VEC(const char *) files;
	/* pages[i]: segments that begin before addrs[0] + (i << shift) */
	uint32_t *pages;
	size_t n_pages;
	unsigned shift;
};

/* Fills a zeroed table. Where parts overlap, functions win over bare lines, and earlier units over
 * later ones. Empties the parts except for the names, which the table refers to. 0 or -ERR_NOMEM.
 */
int dwarf_table_build(struct dwarf_table *t, struct dwarf_part *parts, size_t n);
/* Makes the pages, about one per segment. The addresses rise. 0 or -ERR_NOMEM. */
int dwarf_table_index(struct dwarf_table *t);
void dwarf_table_done(struct dwarf_table *t);

/* The places of n addresses, of a table that has segments; all zero when there is none. */
void dwarf_table_find(const struct dwarf_table *t, const uint64_t *addrs, size_t n,
		      struct dwarf_place *ret);
/* Writes the levels [skip, skip + max) of the chain from a node on; how many levels it has. `at` is
 * where the innermost is executing. */
size_t dwarf_table_chain(const struct dwarf_table *t, uint32_t id, struct dwarf_at at, size_t skip,
			 struct dwarf_at *chain, size_t max);

#endif
