/* dwarf_pack.c - writes a table as a file. */
#include "symbolize/dwarf_pack.h"

#include <stdlib.h>

#include "base/hash.h"
#include "symbolize/dwarf_text.h"

/* Segments in a page, about. */
enum { PAGE_SEGS = 16, SHIFT_MAX = 32 };

struct rows {
	uint32_t *v;
	size_t n, cap; /* numbers, not rows */
};

struct packer {
	const struct dwarf_table *t;
	struct pack_bytes *out;
	struct pack_header header;
	/* what the table's have become; 0: nothing refers to them */
	uint32_t *nodes, *funcs, *files;
	uint32_t *node_at; /* the table's node by its new number */
	size_t n_nodes;
	struct rows rows[PACK_PART_N];
	struct hash_table known_funcs;
	struct text_writer strings;
};

static const unsigned n_columns[PACK_PART_N] = {
	[PACK_PAGES] = 1, [PACK_NODES] = 4, [PACK_FUNCS] = 3, [PACK_FILES] = 1};

/* ---- bytes ---------------------------------------------------------------------- */

static int put(struct packer *p, const void *bytes, size_t n)
{
	struct pack_bytes *out = p->out;

	if (vec_reserve(out, out->n + n))
		return -ERR_NOMEM;
	if (n)
		memcpy(out->v + out->n, bytes, n);
	out->n += n;
	return 0;
}

static uint8_t width_of(uint32_t v)
{
	return v > 0xffffff ? 4 : v > 0xffff ? 3 : v > 0xff ? 2 : v > 0;
}

/* There is room for it. */
static void put_number(struct packer *p, uint32_t v, unsigned width)
{
	for (; width; width--, v >>= 8)
		p->out->v[p->out->n++] = (uint8_t)v;
}

static int begin_part(struct packer *p, enum pack_part part)
{
	static const uint8_t pad[PACK_ALIGN];
	int rc = put(p, pad, -p->out->n % PACK_ALIGN);

	p->header.part[part].off = p->out->n - sizeof p->header;
	return rc;
}

static int end_part(struct packer *p, enum pack_part part)
{
	static const uint8_t pad[PACK_PAD];

	p->header.part[part].size = p->out->n - sizeof p->header - p->header.part[part].off;
	return put(p, pad, sizeof pad);
}

static int put_part(struct packer *p, enum pack_part part, const void *bytes, size_t n)
{
	return begin_part(p, part) || put(p, bytes, n) ? -ERR_NOMEM : end_part(p, part);
}

static int put_rows(struct packer *p, enum pack_part part)
{
	struct pack_part_at *at = &p->header.part[part];
	const struct rows *r = &p->rows[part];
	unsigned columns = n_columns[part], k;
	uint32_t any[PACK_COLUMNS] = {0};
	size_t i;

	for (i = 0; i < r->n; i += columns)
		for (k = 0; k < columns; k++)
			any[k] |= r->v[i + k];
	any[0] |= 1; /* no row is empty */
	for (k = 0; k < columns; k++)
		at->width[k] = width_of(any[k]);
	at->n = (uint32_t)(r->n / columns);
	if (begin_part(p, part) || vec_reserve(p->out, p->out->n + r->n * sizeof *r->v))
		return -ERR_NOMEM;
	for (i = 0; i < r->n; i += columns)
		for (k = 0; k < columns; k++)
			put_number(p, r->v[i + k], at->width[k]);
	return end_part(p, part);
}

/* ---- numbering --------------------------------------------------------------------------- */

static int add_row(struct packer *p, enum pack_part part, const uint32_t *row)
{
	struct rows *r = &p->rows[part];
	unsigned n = n_columns[part];

	if (vec_reserve(r, r->n + n))
		return -ERR_NOMEM;
	memcpy(r->v + r->n, row, n * sizeof *row);
	r->n += n;
	return 0;
}

static int use_file(struct packer *p, uint32_t file, uint32_t *ret)
{
	uint32_t path;
	int rc;

	if (file && !p->files[file]) {
		rc = text_add(&p->strings, p->t->files.v[file], &path);
		if (rc)
			return rc;
		p->files[file] = (uint32_t)p->rows[PACK_FILES].n;
		if (add_row(p, PACK_FILES, &path))
			return -ERR_NOMEM;
	}
	*ret = p->files[file];
	return 0;
}

/* Units repeat the functions of headers: equal ones become one. */
static int share_func(struct packer *p, const uint32_t *row, uint32_t *ret)
{
	const unsigned n = n_columns[PACK_FUNCS];
	const size_t size = n * sizeof *row;
	uint64_t key = hash_mix(hash_secret(), hash_bytes(row, size));
	const struct rows *r = &p->rows[PACK_FUNCS];

	*ret = hash_get(&p->known_funcs, key);
	if (*ret != HASH_NONE && !memcmp(&r->v[(size_t)*ret * n], row, size))
		return 0;
	*ret = (uint32_t)(r->n / n);
	return add_row(p, PACK_FUNCS, row) || hash_put(&p->known_funcs, key, *ret) ? -ERR_NOMEM : 0;
}

static uint32_t entry_code(const struct packer *p, const struct dwarf_func *f)
{
	uint64_t distance = pack_zigzag((int64_t)(f->entry - p->header.base));

	if (f->linkage_name)
		return PACK_ENTRY_LINKAGE;
	return f->entry && distance <= UINT32_MAX - PACK_ENTRY_ZIGZAG
		       ? (uint32_t)distance + PACK_ENTRY_ZIGZAG
		       : PACK_ENTRY_UNKNOWN;
}

static int use_func(struct packer *p, uint32_t func, uint32_t *ret)
{
	const struct dwarf_func *f = &p->t->funcs[func];
	uint32_t row[] = {0, f->decl_line, entry_code(p, f)};
	int rc = 0;

	if (func && !p->funcs[func]) {
		rc = text_add(&p->strings, f->linkage_name ? f->linkage_name : f->name, &row[0]);
		if (!rc)
			rc = share_func(p, row, &p->funcs[func]);
	}
	*ret = p->funcs[func];
	return rc;
}

static int add_node(struct packer *p, uint32_t id)
{
	const struct dwarf_node *n = &p->t->nodes[id];
	uint32_t row[PACK_COLUMNS] = {0};
	int rc = use_func(p, n->func, &row[1]);

	if (!rc && n->parent) {
		row[0] = p->nodes[id] - p->nodes[n->parent];
		rc = use_file(p, n->call_file, &row[2]);
		row[3] = n->call_line;
	}
	return rc ? rc : add_row(p, PACK_NODES, row);
}

/* Sets roots[] to the function that each node is part of; 0: no segment needs it. */
static void find_roots(const struct dwarf_table *t, uint32_t *roots)
{
	uint32_t id, root;
	size_t i;

	for (i = 0; i < t->n; i++)
		for (id = t->places[i].node; id && !roots[id]; id = t->nodes[id].parent)
			roots[id] = 1;
	for (i = 1; i < t->n_nodes; i++) {
		root = t->nodes[i].parent ? roots[t->nodes[i].parent] : (uint32_t)i;
		roots[i] = roots[i] ? root : 0;
	}
}

/* Functions in the order of their code, so that rising addresses find theirs side by side; in each
 * function the order of the table. */
static int number_nodes(struct packer *p)
{
	const struct dwarf_table *t = p->t;
	uint32_t *roots = calloc(t->n_nodes + 1, sizeof *roots);
	uint32_t *next = calloc(t->n_nodes + 1, sizeof *next); /* of a root: of its next node */
	uint32_t at = 1, n;
	size_t i;

	if (!roots || !next) {
		free(roots);
		free(next);
		return -ERR_NOMEM;
	}
	find_roots(t, roots);
	for (i = 1; i < t->n_nodes; i++)
		next[roots[i]] += roots[i] != 0;
	/* nodes[root] says first that the root has its place. */
	for (i = 0; i < t->n; i++) {
		uint32_t root = roots[t->places[i].node];

		if (!root || p->nodes[root])
			continue;
		n = next[root];
		next[root] = p->nodes[root] = at;
		at += n;
	}
	for (i = 1; i < t->n_nodes; i++)
		if (roots[i]) {
			p->nodes[i] = next[roots[i]]++;
			p->node_at[p->nodes[i]] = (uint32_t)i;
		}
	p->n_nodes = at;
	free(roots);
	free(next);
	return 0;
}

static int number_all(struct packer *p)
{
	const struct dwarf_table *t = p->t;
	const uint32_t none[PACK_COLUMNS] = {0};
	size_t i;
	int rc;

	p->nodes = calloc(t->n_nodes + 1, sizeof *p->nodes);
	p->node_at = calloc(t->n_nodes + 1, sizeof *p->node_at);
	p->funcs = calloc(t->n_funcs + 1, sizeof *p->funcs);
	p->files = calloc(t->files.n + 1, sizeof *p->files);
	rc = p->nodes && p->node_at && p->funcs && p->files ? 0 : -ERR_NOMEM;
	/* Number 0 of all of them is none. */
	if (!rc)
		rc = add_row(p, PACK_NODES, none) || add_row(p, PACK_FUNCS, none) ||
				     add_row(p, PACK_FILES, none)
			     ? -ERR_NOMEM
			     : number_nodes(p);
	for (i = 1; !rc && i < p->n_nodes; i++)
		rc = add_node(p, p->node_at[i]);
	return rc;
}

/* ---- segments ---------------------------------------------------------------------------- */

struct column {
	uint32_t least, most; /* but 0 */
};

static void widen(struct column *c, uint32_t v)
{
	if (!v)
		return;
	c->least = !c->least || v < c->least ? v : c->least;
	c->most = v > c->most ? v : c->most;
}

static uint8_t column_width(const struct column *c)
{
	return c->most ? width_of(c->most - c->least + 1) : 0;
}

/* The widest number would be 1 << 32. */
static bool column_fits(const struct column *c)
{
	return c->most - c->least < UINT32_MAX;
}

static uint32_t column_code(const struct column *c, uint32_t v)
{
	return v ? v - c->least + 1 : 0;
}

/* The page of the segments [first, end), the first being at or before its begin. */
static int put_page(struct packer *p, uint64_t begin, size_t first, size_t end)
{
	const struct dwarf_table *t = p->t;
	struct column node = {0}, file = {0}, line = {0};
	size_t n = end - first, i;
	struct pack_page page;
	uint32_t number;
	uint8_t width[4];
	int rc;

	for (i = first; i < end; i++) {
		rc = use_file(p, t->places[i].file, &number);
		if (rc)
			return rc;
		widen(&node, p->nodes[t->places[i].node]);
		widen(&file, number);
		widen(&line, t->places[i].line);
	}
	if (n > PACK_PAGE_SEGS_MAX || !column_fits(&line))
		return 1;
	page = (struct pack_page){node.least, file.least, line.least, (uint16_t)n, 0};
	width[0] = width_of((uint32_t)(1ull << p->header.shift) - 1);
	width[1] = column_width(&node);
	width[2] = column_width(&file);
	width[3] = column_width(&line);
	for (i = 0; i < 4; i++)
		page.widths |= (uint16_t)(width[i] << 4 * i);
	if (put(p, &page, sizeof page) || vec_reserve(p->out, p->out->n + n * 4 * sizeof number))
		return -ERR_NOMEM;
	for (i = first; i < end; i++)
		put_number(p, t->addrs[i] > begin ? (uint32_t)(t->addrs[i] - begin) : 0, width[0]);
	for (i = first; i < end; i++) {
		const struct dwarf_place *at = &t->places[i];

		put_number(p, column_code(&node, p->nodes[at->node]), width[1]);
		put_number(p, column_code(&file, p->files[at->file]), width[2]);
		put_number(p, column_code(&line, at->line), width[3]);
	}
	return 0;
}

static size_t count_pages(const struct dwarf_table *t, uint64_t shift)
{
	return (size_t)((t->addrs[t->n - 1] - t->addrs[0]) >> shift) + 1;
}

/* The segments of most pages. */
static size_t fullest_page(const struct dwarf_table *t, uint64_t shift)
{
	size_t most = 0, first = 0, i;

	for (i = 0; i < t->n; i++) {
		if ((t->addrs[i] - t->addrs[0]) >> shift !=
		    (t->addrs[first] - t->addrs[0]) >> shift)
			first = i;
		most = i - first + 1 > most ? i - first + 1 : most;
	}
	return most;
}

static int put_segs(struct packer *p)
{
	const struct dwarf_table *t = p->t;
	uint64_t begin = t->addrs[0], *shift = &p->header.shift;
	size_t i, first = 0, end;
	uint32_t off;
	int rc = begin_part(p, PACK_SEGS);

	while (*shift < SHIFT_MAX - 1 && count_pages(t, *shift) > t->n / PAGE_SEGS + 1)
		++*shift;
	while (*shift && fullest_page(t, *shift) >= PACK_PAGE_SEGS_MAX)
		--*shift;
	for (i = count_pages(t, *shift); !rc && i; i--, begin += 1ull << *shift) {
		while (first + 1 < t->n && t->addrs[first + 1] <= begin)
			first++;
		for (end = first + 1; end < t->n && (t->addrs[end] - begin) >> *shift == 0; end++)
			;
		off = (uint32_t)(p->out->n - sizeof p->header - p->header.part[PACK_SEGS].off);
		rc = add_row(p, PACK_PAGES, &off);
		if (!rc)
			rc = put_page(p, begin, first, end);
		if (p->out->n > UINT32_MAX)
			rc = 1;
		first = end - 1;
	}
	return rc ? rc : end_part(p, PACK_SEGS);
}

/* ---- all together ------------------------------------------------------------------------ */

static int put_sums(struct packer *p)
{
	const size_t begin = sizeof p->header, end = p->out->n;
	size_t i;

	p->header.body_size = end - begin;
	for (i = begin; i < end; i += PACK_BLOCK) {
		uint32_t sum =
			dwarf_pack_sum(p->out->v + i, end - i < PACK_BLOCK ? end - i : PACK_BLOCK);

		if (put(p, &sum, sizeof sum))
			return -ERR_NOMEM;
	}
	p->header.sums_hash = hash_bytes(p->out->v + end, p->out->n - end);
	p->header.hash = hash_bytes(&p->header, offsetof(struct pack_header, hash));
	memcpy(p->out->v, &p->header, sizeof p->header);
	return 0;
}

static int put_all(struct packer *p)
{
	static const enum pack_part tables[] = {PACK_PAGES, PACK_NODES, PACK_FUNCS, PACK_FILES};
	const struct text_writer *s = &p->strings;
	int rc = put(p, &p->header, sizeof p->header);
	size_t i;

	if (!rc)
		rc = number_all(p);
	if (!rc)
		rc = put_segs(p);
	for (i = 0; !rc && i < sizeof tables / sizeof *tables; i++)
		rc = put_rows(p, tables[i]);
	if (!rc)
		rc = put_part(p, PACK_TEXT, s->text.v, s->text.n);
	if (!rc)
		rc = put_part(p, PACK_RECORDS, s->records.v, s->records.n);
	/* The sums are read in place. */
	if (!rc)
		rc = put(p, &(uint64_t){0}, -p->out->n & 7);
	return rc ? rc : put_sums(p);
}

static void packer_done(struct packer *p)
{
	size_t i;

	for (i = 0; i < PACK_PART_N; i++)
		vec_done(&p->rows[i]);
	hash_done(&p->known_funcs);
	text_writer_done(&p->strings);
	free(p->nodes);
	free(p->node_at);
	free(p->funcs);
	free(p->files);
}

int dwarf_pack(const struct dwarf_table *t, const struct pack_key *key,
	       const struct pack_extent *extent, struct pack_bytes *out)
{
	struct packer p = {.t = t, .out = out};
	int rc;

	if (!t->n || t->addrs[t->n - 1] - t->addrs[0] >= UINT32_MAX)
		return 1;
	p.header = (struct pack_header){.version = PACK_VERSION,
					.order = PACK_ORDER,
					.key = *key,
					.extent = *extent,
					.base = t->addrs[0]};
	memcpy(p.header.magic, PACK_MAGIC, sizeof p.header.magic);
	rc = put_all(&p);
	packer_done(&p);
	return rc;
}
