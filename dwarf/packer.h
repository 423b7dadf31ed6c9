/* packer.h - writes segments and nodes in the form of packed tables (pack.h). Private to dwarf/. */
#ifndef DWARF_PACKER_H
#define DWARF_PACKER_H

#include <endian.h>

#include "dwarf/pack.h"

/* Parts follow one another in `out`, aligned and padded. `body` is the offset of the body in `out`.
 */
int pack_begin(struct pack_bytes *out, size_t body, struct pack_part_at *part);
int pack_end(struct pack_bytes *out, size_t body, struct pack_part_at *part);
/* All return 0 or -ERR_NOMEM. */
int pack_put(struct pack_bytes *out, const void *bytes, size_t n);
/* Writes a whole part of n rows of `columns` numbers. */
int pack_put_rows(struct pack_bytes *out, size_t body, struct pack_part_at *part,
		  const uint32_t *rows, size_t n, unsigned columns);

static inline unsigned pack_byte_width(uint64_t v)
{
	return v ? (71u - (unsigned)__builtin_clzll(v)) / 8 : 0;
}

static inline unsigned pack_bit_width(uint64_t v)
{
	return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}

/* Appends a row of up to PACK_BITS_MAX bits to *bits, which holds the less than 8 bits that do not
 * fill a byte yet. Writes whole bytes to `to`, where 8 bytes may be overwritten. Returns where the
 * next row is to be written; the incomplete byte is there already. */
static inline uint8_t *pack_put_bits(uint8_t *to, uint64_t *bits, unsigned *n_bits, uint64_t row,
				     unsigned width)
{
	uint64_t le;

	*bits |= row << *n_bits;
	*n_bits += width;
	le = htole64(*bits);
	memcpy(to, &le, sizeof le);
	to += *n_bits / 8;
	/* Two shifts, because one by 64 is undefined. */
	*bits = *bits >> (*n_bits / 8 * 4) >> (*n_bits / 8 * 4);
	*n_bits %= 8;
	return to;
}

/* Bytes of an offset in a page. */
static inline unsigned pack_offset_bytes(uint64_t shift)
{
	return (unsigned)((shift + 7) / 8);
}

/* ---- segments ---------------------------------------------------------------------------- */

struct pack_seg {
	uint64_t off; /* in the page */
	struct dwarf_place at;
};

struct segs_writer {
	struct pack_bytes *out;
	size_t body;
	struct pack_header *h; /* receives the parts, base and shift */
	size_t n;	       /* segments so far */
	/* private */
	struct {
		uint32_t *v;
		size_t n, cap;
	} pages;
	struct {
		struct pack_seg *v;
		size_t n, cap;
	} page;
	struct dwarf_place last;
};

/* Prepares for about n segments in [base, end). */
void segs_writer_init(struct segs_writer *w, struct pack_bytes *out, size_t body,
		      struct pack_header *h, uint64_t base, uint64_t end, size_t n);
/* Adds the place from addr up to the next address. Addresses rise, the first is base; the last
 * place should be empty. A place equal to the one before is left out. Returns 0 or -ERR_NOMEM. */
int segs_writer_add(struct segs_writer *w, uint64_t addr, struct dwarf_place place);
int segs_writer_end(struct segs_writer *w);
void segs_writer_done(struct segs_writer *w);

/* ---- nodes ------------------------------------------------------------------------------- */

/* All nodes are counted first, then written in a second pass. */
struct nodes_writer {
	struct pack_bytes *out;
	size_t body;
	struct pack_header *h; /* receives the parts */
	/* private */
	size_t up_widths[33], line_widths[33]; /* [i]: how many nodes need i bits */
	uint32_t func_max;
	size_t n, n_files;
	unsigned width[3], n_bits;
	uint64_t bits;
	struct {
		uint32_t *v;
		size_t n, cap;
	} odd;
};

/* n->parent is the distance to the parent. */
void nodes_writer_count(struct nodes_writer *w, const struct dwarf_node *n);
/* To be called between counting and writing, which is then done for nodes [1, n] in order. Returns
 * 0 or -ERR_NOMEM. */
int nodes_writer_begin(struct nodes_writer *w);
int nodes_writer_add(struct nodes_writer *w, const struct dwarf_node *n);
int nodes_writer_end(struct nodes_writer *w);
void nodes_writer_done(struct nodes_writer *w);

#endif
