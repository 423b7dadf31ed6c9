/* source.h - where answers come from: what was compiled, or a file of the cache. Private to dwarf/. */
#ifndef DWARF_SOURCE_H
#define DWARF_SOURCE_H

#include "dwarf/table.h"

/* A zeroed one and a file that is closed know nothing. */
struct dwarf_source {
	struct pack_file *file;
	const struct dwarf_table *names; /* NULL: they are in the file */
};

/* The place of an address; all zero when there is none. */
static inline struct dwarf_place dwarf_source_find(struct dwarf_source s, uint64_t addr)
{
	struct dwarf_place place = {0};

	if (s.file)
		dwarf_pack_find(s.file, &addr, 1, &place);
	return place;
}

static inline struct dwarf_func dwarf_source_func(struct dwarf_source s, uint32_t id)
{
	return s.names ? s.names->funcs[id] : dwarf_pack_func(s.file, id);
}

static inline const char *dwarf_source_path(struct dwarf_source s, uint32_t id)
{
	return s.names ? s.names->files.v[id] : dwarf_pack_path(s.file, id);
}

#endif
