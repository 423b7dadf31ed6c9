/* table_subset.h - makes a table with only what some addresses need. Private to dwarf/. */
#ifndef DWARF_TABLE_SUBSET_H
#define DWARF_TABLE_SUBSET_H

#include "dwarf/table.h"

/* A source of answers: the compiled table, or a cache file. A zeroed view and one of a closed file
 * know nothing. */
struct dwarf_table_view {
	struct pack_file *file;
	const struct dwarf_table *names; /* NULL: names are in the file */
};

/* The place of an address; all zero when there is none. */
static inline struct dwarf_place dwarf_table_view_find(struct dwarf_table_view s, uint64_t addr)
{
	struct dwarf_place place = {0};

	if (s.file)
		dwarf_pack_find(s.file, &addr, 1, &place);
	return place;
}

static inline struct dwarf_func dwarf_table_view_func(struct dwarf_table_view s, uint32_t id)
{
	return s.names ? s.names->funcs[id] : dwarf_pack_func(s.file, id);
}

static inline const char *dwarf_table_view_path(struct dwarf_table_view s, uint32_t id)
{
	return s.names ? s.names->files.v[id] : dwarf_pack_path(s.file, id);
}

enum { SUBSET_FROM_MAX = 3 };

/* Fills a zeroed table, to be packed, with a segment of one byte for each of n > 0 rising
 * addresses: the place that the first source with an answer has, else PACK_NOTHING. Names are
 * borrowed. Returns 0 or -ERR_NOMEM. */
int dwarf_table_subset(struct dwarf_table *t, const uint64_t *addrs, size_t n,
		       const struct dwarf_table_view from[SUBSET_FROM_MAX]);

#endif
