/* chunk_use.h - counts what is still needed of a section, in chunks as large as large pages.
 * Private to dwarf/. */
#ifndef DWARF_CHUNK_USE_H
#define DWARF_CHUNK_USE_H

#include "dwarf/file.h"

/* A zeroed one counts nothing. */
struct dwarf_chunk_use {
	uint64_t *left; /* bytes of each chunk */
	uint64_t skew, size;
};

/* Everything is needed. Without memory it counts nothing. */
void dwarf_chunk_use_open(struct dwarf_chunk_use *s, const struct dwarf_slice *section);
void dwarf_chunk_use_close(struct dwarf_chunk_use *s);
/* The chunk around an offset. */
struct elf_range dwarf_chunk_use_chunk(const struct dwarf_chunk_use *s, uint64_t off);
/* The bytes [start, end), which lie in one chunk, are not needed any more. To be called once for
 * each. Whether nothing of the chunk is. */
bool dwarf_chunk_use_add(struct dwarf_chunk_use *s, uint64_t start, uint64_t end);

#endif
