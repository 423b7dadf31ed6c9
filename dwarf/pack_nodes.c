/* pack_nodes.c - writes the nodes of a packed table, and its parts. */
#include "base/err.h"
#include "base/vec.h"
#include "dwarf/packer.h"
#include "dwarf/unit_encode.h"

enum {
	LINE_BITS_MAX = 16,
	ODD_BITS = 90, /* bits of an odd node, about */
	COLUMNS = 4    /* of an odd node */
};
/* Holds for the widest function number, and for an odd node's number in the bits of function and
 * line. */
_Static_assert(PACK_NODE_UP_MAX - 7 + 32 + LINE_BITS_MAX <= (int)PACK_BITS_MAX, "read at once");

/* ---- parts ------------------------------------------------------------------------------- */

int pack_put(struct pack_bytes *out, const void *bytes, size_t n)
{
	if (vec_reserve(out, out->n + n))
		return -ERR_NOMEM;
	if (n)
		memcpy(out->v + out->n, bytes, n);
	out->n += n;
	return 0;
}

int pack_begin(struct pack_bytes *out, size_t body, struct pack_part_at *part)
{
	static const uint8_t pad[PACK_ALIGN];
	int rc = pack_put(out, pad, -(out->n - body) % PACK_ALIGN);

	*part = (struct pack_part_at){.off = out->n - body};
	return rc;
}

int pack_end(struct pack_bytes *out, size_t body, struct pack_part_at *part)
{
	static const uint8_t pad[PACK_PAD];

	part->size = out->n - body - part->off;
	return pack_put(out, pad, sizeof pad);
}

int pack_put_rows(struct pack_bytes *out, size_t body, struct pack_part_at *part,
		  const uint32_t *rows, size_t n, unsigned columns)
{
	uint32_t any[PACK_COLUMNS] = {1}, v; /* a row takes at least one byte */
	size_t i;
	unsigned k, w;

	for (i = 0; i < n * columns; i++)
		any[i % columns] |= rows[i];
	if (pack_begin(out, body, part) || vec_reserve(out, out->n + n * columns * sizeof *rows))
		return -ERR_NOMEM;
	part->n = (uint32_t)n;
	for (k = 0; k < columns; k++)
		part->width[k] = (uint8_t)pack_byte_width(any[k]);
	for (i = 0; i < n * columns; i++)
		for (v = rows[i], w = part->width[i % columns]; w; w--, v >>= 8)
			out->v[out->n++] = (uint8_t)v;
	return pack_end(out, body, part);
}

/* ---- nodes ------------------------------------------------------------------------------- */

void nodes_writer_count(struct nodes_writer *w, const struct dwarf_node *n)
{
	w->n++;
	w->func_max = n->func > w->func_max ? n->func : w->func_max;
	if (n->call_file)
		w->n_files++;
	else
		w->line_widths[pack_bit_width(n->call_line)]++;
	/* Plus 1, because the largest number that fits in the bits marks odd nodes. */
	w->up_widths[pack_bit_width((uint64_t)n->parent + 1)]++;
}

/* The number of bits for all numbers with the least total cost; *odd is how many need more. */
static unsigned cheapest_bits(const size_t widths[33], size_t n, unsigned min, unsigned max,
			      size_t *odd)
{
	size_t best = SIZE_MAX, more = 0, cost;
	unsigned ret = max, bits;

	*odd = n;
	for (bits = 32; bits > max; bits--)
		more += widths[bits];
	for (;; bits--) {
		cost = n * bits + more * ODD_BITS;
		if (cost <= best) {
			best = cost;
			ret = bits;
			*odd = more;
		}
		if (bits <= min)
			return ret;
		more += widths[bits];
	}
}

int nodes_writer_begin(struct nodes_writer *w)
{
	struct pack_part_at *part = &w->h->part[PACK_NODES];
	size_t odd_up, odd_line;
	unsigned i;

	if (w->n >= UINT32_MAX)
		return -ERR_NOMEM;
	w->width[1] = pack_bit_width(w->func_max);
	/* At least one bit; distance 0 stands for no parent. */
	w->width[0] = cheapest_bits(w->up_widths, w->n, 1,
				    PACK_NODE_UP_MAX - (w->width[1] > 25 ? 7 : 0), &odd_up);
	w->width[2] = cheapest_bits(w->line_widths, w->n, 0, LINE_BITS_MAX, &odd_line);
	while ((odd_up + odd_line + w->n_files) >> (w->width[1] + w->width[2]))
		w->width[2]++;
	if (pack_begin(w->out, w->body, part))
		return -ERR_NOMEM;
	part->n = (uint32_t)w->n + 1;
	for (i = 0; i < 3; i++)
		part->width[i] = (uint8_t)w->width[i];
	/* Node 0 stands for none. */
	return nodes_writer_add(w, &(struct dwarf_node){0});
}

static int add_odd(struct nodes_writer *w, const struct dwarf_node *n)
{
	const uint32_t row[COLUMNS] = {n->parent, n->func, n->call_file,
				       dwarf_zigzag32(n->call_line)};

	if (vec_reserve(&w->odd, w->odd.n + COLUMNS))
		return -ERR_NOMEM;
	memcpy(w->odd.v + w->odd.n, row, sizeof row);
	w->odd.n += COLUMNS;
	return 0;
}

int nodes_writer_add(struct nodes_writer *w, const struct dwarf_node *n)
{
	const uint64_t mark = (1u << w->width[0]) - 1;
	uint64_t row = n->parent | (uint64_t)n->func << w->width[0] |
		       (uint64_t)n->call_line << (w->width[0] + w->width[1]);
	uint8_t *to;

	if (n->parent >= mark || n->call_file || (uint64_t)n->call_line >> w->width[2]) {
		row = mark | (uint64_t)(w->odd.n / COLUMNS) << w->width[0];
		if (add_odd(w, n))
			return -ERR_NOMEM;
	}
	if (vec_reserve(w->out, w->out->n + 2 * sizeof w->bits))
		return -ERR_NOMEM;
	to = pack_put_bits(w->out->v + w->out->n, &w->bits, &w->n_bits, row,
			   w->width[0] + w->width[1] + w->width[2]);
	w->out->n = (size_t)(to - w->out->v);
	return 0;
}

int nodes_writer_end(struct nodes_writer *w)
{
	const uint8_t last = (uint8_t)w->bits;

	if ((w->n_bits && pack_put(w->out, &last, 1)) ||
	    pack_end(w->out, w->body, &w->h->part[PACK_NODES]))
		return -ERR_NOMEM;
	return pack_put_rows(w->out, w->body, &w->h->part[PACK_ODD], w->odd.v, w->odd.n / COLUMNS,
			     COLUMNS);
}

void nodes_writer_done(struct nodes_writer *w)
{
	vec_done(&w->odd);
}
