/* table_subset.h - a table of nothing but what some addresses need. Private to dwarf/.
 */
#ifndef DWARF_TABLE_SUBSET_H
#define DWARF_TABLE_SUBSET_H

#include "dwarf/table_view.h"

enum { SUBSET_FROM_MAX = 3 };

/* Fills a zeroed table, to be packed, with one byte's segment for each of n > 0 rising addresses:
 * what the first of the sources says that says anything, or PACK_NOTHING. Names are borrowed. 0 or
 * -ERR_NOMEM. */
int dwarf_table_subset(struct dwarf_table *t, const uint64_t *addrs, size_t n,
		       const struct dwarf_table_view from[SUBSET_FROM_MAX]);

#endif
