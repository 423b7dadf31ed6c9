/* unit_encode.h - nodes and segments of a compiled unit as bytes: differences, LEB128. Private to
 * dwarf/.
 *
 * Many units wait for the last one to be compiled, and then for the table: as differences they take
 * a quarter of the memory. What is written is what a packed table has too (pack.h):
 * nodes counted from their function, lines from where their function is declared, files only where
 * they are not the function's. */
#ifndef DWARF_UNIT_ENCODE_H
#define DWARF_UNIT_ENCODE_H

#include "dwarf/compiled_unit.h"

/* Names and lines of the functions are known. Chooses their files. 0 or -ERR_NOMEM. */
int dwarf_unit_encode(struct dwarf_compiled_unit *p);

/* Reads numbers that were written here, so none is checked. */
static inline uint64_t dwarf_encoded_number(const uint8_t **p)
{
	uint64_t v = *(*p)++;
	unsigned shift = 7;

	for (v &= 0x7f; (*p)[-1] & 0x80; shift += 7)
		v |= (uint64_t)(*(*p)++ & 0x7f) << shift;
	return v;
}

static inline uint32_t dwarf_zigzag32(uint32_t v)
{
	return v << 1 ^ (0u - (v >> 31));
}

static inline uint32_t dwarf_unzigzag32(uint32_t v)
{
	return v >> 1 ^ (0u - (v & 1));
}

/* The next segment of a block, of which there is one more. Moves the block's begin to it: off is
 * 0. seg->node counts the nodes of the function from 1; 0: none. */
void dwarf_encoded_seg(const struct dwarf_compiled_unit *p, struct dwarf_block *b,
		       struct dwarf_seg *seg);
/* Where it begins. */
static inline uint64_t dwarf_encoded_begin(const struct dwarf_compiled_unit *p,
					   const struct dwarf_block *b)
{
	const uint8_t *at = &p->seg_bytes.v[b->first];

	return b->lo + (dwarf_encoded_number(&at) >> 2);
}

/* The next node of a function; *at begins at that of the function itself. n->parent is the distance
 * to it, 0 for the function. */
void dwarf_encoded_node(const uint8_t **at, struct dwarf_node *n);

#endif
