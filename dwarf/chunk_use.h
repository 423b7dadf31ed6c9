/* chunk_use.h - counts the bytes of a section that are still needed, in chunks of the size of a
 * large page. Private to dwarf/. */
#ifndef DWARF_CHUNK_USE_H
#define DWARF_CHUNK_USE_H

#include "dwarf/file.h"

/* A zeroed struct counts nothing. */
struct dwarf_chunk_use {
	uint64_t *left; /* bytes that are still needed, per chunk */
	uint64_t skew, size;
};

/* At first all bytes are needed. When out of memory, the struct counts nothing. */
void dwarf_chunk_use_open(struct dwarf_chunk_use *s, const struct dwarf_slice *section);
void dwarf_chunk_use_close(struct dwarf_chunk_use *s);
/* The chunk that contains an offset. */
struct elf_range dwarf_chunk_use_chunk(const struct dwarf_chunk_use *s, uint64_t off);
/* Marks the bytes [start, end), which lie in one chunk, as not needed any more; to be called once
 * for each byte. Returns true when no byte of the chunk is needed any more. */
bool dwarf_chunk_use_add(struct dwarf_chunk_use *s, uint64_t start, uint64_t end);

#endif
