/* packed.h - reads the bytes of a packed table. Private to packed*.c and pack_strings.c. */
#ifndef DWARF_PACKED_H
#define DWARF_PACKED_H

#include <endian.h>

#include "dwarf/pack.h"

/* Masks of numbers by their size in bytes; a larger size in a file is read as 4. */
extern const uint32_t pack_masks[8];

/* Checks the sums of those of the blocks [first, last] that were not checked before. Returns false
 * if one is damaged (then f->damaged is set). */
bool pack_check_blocks(struct pack_file *f, uint64_t first, uint64_t last);

/* Do n > 0 bytes of the body, which are in a part, match their checksums? */
static inline bool pack_is_good(struct pack_file *f, uint64_t off, uint64_t n)
{
	uint64_t first = off / PACK_BLOCK, last = (off + n - 1) / PACK_BLOCK;

	return (last - first <= 1 && f->good[first] & f->good[last]) ||
	       pack_check_blocks(f, first, last);
}

/* Reads a number, least significant byte first; reads 4 bytes, at most PACK_PAD beyond the part. */
static inline uint32_t pack_number(const uint8_t *p, uint32_t mask)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return le32toh(v) & mask;
}

/* Reads bits from bit number `bit` on; the lowest PACK_BITS_MAX are valid. Reads 8 bytes, at most
 * PACK_PAD beyond the part. */
static inline uint64_t pack_bits(const uint8_t *p, uint64_t bit)
{
	uint64_t v;

	memcpy(&v, p + bit / 8, sizeof v);
	return le64toh(v) >> bit % 8;
}

static inline uint64_t pack_bit_mask(unsigned bits)
{
	return (1ull << bits) - 1;
}

/* Row i of a part whose rows are whole bytes; NULL if there is none. */
static inline const uint8_t *pack_row(struct pack_file *f, enum pack_part part, uint32_t i)
{
	const struct pack_rows *r = &f->rows[part];
	uint64_t off = r->off + (uint64_t)i * r->stride;

	if (i >= r->n)
		f->damaged = true;
	else if (pack_is_good(f, off, r->stride))
		return f->body + off;
	return NULL;
}

static inline uint32_t pack_column(const struct pack_file *f, enum pack_part part,
				   const uint8_t *row, unsigned k)
{
	return pack_number(row + f->rows[part].at[k], f->rows[part].mask[k]);
}

#endif
