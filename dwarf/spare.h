/* spare.h - counts what is still needed of a section, in chunks as large as large pages.
 * Private to dwarf/. */
#ifndef DWARF_SPARE_H
#define DWARF_SPARE_H

#include "dwarf/file.h"

/* A zeroed one counts nothing. */
struct dwarf_spare {
	uint64_t *left; /* bytes of each chunk */
	uint64_t skew, size;
};

/* Everything is needed. Without memory it counts nothing. */
void dwarf_spare_open(struct dwarf_spare *s, const struct dwarf_slice *section);
void dwarf_spare_close(struct dwarf_spare *s);
/* The chunk around an offset. */
struct elf_range dwarf_spare_chunk(const struct dwarf_spare *s, uint64_t off);
/* The bytes [start, end), which lie in one chunk, are not needed any more. Each is to be told once.
 * Whether nothing of the chunk is. */
bool dwarf_spare_add(struct dwarf_spare *s, uint64_t start, uint64_t end);

#endif
