/* pack.c - writes a table as a file. */
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "dwarf/pack_strings.h"
#include "dwarf/packer.h"
#include "dwarf/table.h"

/* Columns of a function's row. */
enum { NAME, DECL_LINE, ENTRY, FILE_NO, FUNC_COLUMNS };

struct rows {
	uint32_t *v;
	size_t n, cap; /* numbers, not rows */
};

struct packer {
	struct dwarf_table *t;
	struct pack_bytes *out;
	struct pack_header header;
	uint32_t *funcs; /* new number of each function of the table; 0: not used so far */
	struct rows func_rows, file_rows;
	struct hash_table known_funcs;
	struct pack_string_writer strings;
};

/* Offset of the body in the file. */
enum { BODY = sizeof(struct pack_header) };

static struct pack_part_at *part(struct packer *p, enum pack_part i)
{
	return &p->header.part[i];
}

/* ---- functions, files -------------------------------------------------------------------- */

static int add_row(struct rows *r, const uint32_t *row, size_t n)
{
	if (vec_reserve(r, r->n + n))
		return -ERR_NOMEM;
	memcpy(r->v + r->n, row, n * sizeof *row);
	r->n += n;
	return 0;
}

/* Adds a function, unless an equal one is known: units repeat the functions of headers. */
static int share_func(struct packer *p, const uint32_t *row, uint32_t *ret)
{
	const size_t size = FUNC_COLUMNS * sizeof *row;
	uint64_t key = hash_mix(hash_secret(), hash_bytes(row, size));
	const struct rows *r = &p->func_rows;

	*ret = hash_get(&p->known_funcs, key);
	if (*ret != HASH_NONE && !memcmp(&r->v[(size_t)*ret * FUNC_COLUMNS], row, size))
		return 0;
	*ret = (uint32_t)(r->n / FUNC_COLUMNS);
	return add_row(&p->func_rows, row, FUNC_COLUMNS) || hash_put(&p->known_funcs, key, *ret)
		       ? -ERR_NOMEM
		       : 0;
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

static int use_func(struct packer *p, uint32_t func)
{
	const struct dwarf_func *f = &p->t->funcs[func];
	uint32_t row[FUNC_COLUMNS] = {0, f->decl_line, entry_code(p, f), f->file};
	int rc;

	if (!func || p->funcs[func])
		return 0;
	rc = pack_string_add(&p->strings, f->linkage_name ? f->linkage_name : f->name, &row[NAME]);
	return rc ? rc : share_func(p, row, &p->funcs[func]);
}

/* Files keep their numbers. */
static int add_files(struct packer *p)
{
	uint32_t path;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < p->t->files.n; i++) {
		rc = pack_string_add(&p->strings, p->t->files.v[i], &path);
		if (!rc)
			rc = add_row(&p->file_rows, &path, 1);
	}
	return rc;
}

/* ---- nodes ------------------------------------------------------------------------------- */

/* A node in the form that is written. */
static struct dwarf_node node_at(struct packer *p, uint32_t id)
{
	struct dwarf_node n = dwarf_pack_node(&p->t->code, id);

	n.parent = n.parent ? id - n.parent : 0;
	n.func = p->funcs[n.func];
	return n;
}

static int put_nodes(struct packer *p)
{
	struct nodes_writer w = {.out = p->out, .body = BODY, .h = &p->header};
	const uint32_t n = p->t->code.rows[PACK_NODES].n;
	struct dwarf_node node;
	uint32_t id;
	int rc = 0;

	for (id = 1; !rc && id < n; id++) {
		rc = use_func(p, dwarf_pack_node(&p->t->code, id).func);
		node = node_at(p, id);
		nodes_writer_count(&w, &node);
	}
	if (!rc)
		rc = nodes_writer_begin(&w);
	for (id = 1; !rc && id < n; id++) {
		node = node_at(p, id);
		rc = nodes_writer_add(&w, &node);
	}
	if (!rc)
		rc = nodes_writer_end(&w);
	nodes_writer_done(&w);
	return rc;
}

/* ---- all together ------------------------------------------------------------------------ */

/* Copies a part as it is in memory. */
static int copy_part(struct packer *p, enum pack_part i)
{
	const struct pack_part_at *from = &p->t->code.h.part[i];

	if (pack_begin(p->out, BODY, part(p, i)) ||
	    pack_put(p->out, p->t->body.v + from->off, from->size))
		return -ERR_NOMEM;
	part(p, i)->n = from->n;
	memcpy(part(p, i)->width, from->width, sizeof from->width);
	return pack_end(p->out, BODY, part(p, i));
}

static int put_bytes(struct packer *p, enum pack_part i, const struct pack_bytes *bytes)
{
	return pack_begin(p->out, BODY, part(p, i)) || pack_put(p->out, bytes->v, bytes->n)
		       ? -ERR_NOMEM
		       : pack_end(p->out, BODY, part(p, i));
}

static int put_rows(struct packer *p, enum pack_part i, const struct rows *r, unsigned columns)
{
	return pack_put_rows(p->out, BODY, part(p, i), r->v, r->n / columns, columns);
}

static int put_sums(struct packer *p)
{
	const size_t begin = sizeof p->header, end = p->out->n;
	size_t i;

	p->header.body_size = end - begin;
	for (i = begin; i < end; i += PACK_BLOCK) {
		uint32_t sum =
			dwarf_pack_sum(p->out->v + i, end - i < PACK_BLOCK ? end - i : PACK_BLOCK);

		if (pack_put(p->out, &sum, sizeof sum))
			return -ERR_NOMEM;
	}
	p->header.sums_hash = hash_bytes(p->out->v + end, p->out->n - end);
	p->header.hash = hash_bytes(&p->header, offsetof(struct pack_header, hash));
	memcpy(p->out->v, &p->header, sizeof p->header);
	return 0;
}

static int put_all(struct packer *p)
{
	const uint32_t none[FUNC_COLUMNS] = {0};
	int rc;

	p->funcs = calloc(p->t->n_funcs + 1, sizeof *p->funcs);
	if (!p->funcs || add_row(&p->func_rows, none, FUNC_COLUMNS) ||
	    pack_put(p->out, &p->header, sizeof p->header) || copy_part(p, PACK_SEGS) ||
	    copy_part(p, PACK_PAGES))
		return -ERR_NOMEM;
	rc = put_nodes(p);
	if (!rc)
		rc = add_files(p);
	if (!rc)
		rc = put_rows(p, PACK_FUNCS, &p->func_rows, FUNC_COLUMNS);
	if (!rc)
		rc = put_rows(p, PACK_FILES, &p->file_rows, 1);
	if (!rc)
		rc = put_bytes(p, PACK_TEXT, &p->strings.text);
	if (!rc)
		rc = put_bytes(p, PACK_RECORDS, &p->strings.records);
	/* The sums are read in place, so they must be aligned. */
	if (!rc)
		rc = pack_put(p->out, &(uint64_t){0}, -p->out->n & 7);
	return rc ? rc : put_sums(p);
}

int dwarf_pack(struct dwarf_table *t, const struct pack_key *key, const struct pack_extent *extent,
	       struct pack_bytes *out)
{
	struct packer p = {.t = t, .out = out};
	int rc;

	if (!t->code.body)
		return 1;
	p.header = (struct pack_header){.version = PACK_VERSION,
					.order = PACK_ORDER,
					.key = *key,
					.extent = *extent,
					.base = t->code.h.base,
					.shift = t->code.h.shift};
	memcpy(p.header.magic, PACK_MAGIC, sizeof p.header.magic);
	rc = put_all(&p);
	vec_done(&p.func_rows);
	vec_done(&p.file_rows);
	hash_done(&p.known_funcs);
	pack_string_writer_done(&p.strings);
	free(p.funcs);
	return rc;
}
