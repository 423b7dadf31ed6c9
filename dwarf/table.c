/* table.c - merges the parts into one table. */
#include "dwarf/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/pages.h"
#include "base/threads.h"
#include "base/vec.h"
#include "dwarf/packer.h"
#include "dwarf/unit_encode.h"

enum { GIVE_BACK_BYTES = 1 << 20 };

/* A block, and its segment that was decoded last. */
struct block_ref {
	const struct dwarf_compiled_unit *part;
	struct dwarf_block *block;
	struct dwarf_seg seg;
};

/* A function with code; sorted by address of the code. */
struct placed {
	uint32_t part, root;
};

struct builder {
	struct dwarf_table *t;
	struct dwarf_compiled_unit *parts;
	size_t n_parts;
	/* [part][root]: number of the root's first node in the table; 0: no number yet. */
	uint32_t **roots;
	uint32_t **files; /* [part][file]: id of the file */
	uint32_t *funcs;  /* [part]: added to the part's function numbers */
	VEC(struct block_ref) blocks;
	VEC(struct placed) placed;
	struct dwarf_ranges ranges;
	struct dwarf_spans spans;
	uint32_t n_nodes;
	struct pack_header h;
	struct pack_bytes node_parts; /* parts of the body that come after the segments */
	unsigned n_threads;
	int rc[2];
};

/* ---- ids --------------------------------------------------------------------------------- */

/* Equal paths get one id. */
static int add_file(struct dwarf_table *t, struct hash_table *known, const char *path,
		    uint32_t *ret)
{
	uint64_t key = hash_mix(hash_secret(), hash_bytes(path, strlen(path)));
	uint32_t id = hash_get(known, key);

	if (id == HASH_NONE || strcmp(t->files.v[id], path)) {
		id = (uint32_t)t->files.n;
		if (vec_push(&t->files, path) || hash_put(known, key, id))
			return -ERR_NOMEM;
	}
	*ret = id;
	return 0;
}

static int number_files(struct builder *b)
{
	struct hash_table known = {0};
	size_t i, k;
	int rc = vec_push(&b->t->files, NULL) ? -ERR_NOMEM : 0;

	for (i = 0; !rc && i < b->n_parts; i++) {
		const struct dwarf_compiled_unit *p = &b->parts[i];

		b->files[i] = calloc(p->files.n + 1, sizeof **b->files);
		rc = b->files[i] ? 0 : -ERR_NOMEM;
		for (k = 1; !rc && k < p->files.n; k++)
			rc = add_file(b->t, &known, p->files.v[k], &b->files[i][k]);
	}
	hash_done(&known);
	return rc;
}

/* Returns freed memory to the system. The memory of the parts is freed in small pieces, but the
 * table needs large ones: without this both would take memory at the same time. Not worth the time
 * for few bytes. */
static void give_back(size_t bytes)
{
	if (bytes > GIVE_BACK_BYTES)
		pages_give_back();
}

/* ---- segments ---------------------------------------------------------------------------- */

static uint64_t priority(const struct dwarf_compiled_unit *p, const struct dwarf_block *b)
{
	uint64_t function = b->order != DWARF_NOTHING;

	return function << 63 | (uint64_t)(0x7fffffff - p->unit) << 32 | (UINT32_MAX - b->order);
}

static int sort_blocks(struct builder *b)
{
	struct dwarf_range *scratch;
	size_t i, k;
	int rc;

	for (i = 0; i < b->n_parts; i++)
		for (k = 0; k < b->parts[i].blocks.n; k++) {
			const struct dwarf_compiled_unit *p = &b->parts[i];
			struct dwarf_block *block = &p->blocks.v[k];
			struct dwarf_range r = {.lo = block->lo,
						.hi = block->hi,
						.priority = priority(p, block),
						.id = (uint32_t)b->blocks.n};

			if (vec_push(&b->ranges, r) ||
			    vec_push(&b->blocks, (struct block_ref){.part = p, .block = block}))
				return -ERR_NOMEM;
		}
	scratch = malloc((b->ranges.n + 1) * sizeof *scratch);
	if (!scratch)
		return -ERR_NOMEM;
	dwarf_ranges_sort(b->ranges.v, b->ranges.n, scratch);
	free(scratch);
	rc = dwarf_flatten_ranges(b->ranges.v, b->ranges.n, &b->spans);
	vec_done(&b->ranges);
	return rc;
}

/* Numbers the nodes of a function at the first block of its code. */
static int place_function(struct builder *b, const struct block_ref *ref)
{
	const size_t part = (size_t)(ref->part - b->parts);
	const uint32_t root = ref->block->root;
	uint32_t *at = &b->roots[part][root];

	if (!root || *at)
		return 0;
	if (ref->part->roots.v[root - 1].n >= UINT32_MAX - 1 - b->n_nodes)
		return -ERR_NOMEM;
	*at = b->n_nodes;
	b->n_nodes += ref->part->roots.v[root - 1].n;
	return vec_push(&b->placed, (struct placed){(uint32_t)part, root}) ? -ERR_NOMEM : 0;
}

static int place_functions(struct builder *b)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < b->spans.n; i++)
		if (b->spans.v[i].id != DWARF_NOTHING)
			rc = place_function(b, &b->blocks.v[b->spans.v[i].id]);
	return rc;
}

static int add_seg(struct builder *b, struct segs_writer *w, uint64_t addr,
		   const struct block_ref *ref)
{
	const size_t part = (size_t)(ref->part - b->parts);
	const struct dwarf_seg *s = &ref->seg;
	struct dwarf_place place = {.line = s->line};

	if (s->node)
		place.node = b->roots[part][ref->block->root] + s->node - 1;
	if (s->file)
		place.file = b->files[part][s->file - 1] + 1;
	return segs_writer_add(w, addr, place);
}

/* Adds the segments of a block that are in [lo, hi). Spans of one block come in order, so each
 * block is decoded once. */
static int add_block(struct builder *b, struct segs_writer *w, struct block_ref *ref, uint64_t lo,
		     uint64_t hi)
{
	struct dwarf_block *block = ref->block;
	int rc;

	while (block->n && dwarf_encoded_begin(ref->part, block) <= lo)
		dwarf_encoded_seg(ref->part, block, &ref->seg);
	rc = add_seg(b, w, lo, ref);
	while (!rc && block->n && dwarf_encoded_begin(ref->part, block) < hi) {
		dwarf_encoded_seg(ref->part, block, &ref->seg);
		rc = add_seg(b, w, block->lo, ref);
	}
	return rc;
}

static int add_segments(struct builder *b)
{
	const struct dwarf_span *s = b->spans.v;
	struct segs_writer w;
	size_t n = b->spans.n, i;
	int rc = 0;

	for (i = 0; i < b->blocks.n; i++)
		n += b->blocks.v[i].block->n;
	segs_writer_init(&w, &b->t->body, 0, &b->h, s[0].addr, s[b->spans.n - 1].addr, n);
	for (i = 0; !rc && i < b->spans.n; i++)
		if (s[i].id == DWARF_NOTHING)
			rc = segs_writer_add(&w, s[i].addr, (struct dwarf_place){0});
		else
			rc = add_block(b, &w, &b->blocks.v[s[i].id], s[i].addr, s[i + 1].addr);
	if (!rc)
		rc = segs_writer_end(&w);
	b->t->n_segs = w.n;
	segs_writer_done(&w);
	return rc;
}

/* ---- nodes ------------------------------------------------------------------------------- */

/* Counts or writes the nodes of a function. */
static int read_function(const struct builder *b, const struct placed *f, struct nodes_writer *w,
			 bool write)
{
	const struct dwarf_compiled_unit *p = &b->parts[f->part];
	const struct dwarf_root *r = &p->roots.v[f->root - 1];
	const uint8_t *at = &p->node_bytes.v[r->first];
	struct dwarf_node n;
	int rc = 0;
	uint32_t i;

	for (i = 0; !rc && i < r->n; i++) {
		dwarf_encoded_node(&at, &n);
		n.func += b->funcs[f->part];
		if (n.call_file)
			n.call_file = b->files[f->part][n.call_file - 1] + 1;
		if (write)
			rc = nodes_writer_add(w, &n);
		else
			nodes_writer_count(w, &n);
	}
	return rc;
}

static int add_nodes(struct builder *b)
{
	struct nodes_writer w = {.out = &b->node_parts, .h = &b->h};
	size_t i;
	int rc;

	for (i = 0; i < b->placed.n; i++)
		read_function(b, &b->placed.v[i], &w, false);
	rc = nodes_writer_begin(&w);
	for (i = 0; !rc && i < b->placed.n; i++)
		rc = read_function(b, &b->placed.v[i], &w, true);
	if (!rc)
		rc = nodes_writer_end(&w);
	nodes_writer_done(&w);
	return rc;
}

/* ---- functions --------------------------------------------------------------------------- */

static int number_functions(struct builder *b)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < b->n_parts; i++) {
		b->funcs[i] = (uint32_t)n;
		n += b->parts[i].funcs.n ? b->parts[i].funcs.n - 1 : 0;
		if (n >= UINT32_MAX)
			return -ERR_NOMEM;
		b->roots[i] = calloc(b->parts[i].roots.n + 1, sizeof **b->roots);
		if (!b->roots[i])
			return -ERR_NOMEM;
	}
	b->t->n_funcs = (size_t)n + 1;
	return 0;
}

static int add_functions(struct builder *b)
{
	struct dwarf_table *t = b->t;
	size_t i, k, at = 1;

	t->funcs = calloc(t->n_funcs, sizeof *t->funcs);
	if (!t->funcs)
		return -ERR_NOMEM;
	for (i = 0; i < b->n_parts; i++) {
		struct dwarf_compiled_unit *p = &b->parts[i];

		for (k = 1; k < p->funcs.n; k++) {
			t->funcs[at] = p->funcs.v[k];
			t->funcs[at].file = b->files[i][t->funcs[at].file];
			at++;
		}
		vec_done(&p->funcs);
	}
	return 0;
}

/* ---- all together ------------------------------------------------------------------------ */

static void free_parts(struct builder *b)
{
	size_t i;

	for (i = 0; i < b->n_parts; i++) {
		vec_done(&b->parts[i].seg_bytes);
		vec_done(&b->parts[i].blocks);
		vec_done(&b->parts[i].node_bytes);
		vec_done(&b->parts[i].roots);
		vec_done(&b->parts[i].funcs);
	}
	give_back(b->t->body.n);
}

/* Item 0 writes the segments, item 1 everything else, in parallel. */
static void run_item(void *arg, size_t i, unsigned worker)
{
	struct builder *b = arg;

	(void)worker;
	if (i) {
		b->rc[i] = add_nodes(b);
		if (!b->rc[i])
			b->rc[i] = add_functions(b);
	} else {
		b->rc[i] = add_segments(b);
	}
}

/* Appends the parts of the body that were written separately. */
static int add_node_parts(struct builder *b)
{
	static const uint8_t pad[PACK_ALIGN];
	struct pack_bytes *body = &b->t->body;
	int rc = pack_put(body, pad, -body->n % PACK_ALIGN);

	b->h.part[PACK_NODES].off += body->n;
	b->h.part[PACK_ODD].off += body->n;
	if (!rc)
		rc = pack_put(body, b->node_parts.v, b->node_parts.n);
	vec_done(&b->node_parts);
	b->h.body_size = body->n;
	return rc ? rc : dwarf_pack_wrap(&b->t->code, &b->h, body->v);
}

static int add_code(struct builder *b)
{
	int rc = sort_blocks(b);

	if (!rc && !b->spans.n)
		return 0;
	if (!rc)
		rc = place_functions(b);
	if (!rc) {
		threads_for(b->n_threads, 2, run_item, b);
		rc = b->rc[0] ? b->rc[0] : b->rc[1];
	}
	free_parts(b);
	return rc ? rc : add_node_parts(b);
}

static void builder_done(struct builder *b)
{
	size_t i;

	for (i = 0; i < b->n_parts; i++) {
		if (b->files)
			free(b->files[i]);
		if (b->roots)
			free(b->roots[i]);
		vec_done(&b->parts[i].files);
	}
	free(b->files);
	free(b->roots);
	free(b->funcs);
	vec_done(&b->blocks);
	vec_done(&b->placed);
	vec_done(&b->ranges);
	vec_done(&b->spans);
	vec_done(&b->node_parts);
}

int dwarf_table_build(struct dwarf_table *t, struct dwarf_compiled_unit *parts, size_t n,
		      unsigned n_threads)
{
	struct builder b = {
		.t = t, .parts = parts, .n_parts = n, .n_nodes = 1, .n_threads = n_threads};
	int rc;

	b.roots = calloc(n + 1, sizeof *b.roots);
	b.files = calloc(n + 1, sizeof *b.files);
	b.funcs = calloc(n + 1, sizeof *b.funcs);
	rc = b.roots && b.files && b.funcs ? 0 : -ERR_NOMEM;
	if (!rc)
		rc = number_files(&b);
	if (!rc)
		rc = number_functions(&b);
	if (!rc)
		rc = add_code(&b);
	builder_done(&b);
	return rc;
}

void dwarf_table_done(struct dwarf_table *t)
{
	dwarf_pack_close(&t->code);
	vec_done(&t->body);
	free(t->funcs);
	vec_done(&t->files);
	*t = (struct dwarf_table){0};
}

void dwarf_table_frame(const struct dwarf_table *t, const struct dwarf_at *at,
		       struct dwarf_frame *ret)
{
	static const struct dwarf_func none;
	const struct dwarf_func *f = at->func ? &t->funcs[at->func] : &none;
	const uint32_t file = at->file ? at->file - 1 : f->file;

	*ret = (struct dwarf_frame){
		f->linkage_name,	 f->name,      file ? t->files.v[file] : NULL,
		at->line + f->decl_line, f->decl_line, f->entry};
}
