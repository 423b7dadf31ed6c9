/* packed_segs.c - finds the segment at an address in a packed table. */
#include "base/err.h"
#include "base/vec.h"
#include "dwarf/packed.h"
#include "dwarf/unit_encode.h"

/* Up to this many segments are searched linearly. */
enum { COUNTED = 48 };

struct page {
	const uint8_t *offsets; /* offsets of the segments from the second on; NULL: damaged */
	const uint8_t *rows;
	uint64_t odd_off; /* offset of the odd rows in the part */
	uint32_t base, n;
	uint16_t bits, odd_bytes;
};

static inline unsigned node_bits(const struct page *page)
{
	return page->bits & 31;
}

static inline unsigned line_bits(const struct page *page)
{
	return page->bits >> 5 & 31;
}

static inline unsigned file_bits(const struct page *page)
{
	return page->bits >> 10 & 15;
}

static inline unsigned row_bits(const struct page *page)
{
	return node_bits(page) + line_bits(page) + file_bits(page);
}

static inline unsigned offset_bytes(const struct pack_file *f)
{
	return (unsigned)(f->h.shift + 7) / 8;
}

/* Opens a page. Whatever its head says, its numbers are within the part. n is checked only by that:
 * if n is 0, the bits after the head are read as a first segment. */
static inline __attribute__((always_inline)) struct page open_page(struct pack_file *f, uint32_t i)
{
	const struct pack_part_at *segs = &f->h.part[PACK_SEGS];
	const uint8_t *row = pack_row(f, PACK_PAGES, i);
	struct page page = {.offsets = NULL};
	const uint8_t *head, *offsets;
	struct pack_page h;
	uint64_t off, n_bytes;

	if (!row)
		return page;
	off = pack_column(f, PACK_PAGES, row, 0);
	if (off + sizeof h > segs->size) {
		f->damaged = true;
		return page;
	}
	/* The head is checked together with the data after it whose size it says. */
	head = f->body + segs->off + off;
	memcpy(&h, head, sizeof h);
	offsets = head + sizeof h;
	page.base = h.node;
	page.n = h.n;
	page.bits = h.bits;
	page.odd_bytes = h.odd_bytes;
	if (h.n == PACK_PAGE_MANY) {
		page.n = pack_number(offsets, UINT32_MAX);
		offsets += sizeof page.n;
	}
	page.rows = offsets + (uint64_t)(page.n - (page.n > 0)) * offset_bytes(f);
	n_bytes = (uint64_t)(page.rows - head) + ((uint64_t)page.n * row_bits(&page) + 7) / 8;
	page.odd_off = off + n_bytes;
	if (n_bytes > segs->size - off || row_bits(&page) > PACK_BITS_MAX)
		f->damaged = true;
	else if (pack_is_good(f, segs->off + off, n_bytes))
		page.offsets = offsets;
	return page;
}

/* Reads up to 7 bytes more than the number, which are ignored. */
static inline uint64_t number_in(const uint8_t *column, unsigned bytes, size_t i)
{
	uint64_t v;

	memcpy(&v, column + i * bytes, sizeof v);
	return le64toh(v) & (bytes < 8 ? pack_bit_mask(8 * bytes) : UINT64_MAX);
}

/* A vector that compilers keep in one register of most processors. */
typedef uint8_t lanes __attribute__((vector_size(16)));

/* In each lane 0xff if the byte is not above `most` and is marked in `counts`. */
static inline lanes compare(const uint8_t *p, lanes most, const uint8_t *counts)
{
	lanes v, mask;

	memcpy(&v, p, sizeof v);
	memcpy(&mask, counts, sizeof mask);
	return (lanes)(v <= most) & mask;
}

/* Returns how many of n <= COUNTED bytes are not above `most`. Always looks at 32 bytes: most pages
 * have no more, and a loop to n would mispredict its end. */
static inline size_t count_bytes(const uint8_t *p, size_t n, uint8_t most)
{
	static const uint8_t first_n[2 * COUNTED] = {[0 ... COUNTED - 1] = 0xff};
	const uint8_t *counts = first_n + COUNTED - n;
	const lanes limit = {most, most, most, most, most, most, most, most,
			     most, most, most, most, most, most, most, most};
	lanes sum = compare(p, limit, counts) + compare(p + 16, limit, counts + 16);
	uint64_t half[2];

	if (n > 32)
		sum += compare(p + 32, limit, counts + 32);
	/* Each lane is the negative of a count of at most COUNTED / 16. */
	sum = -sum;
	memcpy(half, &sum, sizeof half);
	return (half[0] + half[1]) * 0x0101010101010101u >> 56;
}

/* Finds the last segment that begins at or before `offset`. Offsets rise, so its index is the
 * number of offsets, without the first, that are not greater; counting is faster than a binary
 * search with mispredicted branches. */
static inline size_t find_seg(const struct page *page, unsigned bytes, uint64_t offset)
{
	const uint8_t *p = page->offsets;
	size_t lo = 0, end = page->n ? page->n - 1 : 0, i, mid;

	/* p[i] is the offset of segment i + 1. */
	while (end - lo > COUNTED) {
		mid = lo + (end - lo) / 2;
		if (number_in(p, bytes, mid) <= offset)
			lo = mid;
		else
			end = mid;
	}
	if (bytes == 1)
		return lo + count_bytes(p + lo, end - lo, (uint8_t)offset);
	for (i = lo; i < end; i++)
		lo += number_in(p, bytes, i) <= offset;
	return lo;
}

static void read_odd(struct pack_file *f, const struct page *page, uint64_t i,
		     struct dwarf_place *ret)
{
	const struct pack_part_at *segs = &f->h.part[PACK_SEGS];
	const unsigned node = page->odd_bytes & 7, line = page->odd_bytes >> 3 & 7,
		       file = page->odd_bytes >> 6 & 7;
	const uint64_t n = node + line + file, off = page->odd_off + i * n;
	const uint8_t *p = f->body + segs->off + off;
	uint32_t code;

	if (off + n > segs->size || off + n < off) {
		f->damaged = true;
		return;
	}
	if (n && !pack_is_good(f, segs->off + off, n))
		return;
	code = pack_number(p, pack_masks[node]);
	ret->node = code ? page->base + dwarf_unzigzag32(code - 1) : 0;
	ret->line = dwarf_unzigzag32(pack_number(p + node, pack_masks[line]));
	ret->file = pack_number(p + node + line, pack_masks[file]);
}

/* `i` is less than n, or 0. */
static inline void read_place(struct pack_file *f, const struct page *page, size_t i,
			      struct dwarf_place *ret)
{
	const unsigned node = node_bits(page), line = line_bits(page);
	uint64_t bits = pack_bits(page->rows, (uint64_t)i * row_bits(page)), code;

	code = bits & pack_bit_mask(node);
	if (code == pack_bit_mask(node) && node) {
		read_odd(f, page, bits >> node & pack_bit_mask(line + file_bits(page)), ret);
		return;
	}
	ret->node = page->base + (uint32_t)code;
	ret->line = (uint32_t)(bits >> node & pack_bit_mask(line));
	ret->file = (uint32_t)(bits >> (node + line) & pack_bit_mask(file_bits(page)));
}

void dwarf_pack_find(struct pack_file *f, const uint64_t *addrs, size_t n, struct dwarf_place *ret)
{
	const uint64_t base = f->h.base, shift = f->h.shift;
	const unsigned bytes = offset_bytes(f);
	const uint32_t n_pages = f->rows[PACK_PAGES].n;
	const struct pack_rows *nodes = &f->rows[PACK_NODES];
	struct page page;
	uint64_t offset;
	size_t i;

	for (i = 0; i < n; i++) {
		offset = addrs[i] - base;
		ret[i] = (struct dwarf_place){0};
		if (addrs[i] < base || offset >> shift >= n_pages)
			continue;
		page = open_page(f, (uint32_t)(offset >> shift));
		offset &= (1ull << shift) - 1;
		if (!page.offsets)
			continue;
		read_place(f, &page, find_seg(&page, bytes, offset), &ret[i]);
		/* The chain of this node will be read next. */
		__builtin_prefetch(f->body + nodes->off +
				   (uint64_t)ret[i].node * nodes->stride / 8);
	}
}

int dwarf_pack_addrs(struct pack_file *f, struct pack_addrs *addrs)
{
	const unsigned bytes = offset_bytes(f);
	struct dwarf_place place;
	uint32_t k;
	size_t i;

	for (k = 0; k < f->rows[PACK_PAGES].n && !f->damaged; k++) {
		struct page page = open_page(f, k);
		uint64_t begin = f->h.base + ((uint64_t)k << f->h.shift), addr;

		for (i = 0; page.offsets && i < page.n; i++) {
			addr = begin + (i ? number_in(page.offsets, bytes, i - 1) : 0);
			place = (struct dwarf_place){0};
			read_place(f, &page, i, &place);
			if (dwarf_place_is_empty(place))
				continue;
			if (addrs->n && addr <= addrs->v[addrs->n - 1])
				f->damaged = true;
			else if (vec_push(addrs, addr))
				return -ERR_NOMEM;
		}
	}
	return 0;
}
