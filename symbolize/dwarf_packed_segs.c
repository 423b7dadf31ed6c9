/* dwarf_packed_segs.c - the segments of a packed table: what is at an address. */
#include "symbolize/dwarf_packed.h"

/* Segments that are looked at one after the other. */
enum { COUNTED = 48 };

struct page {
	const uint8_t *head; /* a struct pack_page; NULL: damaged */
	const uint8_t *offsets, *rows;
	size_t n;
	uint16_t widths;
};

/* As they stand in pack_page. */
enum { OFFSET, NODE, FILE_NO, LINE };

static inline unsigned width(const struct page *page, unsigned column)
{
	return page->widths >> 4 * column & 15;
}

static inline size_t stride(const struct page *page)
{
	return (size_t)width(page, NODE) + width(page, FILE_NO) + width(page, LINE);
}

/* Whatever the head says, its numbers are in the part, and n is checked only by that: with 0 there
 * is a first segment of what bytes stand there. */
static inline __attribute__((always_inline)) struct page open_page(struct pack_file *f, uint32_t i)
{
	const struct pack_part_at *segs = &f->h.part[PACK_SEGS];
	const uint8_t *row = pack_row(f, PACK_PAGES, i);
	struct page page = {.head = NULL};
	const uint8_t *head;
	uint64_t off, n_bytes;

	if (!row)
		return page;
	off = pack_column(f, PACK_PAGES, row, 0);
	if (off + sizeof(struct pack_page) > segs->size) {
		f->damaged = true;
		return page;
	}
	/* Checked together with what it says that is behind it. */
	head = f->body + segs->off + off;
	page.n = pack_number(head + offsetof(struct pack_page, n), UINT16_MAX);
	page.widths = (uint16_t)pack_number(head + offsetof(struct pack_page, widths), UINT16_MAX);
	page.offsets = head + sizeof(struct pack_page);
	page.rows = page.offsets + page.n * width(&page, OFFSET);
	n_bytes = sizeof(struct pack_page) + page.n * (width(&page, OFFSET) + stride(&page));
	if (n_bytes > segs->size - off)
		f->damaged = true;
	else if (pack_is_good(f, segs->off + off, n_bytes))
		page.head = head;
	return page;
}

static inline uint32_t number_in(const uint8_t *column, unsigned bytes, size_t i)
{
	return pack_number(column + i * bytes, pack_masks[bytes]);
}

/* What compilers keep in one register of most processors. */
typedef uint8_t lanes __attribute__((vector_size(16)));

/* In each lane 0xff for a byte not above `most` that counts. */
static inline lanes compare(const uint8_t *p, lanes most, const uint8_t *counts)
{
	lanes v, mask;

	memcpy(&v, p, sizeof v);
	memcpy(&mask, counts, sizeof mask);
	return (lanes)(v <= most) & mask;
}

/* How many of n bytes, no more than COUNTED, are not above `most`. 32 bytes are looked at whatever
 * n is: most pages have no more, and to count to n costs a wrong guess of where it ends. */
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
	/* Each is the negative of a count of no more than COUNTED / 16. */
	sum = -sum;
	memcpy(half, &sum, sizeof half);
	return (half[0] + half[1]) * 0x0101010101010101u >> 56;
}

/* The last segment that begins at or before `offset`. Offsets rise, so that is how many are not
 * greater, but for the first: to count some is faster than to guess which way to go. */
static inline size_t find_seg(const struct page *page, uint32_t offset)
{
	const unsigned bytes = width(page, OFFSET);
	const uint8_t *p = page->offsets;
	size_t lo = 0, end = page->n, i, mid;

	while (end - lo > COUNTED) {
		mid = lo + (end - lo) / 2;
		if (number_in(p, bytes, mid) <= offset)
			lo = mid;
		else
			end = mid;
	}
	if (bytes == 1)
		return end ? lo + count_bytes(p + lo + 1, end - lo - 1, (uint8_t)offset) : 0;
	for (i = lo + 1; i < end; i++)
		lo += number_in(p, bytes, i) <= offset;
	return lo;
}

static inline uint32_t decode(uint32_t code, uint32_t least)
{
	return code ? least + code - 1 : 0;
}

static inline uint32_t read_column(const struct page *page, unsigned column, size_t least,
				   const uint8_t **p)
{
	const unsigned bytes = width(page, column);
	uint32_t v = decode(pack_number(*p, pack_masks[bytes]),
			    pack_number(page->head + least, UINT32_MAX));

	*p += bytes;
	return v;
}

static inline void read_place(const struct page *page, size_t i, struct dwarf_place *ret)
{
	const uint8_t *p = page->rows + i * stride(page);

	ret->node = read_column(page, NODE, offsetof(struct pack_page, node), &p);
	ret->file = read_column(page, FILE_NO, offsetof(struct pack_page, file), &p);
	ret->line = read_column(page, LINE, offsetof(struct pack_page, line), &p);
}

void dwarf_pack_find(struct pack_file *f, const uint64_t *addrs, size_t n, struct dwarf_place *ret)
{
	const uint64_t base = f->h.base, shift = f->h.shift;
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
		if (!page.head)
			continue;
		read_place(&page, find_seg(&page, (uint32_t)offset), &ret[i]);
		/* Its chain will be asked for. */
		__builtin_prefetch(f->body + nodes->off + (size_t)ret[i].node * nodes->stride);
	}
}

int dwarf_pack_addrs(struct pack_file *f, struct pack_addrs *addrs)
{
	struct dwarf_place place;
	uint32_t k;
	size_t i;

	for (k = 0; k < f->rows[PACK_PAGES].n && !f->damaged; k++) {
		struct page page = open_page(f, k);
		uint64_t begin = f->h.base + ((uint64_t)k << f->h.shift), addr;

		for (i = 0; page.head && i < page.n; i++) {
			addr = begin + number_in(page.offsets, width(&page, OFFSET), i);
			read_place(&page, i, &place);
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
