/* unit_encode.h - encodes nodes and segments of a compiled unit as bytes: differences in LEB128.
 * Private to dwarf/.
 *
 * Compiled units wait until the last unit is compiled, and then for the table; as differences they
 * take a quarter of the memory. The numbers are those of a packed table (pack.h): nodes relative to
 * their function, lines relative to the declaration of their function, files only if they are not
 * the function's. */
#ifndef DWARF_UNIT_ENCODE_H
#define DWARF_UNIT_ENCODE_H

#include "dwarf/compiled_unit.h"

/* Names and lines of the functions must be known. Chooses their files. Returns 0 or -ERR_NOMEM. */
int dwarf_unit_encode(struct dwarf_compiled_unit *p);

/* Reads a number that was encoded here, and so needs no checks. */
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

/* Decodes the next segment of a block, which must have one more. Moves the block's begin to it, so
 * seg->off is 0. seg->node counts the nodes of the function from 1; 0: none. */
void dwarf_encoded_seg(const struct dwarf_compiled_unit *p, struct dwarf_block *b,
		       struct dwarf_seg *seg);
/* The address of the next segment. */
static inline uint64_t dwarf_encoded_begin(const struct dwarf_compiled_unit *p,
					   const struct dwarf_block *b)
{
	const uint8_t *at = &p->seg_bytes.v[b->first];

	return b->lo + (dwarf_encoded_number(&at) >> 2);
}

/* Decodes the next node of a function; *at begins at the node of the function itself. n->parent is
 * the distance to the parent, 0 for the function. */
void dwarf_encoded_node(const uint8_t **at, struct dwarf_node *n);

#endif
