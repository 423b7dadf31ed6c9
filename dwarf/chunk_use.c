/* chunk_use.c - counts the needed bytes of each chunk. */
#include "dwarf/chunk_use.h"

#include <stdlib.h>

/* Chunks are aligned in memory, not in the section: large pages are released as a whole. */
#define CHUNK ((uint64_t)2 << 20)

void dwarf_chunk_use_open(struct dwarf_chunk_use *s, const struct dwarf_slice *section)
{
	size_t n, i;

	*s = (struct dwarf_chunk_use){NULL, (uintptr_t)section->data % CHUNK, section->size};
	n = (size_t)((s->skew + s->size) / CHUNK + 1);
	s->left = malloc(n * sizeof *s->left);
	for (i = 0; s->left && i < n; i++) {
		uint64_t lo = i ? i * CHUNK - s->skew : 0, hi = (i + 1) * CHUNK - s->skew;

		s->left[i] = (hi < s->size ? hi : s->size) - (lo < s->size ? lo : s->size);
	}
}

void dwarf_chunk_use_close(struct dwarf_chunk_use *s)
{
	free(s->left);
	*s = (struct dwarf_chunk_use){0};
}

struct elf_range dwarf_chunk_use_chunk(const struct dwarf_chunk_use *s, uint64_t off)
{
	uint64_t i = (s->skew + off) / CHUNK;
	uint64_t hi = (i + 1) * CHUNK - s->skew;

	return (struct elf_range){i ? i * CHUNK - s->skew : 0, hi < s->size ? hi : s->size};
}

bool dwarf_chunk_use_add(struct dwarf_chunk_use *s, uint64_t start, uint64_t end)
{
	uint64_t *left = s->left ? &s->left[(s->skew + start) / CHUNK] : NULL;

	if (!left)
		return false;
	*left -= end - start;
	return !*left;
}
