/* dwarf_packed.c - looks at a packed table where it is mapped. Every number from the file is
 * checked: it may be damaged, or somebody else's. */
#include <endian.h>
#include <stdlib.h>

#include "base/hash.h"
#include "symbolize/dwarf_pack.h"
#include "symbolize/dwarf_text.h"

/* Strings of a file take no more than so many times its size: they were smaller than the debug
 * information, of which it is a twentieth. */
enum { STRINGS_MAX = 256 };

/* Segments that are looked at one after the other. */
enum { COUNTED = 48 };

/* ---- opening ----------------------------------------------------------------------------- */

/* Of numbers of so many bytes; what has more in a file is read as if it had 4. */
static const uint32_t masks[16] = {0,	       0xff,	   0xffff,     0xffffff,
				   UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
				   UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
				   UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};

/* The rows of a part, or that it has none. */
static bool part_is_good(struct pack_file *f, enum pack_part i)
{
	const struct pack_part_at *part = &f->h.part[i];
	struct pack_rows *r = &f->rows[i];
	unsigned k;

	*r = (struct pack_rows){.off = part->off};
	for (k = 0; k < PACK_COLUMNS; k++) {
		if (part->width[k] > sizeof *r->mask)
			return false;
		r->at[k] = r->stride;
		r->mask[k] = masks[part->width[k]];
		r->stride += part->width[k];
	}
	r->n = r->stride ? part->n : 0;
	return part->off <= f->h.body_size && part->size <= f->h.body_size - part->off &&
	       f->h.body_size - part->off - part->size >= PACK_PAD &&
	       (uint64_t)r->n * r->stride <= part->size;
}

static bool header_is_good(struct pack_file *f, const struct pack_key *key)
{
	const struct pack_header *h = &f->h;
	uint64_t n_blocks = h->body_size / PACK_BLOCK + (h->body_size % PACK_BLOCK > 0);
	size_t i;

	if (memcmp(h->magic, PACK_MAGIC, sizeof h->magic) || h->version != PACK_VERSION ||
	    h->order != PACK_ORDER || memcmp(&h->key, key, sizeof *key) ||
	    h->hash != hash_bytes(h, offsetof(struct pack_header, hash)) || h->shift > 31 ||
	    h->body_size > f->size - sizeof *h || (sizeof *h + h->body_size) % sizeof *f->sums ||
	    f->size - sizeof *h - h->body_size != n_blocks * sizeof *f->sums)
		return false;
	for (i = 0; i < PACK_PART_N; i++)
		if (!part_is_good(f, (enum pack_part)i))
			return false;
	f->body = f->data + sizeof *h;
	f->sums = (const uint32_t *)(const void *)(f->body + h->body_size);
	f->good = calloc(n_blocks + 1, 1);
	return f->good && hash_bytes(f->sums, n_blocks * sizeof *f->sums) == h->sums_hash;
}

bool dwarf_pack_open(struct pack_file *f, const void *data, size_t size, const struct pack_key *key)
{
	*f = (struct pack_file){.data = data, .size = size, .budget = (uint64_t)size * STRINGS_MAX};
	if (size < sizeof f->h)
		return false;
	memcpy(&f->h, data, sizeof f->h);
	if (header_is_good(f, key)) {
		/* Mostly never touched, then pages of zeroes that take no memory. */
		f->funcs = calloc(f->rows[PACK_FUNCS].n + 1ul, sizeof *f->funcs);
		f->files = calloc(f->rows[PACK_FILES].n + 1ul, sizeof *f->files);
		if (f->funcs && f->files)
			return true;
	}
	dwarf_pack_close(f);
	return false;
}

void dwarf_pack_close(struct pack_file *f)
{
	free(f->good);
	free(f->funcs);
	free(f->files);
	arena_done(&f->strings);
	*f = (struct pack_file){0};
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* Two words; what compilers keep in one register of most processors. */
typedef uint64_t lane_pair __attribute__((vector_size(16)));

static inline lane_pair lanes_at(const uint8_t *p)
{
	lane_pair w;

	memcpy(&w, p, sizeof w);
	return w;
}

/* Four lanes, each the sum of its words and the sum of those sums, which tells their order: a
 * changed word always changes the first. */
uint32_t dwarf_pack_sum(const uint8_t *p, size_t n)
{
	lane_pair even = {n, 1}, odd = {2, 3}, evens = {0}, odds = {0};
	uint64_t hash = 0;
	size_t i;

	for (; n >= 32; n -= 32, p += 32) {
		even += lanes_at(p);
		odd += lanes_at(p + 16);
		evens += even;
		odds += odd;
	}
	for (i = 0; i < 2; i++) {
		hash = hash_mix(hash_mix(hash, even[i]), odd[i]);
		hash = hash_mix(hash_mix(hash, evens[i]), odds[i]);
	}
	return (uint32_t)hash_mix(hash, hash_bytes(p, n));
}

/* ---- checked bytes ----------------------------------------------------------------------- */

/* The blocks [first, last], some of which may not have been looked at. */
static __attribute__((noinline)) bool check_blocks(struct pack_file *f, uint64_t first,
						   uint64_t last)
{
	uint64_t i, off, n;

	for (i = first; i <= last; i++) {
		off = i * PACK_BLOCK;
		n = f->h.body_size - off < PACK_BLOCK ? f->h.body_size - off : PACK_BLOCK;
		if (!f->good[i] && dwarf_pack_sum(f->body + off, n) != f->sums[i]) {
			f->damaged = true;
			return false;
		}
		f->good[i] = 1;
	}
	return true;
}

/* Where n > 0 bytes of the body stand; they are in a part. */
static inline const uint8_t *bytes_at(struct pack_file *f, uint64_t off, uint64_t n)
{
	uint64_t first = off / PACK_BLOCK, last = (off + n - 1) / PACK_BLOCK;

	if (last - first <= 1 && f->good[first] & f->good[last])
		return f->body + off;
	return check_blocks(f, first, last) ? f->body + off : NULL;
}

const uint8_t *dwarf_pack_bytes(struct pack_file *f, enum pack_part part, uint64_t off, uint64_t n)
{
	const struct pack_part_at *at = &f->h.part[part];

	if (off > at->size || n > at->size - off) {
		f->damaged = true;
		return NULL;
	}
	return bytes_at(f, at->off + off, n);
}

/* The number that stands there, least byte first; PACK_PAD bytes are read. */
static inline uint32_t number_at(const uint8_t *p, uint32_t mask)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return le32toh(v) & mask;
}

/* Row i of a part; NULL when there is none. */
static inline const uint8_t *row_at(struct pack_file *f, enum pack_part part, uint32_t i)
{
	const struct pack_rows *r = &f->rows[part];
	uint64_t off = r->off + (uint64_t)i * r->stride;
	uint64_t first = off / PACK_BLOCK, last = (off + r->stride - 1) / PACK_BLOCK;

	if (i >= r->n)
		f->damaged = true;
	else if (f->good[first] & f->good[last] || check_blocks(f, first, last))
		return f->body + off;
	return NULL;
}

static inline uint32_t column(const struct pack_file *f, enum pack_part part, const uint8_t *row,
			      unsigned k)
{
	return number_at(row + f->rows[part].at[k], f->rows[part].mask[k]);
}

/* ---- segments ---------------------------------------------------------------------------- */

struct page {
	struct pack_page head;
	size_t stride;
	const uint8_t *offsets, *rows; /* NULL: damaged */
};

/* Whatever the head says, its numbers are in the part, and n is checked only by that: with 0 there
 * is a first segment of what bytes stand there. */
static inline __attribute__((always_inline)) struct page open_page(struct pack_file *f, uint32_t i)
{
	const struct pack_part_at *segs = &f->h.part[PACK_SEGS];
	const uint8_t *row = row_at(f, PACK_PAGES, i);
	struct page page = {.offsets = NULL};
	struct pack_page *h = &page.head;
	uint64_t off, n, n_bytes;

	if (!row)
		return page;
	off = column(f, PACK_PAGES, row, 0);
	if (off + sizeof *h > segs->size) {
		f->damaged = true;
		return page;
	}
	/* Checked together with what it says that is behind it. */
	memcpy(h, f->body + segs->off + off, sizeof *h);
	n = h->n;
	page.stride = (size_t)h->node_width + h->file_width + h->line_width;
	n_bytes = sizeof *h + n * (h->offset_width + page.stride);
	if (n_bytes > segs->size - off) {
		f->damaged = true;
		return page;
	}
	row = bytes_at(f, segs->off + off, n_bytes);
	if (!row)
		return page;
	page.offsets = row + sizeof *h;
	page.rows = page.offsets + n * h->offset_width;
	return page;
}

static inline uint32_t page_number(const uint8_t *column, unsigned width, size_t i)
{
	return number_at(column + i * width, masks[width]);
}

/* How many of n bytes are not above `most`: eight at a time, in lanes of 16 bits, of which `most`
 * with a bit above it less the byte keeps that bit. */
static inline size_t count_bytes(const uint8_t *p, size_t n, uint8_t most)
{
	const uint64_t ones = 0x0001000100010001u, lanes = ones * 0xff;
	const uint64_t limit = ones * (0x100u + most);
	uint64_t w, sum = 0;
	size_t count;

	for (; n >= sizeof w; n -= sizeof w, p += sizeof w) {
		memcpy(&w, p, sizeof w);
		sum += (limit - (w & lanes)) >> 8 & ones;
		sum += (limit - (w >> 8 & lanes)) >> 8 & ones;
	}
	count = (size_t)(sum * ones >> 48);
	while (n--)
		count += *p++ <= most;
	return count;
}

/* The last segment that begins at or before `offset`. Offsets rise, so that is how many are not
 * greater, but for the first: to count some is faster than to guess which way to go. */
static inline size_t find_seg(const struct page *page, uint32_t offset)
{
	const size_t width = page->head.offset_width;
	const uint8_t *p = page->offsets;
	size_t lo = 0, end = page->head.n, i, mid;

	while (end - lo > COUNTED) {
		mid = lo + (end - lo) / 2;
		if (page_number(p, width, mid) <= offset)
			lo = mid;
		else
			end = mid;
	}
	if (width == 1)
		return end ? lo + count_bytes(p + lo + 1, end - lo - 1, (uint8_t)offset) : 0;
	for (i = lo + 1; i < end; i++)
		lo += page_number(p, width, i) <= offset;
	return lo;
}

static inline uint32_t decode(uint32_t code, uint32_t least)
{
	return code ? least + code - 1 : 0;
}

static inline void read_place(const struct page *page, size_t i, struct dwarf_place *ret)
{
	const struct pack_page *h = &page->head;
	const uint8_t *p = page->rows + i * page->stride;

	ret->node = decode(number_at(p, masks[h->node_width]), h->node);
	p += h->node_width;
	ret->file = decode(number_at(p, masks[h->file_width]), h->file);
	p += h->file_width;
	ret->line = decode(number_at(p, masks[h->line_width]), h->line);
}

void dwarf_pack_find(struct pack_file *f, uint64_t addr, struct dwarf_place *ret)
{
	uint64_t offset = addr - f->h.base, page_size = 1ull << f->h.shift;
	struct page page;

	*ret = (struct dwarf_place){0};
	if (addr < f->h.base || offset >> f->h.shift >= f->rows[PACK_PAGES].n)
		return;
	page = open_page(f, (uint32_t)(offset >> f->h.shift));
	if (page.offsets)
		read_place(&page, find_seg(&page, (uint32_t)(offset & (page_size - 1))), ret);
}

int dwarf_pack_addrs(struct pack_file *f, struct pack_addrs *addrs)
{
	struct dwarf_place place;
	uint32_t k;
	size_t i;

	for (k = 0; k < f->rows[PACK_PAGES].n && !f->damaged; k++) {
		struct page page = open_page(f, k);
		uint64_t begin = f->h.base + ((uint64_t)k << f->h.shift), addr;

		for (i = 0; page.offsets && i < page.head.n; i++) {
			addr = begin + page_number(page.offsets, page.head.offset_width, i);
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

/* ---- what they refer to ------------------------------------------------------------------- */

static inline struct dwarf_node node_at(struct pack_file *f, uint32_t id)
{
	const uint8_t *row = row_at(f, PACK_NODES, id);
	uint32_t up;

	if (!row)
		return (struct dwarf_node){0};
	up = column(f, PACK_NODES, row, 0);
	return (struct dwarf_node){up - 1 < id ? id - up : 0, column(f, PACK_NODES, row, 1),
				   column(f, PACK_NODES, row, 2), column(f, PACK_NODES, row, 3)};
}

struct dwarf_node dwarf_pack_node(struct pack_file *f, uint32_t id)
{
	return node_at(f, id);
}

/* dwarf_pack_node() again and again, without asking for the block of each: most of a chain is in
 * one.
 */
size_t dwarf_pack_chain(struct pack_file *f, uint32_t id, struct dwarf_at at, size_t skip,
			struct dwarf_at *chain, size_t max)
{
	const struct pack_rows r = f->rows[PACK_NODES];
	const uint8_t *block = NULL, *row;
	uint32_t func, file = at.file, line = at.line, up;
	size_t depth;

	for (depth = 0; id; depth++) {
		row = f->body + r.off + (uint64_t)id * r.stride;
		if (id >= r.n || (size_t)(row - block) > PACK_BLOCK - r.stride) {
			row = row_at(f, PACK_NODES, id);
			if (!row)
				break;
			block = row - (size_t)(row - f->body) % PACK_BLOCK;
		}
		func = number_at(row + r.at[1], r.mask[1]);
		if (depth - skip < max)
			chain[depth - skip] = (struct dwarf_at){func, file, line, at.source};
		file = number_at(row + r.at[2], r.mask[2]);
		line = number_at(row + r.at[3], r.mask[3]);
		up = number_at(row, r.mask[0]);
		id = up - 1 < id ? id - up : 0;
	}
	return depth;
}

const struct dwarf_func *dwarf_pack_func(struct pack_file *f, uint32_t id)
{
	static const struct dwarf_func unknown;
	struct dwarf_func *func;
	const uint8_t *row;
	uint32_t entry;

	if (id < f->rows[PACK_FUNCS].n && f->funcs[id])
		return f->funcs[id];
	row = row_at(f, PACK_FUNCS, id);
	func = row ? arena_alloc(&f->strings, sizeof *func) : NULL;
	f->damaged |= !func;
	if (!func)
		return &unknown;
	func->linkage_name = text_read(f, column(f, PACK_FUNCS, row, 0));
	func->name = text_read(f, column(f, PACK_FUNCS, row, 1));
	func->decl_line = column(f, PACK_FUNCS, row, 2);
	entry = column(f, PACK_FUNCS, row, 3);
	func->entry = entry ? f->h.base + (uint64_t)pack_unzigzag(entry - 1ul) : 0;
	return f->funcs[id] = func;
}

const char *dwarf_pack_path(struct pack_file *f, uint32_t id)
{
	const uint8_t *row;

	if (id < f->rows[PACK_FILES].n && f->files[id])
		return f->files[id];
	row = row_at(f, PACK_FILES, id);
	return row ? f->files[id] = text_read(f, column(f, PACK_FILES, row, 0)) : NULL;
}
