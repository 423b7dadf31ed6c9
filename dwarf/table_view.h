/* table_view.h - where answers come from: what was compiled, or a file of the cache. Private to
 * dwarf/. */
#ifndef DWARF_TABLE_VIEW_H
#define DWARF_TABLE_VIEW_H

#include "dwarf/table.h"

/* A zeroed one and a file that is closed know nothing. */
struct dwarf_table_view {
	struct pack_file *file;
	const struct dwarf_table *names; /* NULL: they are in the file */
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

#endif
