/* pack_segs.c - writes the segments of a packed table, page by page. */
#include "base/err.h"
#include "base/vec.h"
#include "dwarf/packer.h"
#include "dwarf/unit_encode.h"

enum {
	PAGE_SEGS = 16, /* segments in a page, about */
	SHIFT_MAX = 63,
	NODE_BITS_MAX = 24,
	LINE_BITS_MAX = 24,
	FILE_BITS_MAX = 8,
	ODD_BITS = 40 /* bits of an odd row, about */
};
_Static_assert(NODE_BITS_MAX + LINE_BITS_MAX + FILE_BITS_MAX <= (int)PACK_BITS_MAX, "read at once");

/* The form of the rows of a page. */
struct layout {
	uint32_t base;		   /* number that nodes are relative to */
	unsigned node, line, file; /* bits */
	size_t n_odd;
	unsigned odd[3]; /* bytes */
};

/* n[i]: how many numbers need i bits; any: the bits that are set in any of them. */
struct widths {
	uint32_t n[33], any;
};

/* ---- layout ------------------------------------------------------------------------------ */

static inline void widths_add(struct widths *w, uint32_t v)
{
	w->n[pack_bit_width(v)]++;
	w->any |= v;
}

/* The number of bits for all numbers with the least total cost; `odd` numbers are odd in any case.
 * *cost is that cost, in bits. */
static unsigned cheapest_bits(const struct widths *w, size_t n, size_t odd, unsigned min,
			      unsigned max, size_t *cost)
{
	unsigned bits = pack_bit_width(w->any), ret;

	bits = bits < min ? min : bits;
	for (; bits > max; bits--)
		odd += w->n[bits];
	*cost = n * bits + odd * ODD_BITS;
	for (ret = bits; bits > min; bits--) {
		odd += w->n[bits];
		if (n * (bits - 1) + odd * ODD_BITS <= *cost) {
			*cost = n * (bits - 1) + odd * ODD_BITS;
			ret = bits - 1;
		}
	}
	return ret;
}

/* Nodes are relative to the smallest one; or to a larger number, so that the largest node just
 * fits. In the second case nodes far below the others, as the function itself often is, are odd. */
static void choose_node_bits(const struct segs_writer *w, struct layout *l)
{
	struct widths up = {{0}, 0}, down = {{0}, 0};
	uint32_t least = UINT32_MAX, most = 0;
	size_t n = 0, i, up_cost, down_cost;
	unsigned up_bits, down_bits;

	for (i = 0; i < w->page.n; i++) {
		const uint32_t node = w->page.v[i].at.node;

		n += node > 0;
		least = node && node < least ? node : least;
		most = node > most ? node : most;
	}
	l->base = n ? least : 0;
	/* No bits are needed, and so no mark of odd rows. */
	if (!n || (n == w->page.n && least == most))
		return;
	for (i = 0; i < w->page.n; i++) {
		const uint32_t node = w->page.v[i].at.node;

		if (!node)
			continue;
		widths_add(&up, node - least + 1);
		widths_add(&down, most - node + 1);
	}
	up_bits = cheapest_bits(&up, w->page.n, w->page.n - n, 1, NODE_BITS_MAX, &up_cost);
	down_bits = cheapest_bits(&down, w->page.n, w->page.n - n, 1, NODE_BITS_MAX, &down_cost);
	l->node = down_cost < up_cost ? down_bits : up_bits;
	if (down_cost < up_cost)
		l->base = most - ((1u << down_bits) - 2);
}

static void choose_bits(const struct segs_writer *w, struct layout *l)
{
	struct widths line = {{0}, 0}, file = {{0}, 0};
	size_t i, cost;

	*l = (struct layout){0};
	choose_node_bits(w, l);
	for (i = 0; i < w->page.n; i++) {
		widths_add(&line, w->page.v[i].at.line);
		widths_add(&file, w->page.v[i].at.file);
	}
	l->line = cheapest_bits(&line, w->page.n, 0, 0, LINE_BITS_MAX, &cost);
	l->file = cheapest_bits(&file, w->page.n, 0, 0, FILE_BITS_MAX, &cost);
}

/* Does a place not fit into a row? */
static inline bool is_odd(const struct layout *l, const struct dwarf_place *at)
{
	const uint32_t node = at->node - l->base, none = (1u << l->node) - 1;

	return (l->node ? node >= none || !at->node : node) || at->line >> l->line ||
	       at->file >> l->file;
}

static void odd_numbers(const struct layout *l, const struct dwarf_place *at, uint32_t ret[3])
{
	ret[0] = at->node ? dwarf_zigzag32(at->node - l->base) + 1 : 0;
	ret[1] = dwarf_zigzag32(at->line);
	ret[2] = at->file;
}

static void count_odd(const struct segs_writer *w, struct layout *l)
{
	uint32_t any[3] = {0}, odd[3];
	size_t i;
	unsigned k;

	l->n_odd = 0;
	for (i = 0; i < w->page.n; i++) {
		if (!is_odd(l, &w->page.v[i].at))
			continue;
		l->n_odd++;
		odd_numbers(l, &w->page.v[i].at, odd);
		for (k = 0; k < 3; k++)
			any[k] |= odd[k];
	}
	for (k = 0; k < 3; k++)
		l->odd[k] = pack_byte_width(any[k]);
}

/* Makes room for the mark and the number of odd rows. */
static void make_room_for_odd(const struct segs_writer *w, struct layout *l)
{
	count_odd(w, l);
	if (!l->n_odd)
		return;
	if (!l->node) {
		l->node = 1;
		count_odd(w, l);
	}
	while ((l->n_odd - 1) >> (l->line + l->file))
		l->line++;
}

/* ---- writing ----------------------------------------------------------------------------- */

static void put_bytes(struct pack_bytes *out, uint64_t v, unsigned n)
{
	for (; n; n--, v >>= 8)
		out->v[out->n++] = (uint8_t)v;
}

static void put_rows(const struct segs_writer *w, const struct layout *l)
{
	const unsigned width = l->node + l->line + l->file;
	uint8_t *to = w->out->v + w->out->n;
	uint64_t bits = 0, row, odd = 0;
	unsigned n_bits = 0;
	size_t i;

	for (i = 0; i < w->page.n; i++) {
		const struct dwarf_place *at = &w->page.v[i].at;

		if (l->n_odd && is_odd(l, at))
			row = ((1u << l->node) - 1) | odd++ << l->node;
		else
			row = (at->node - l->base) | (uint64_t)at->line << l->node |
			      (uint64_t)at->file << (l->node + l->line);
		to = pack_put_bits(to, &bits, &n_bits, row, width);
	}
	w->out->n = (size_t)(to - w->out->v) + (n_bits > 0);
}

static void put_odd_rows(const struct segs_writer *w, const struct layout *l)
{
	uint32_t odd[3];
	size_t i;
	unsigned k;

	for (i = 0; l->n_odd && i < w->page.n; i++) {
		if (!is_odd(l, &w->page.v[i].at))
			continue;
		odd_numbers(l, &w->page.v[i].at, odd);
		for (k = 0; k < 3; k++)
			put_bytes(w->out, odd[k], l->odd[k]);
	}
}

static int put_page(struct segs_writer *w)
{
	const unsigned offset = pack_offset_bytes(w->h->shift);
	const size_t n = w->page.n, at = w->out->n - w->body - w->h->part[PACK_SEGS].off;
	struct pack_page page = {0};
	struct layout l;
	size_t i;

	choose_bits(w, &l);
	make_room_for_odd(w, &l);
	page.node = l.base;
	page.n = n < PACK_PAGE_MANY ? (uint16_t)n : PACK_PAGE_MANY;
	page.bits = (uint16_t)(l.node | l.line << 5 | l.file << 10);
	page.odd_bytes = (uint16_t)(l.odd[0] | l.odd[1] << 3 | l.odd[2] << 6);
	if (at > UINT32_MAX || n > UINT32_MAX || vec_push(&w->pages, (uint32_t)at) ||
	    vec_reserve(w->out, w->out->n + sizeof page + 16 + n * (8 + 8 + 12)))
		return -ERR_NOMEM;
	pack_put(w->out, &page, sizeof page);
	if (page.n == PACK_PAGE_MANY)
		put_bytes(w->out, n, 4);
	if (offset == 1)
		for (i = 1; i < n; i++)
			w->out->v[w->out->n++] = (uint8_t)w->page.v[i].off;
	else
		for (i = 1; i < n; i++)
			put_bytes(w->out, w->page.v[i].off, offset);
	put_rows(w, &l);
	put_odd_rows(w, &l);
	return 0;
}

/* ---- pages ------------------------------------------------------------------------------- */

void segs_writer_init(struct segs_writer *w, struct pack_bytes *out, size_t body,
		      struct pack_header *h, uint64_t base, uint64_t end, size_t n)
{
	*w = (struct segs_writer){.out = out, .body = body, .h = h};
	h->base = base;
	h->shift = 0;
	while (h->shift < SHIFT_MAX && (end - base) >> h->shift > n / PAGE_SEGS)
		h->shift++;
}

int segs_writer_add(struct segs_writer *w, uint64_t addr, struct dwarf_place place)
{
	const uint64_t off = addr - w->h->base, number = off >> w->h->shift;
	const uint64_t in_page = off & ((1ull << w->h->shift) - 1);

	if (!w->n && pack_begin(w->out, w->body, &w->h->part[PACK_SEGS]))
		return -ERR_NOMEM;
	if (w->n && !memcmp(&place, &w->last, sizeof place))
		return 0;
	while (w->pages.n < number) {
		if (put_page(w))
			return -ERR_NOMEM;
		w->page.n = 0;
		if ((w->pages.n < number || in_page) &&
		    vec_push(&w->page, (struct pack_seg){0, w->last}))
			return -ERR_NOMEM;
	}
	w->n++;
	w->last = place;
	return vec_push(&w->page, (struct pack_seg){in_page, place}) ? -ERR_NOMEM : 0;
}

int segs_writer_end(struct segs_writer *w)
{
	struct pack_part_at *pages = &w->h->part[PACK_PAGES];

	if (put_page(w) || pack_end(w->out, w->body, &w->h->part[PACK_SEGS]))
		return -ERR_NOMEM;
	return pack_put_rows(w->out, w->body, pages, w->pages.v, w->pages.n, 1);
}

void segs_writer_done(struct segs_writer *w)
{
	vec_done(&w->pages);
	vec_done(&w->page);
}
