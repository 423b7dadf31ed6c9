/* dwarf_source.h - where answers come from: what was compiled, or a file of the cache. Private to
 * symbolize/dwarf*. */
#ifndef SYMBOLIZE_DWARF_SOURCE_H
#define SYMBOLIZE_DWARF_SOURCE_H

#include "symbolize/dwarf_pack.h"

/* One of the two is set; a zeroed one and a file that is closed know nothing. */
struct dwarf_source {
	const struct dwarf_table *table;
	struct pack_file *file;
};

/* The place of an address; all zero when there is none. */
static inline struct dwarf_place dwarf_source_find(struct dwarf_source s, uint64_t addr)
{
	struct dwarf_place place = {0};

	if (s.file)
		dwarf_pack_find(s.file, &addr, 1, &place);
	else if (s.table && s.table->n)
		dwarf_table_find(s.table, &addr, 1, &place);
	return place;
}

static inline struct dwarf_node dwarf_source_node(struct dwarf_source s, uint32_t id)
{
	return s.file ? dwarf_pack_node(s.file, id) : s.table->nodes[id];
}

/* As dwarf_table_chain(). */
static inline size_t dwarf_source_chain(struct dwarf_source s, uint32_t id, struct dwarf_at at,
					size_t skip, struct dwarf_at *chain, size_t max)
{
	return s.file ? dwarf_pack_chain(s.file, id, at, skip, chain, max)
		      : dwarf_table_chain(s.table, id, at, skip, chain, max);
}

static inline struct dwarf_func dwarf_source_func(struct dwarf_source s, uint32_t id)
{
	return s.file ? dwarf_pack_func(s.file, id) : s.table->funcs[id];
}

static inline const char *dwarf_source_path(struct dwarf_source s, uint32_t id)
{
	return s.file ? dwarf_pack_path(s.file, id) : s.table->files.v[id];
}

#endif
