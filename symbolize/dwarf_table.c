/* dwarf_table.c - puts parts together and finds addresses in them. */
#include "symbolize/dwarf_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct block_ref {
	const struct dwarf_part *part;
	size_t index, part_index;
};

struct builder {
	struct dwarf_table *t;
	const struct dwarf_part *parts;
	size_t n_parts;
	uint32_t *node_base, *func_base; /* added to the ids of each part */
	uint32_t **files;		 /* id of each file of each part */
	VEC(struct block_ref) blocks;
	struct dwarf_ranges ranges;
	struct dwarf_spans spans;
};

/* ---- ids --------------------------------------------------------------------------------- */

/* Equal paths get one id. */
static int add_file(struct dwarf_table *t, struct hash_table *known, const char *path,
		    uint32_t *ret)
{
	uint64_t key = hash_bytes(path, strlen(path));
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
		const struct dwarf_part *p = &b->parts[i];

		b->files[i] = calloc(p->files.n + 1, sizeof **b->files);
		rc = b->files[i] ? 0 : -ERR_NOMEM;
		for (k = 1; !rc && k < p->files.n; k++)
			rc = add_file(b->t, &known, p->files.v[k], &b->files[i][k]);
	}
	hash_done(&known);
	return rc;
}

static int add_nodes(struct builder *b)
{
	struct dwarf_table *t = b->t;
	size_t i, k;

	if (vec_push(&t->nodes, (struct dwarf_node){0}) ||
	    vec_push(&t->funcs, (struct dwarf_func){0}))
		return -ERR_NOMEM;
	for (i = 0; i < b->n_parts; i++) {
		const struct dwarf_part *p = &b->parts[i];

		b->node_base[i] = (uint32_t)t->nodes.n - 1;
		b->func_base[i] = (uint32_t)t->funcs.n - 1;
		for (k = 1; k < p->funcs.n; k++)
			if (vec_push(&t->funcs, p->funcs.v[k]))
				return -ERR_NOMEM;
		for (k = 1; k < p->nodes.n; k++) {
			struct dwarf_node n = p->nodes.v[k];

			n.parent += n.parent ? b->node_base[i] : 0;
			n.func += b->func_base[i];
			n.call_file = b->files[i][n.call_file];
			if (vec_push(&t->nodes, n))
				return -ERR_NOMEM;
		}
	}
	return t->nodes.n < UINT32_MAX ? 0 : -ERR_NOMEM;
}

/* ---- segments ---------------------------------------------------------------------------- */

static uint64_t priority(const struct dwarf_part *p, const struct dwarf_block *b)
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
			const struct dwarf_part *p = &b->parts[i];
			const struct dwarf_block *block = &p->blocks.v[k];
			struct dwarf_range r = {.lo = block->lo,
						.hi = block->hi,
						.priority = priority(p, block),
						.id = (uint32_t)b->blocks.n};

			if (vec_push(&b->ranges, r) ||
			    vec_push(&b->blocks, (struct block_ref){p, k, i}))
				return -ERR_NOMEM;
		}
	scratch = malloc((b->ranges.n + 1) * sizeof *scratch);
	if (!scratch)
		return -ERR_NOMEM;
	dwarf_ranges_sort(b->ranges.v, b->ranges.n, scratch);
	free(scratch);
	rc = dwarf_sweep(b->ranges.v, b->ranges.n, &b->spans);
	vec_done(&b->ranges);
	return rc;
}

static int add_place(struct dwarf_table *t, uint64_t addr, struct dwarf_place place)
{
	const struct dwarf_place *last = t->places.n ? &t->places.v[t->places.n - 1] : NULL;

	if (last && last->node == place.node && last->file == place.file &&
	    last->line == place.line)
		return 0;
	return vec_push(&t->addrs, addr) || vec_push(&t->places, place) ? -ERR_NOMEM : 0;
}

/* The segments of a block that are in [lo, hi). */
static int add_block(struct builder *b, const struct block_ref *ref, uint64_t lo, uint64_t hi)
{
	const struct dwarf_block *block = &ref->part->blocks.v[ref->index];
	const struct dwarf_seg *segs = &ref->part->segs.v[block->first];
	size_t i = 0, end = block->n;

	while (i + 1 < end) { /* the last segment that begins at or before lo */
		size_t mid = i + (end - i) / 2;

		if (segs[mid].addr <= lo)
			i = mid;
		else
			end = mid;
	}
	for (; i < block->n && segs[i].addr < hi; i++) {
		struct dwarf_place place = {segs[i].node, b->files[ref->part_index][segs[i].file],
					    segs[i].line};

		place.node += place.node ? b->node_base[ref->part_index] : 0;
		if (add_place(b->t, segs[i].addr > lo ? segs[i].addr : lo, place))
			return -ERR_NOMEM;
	}
	return 0;
}

static int add_segments(struct builder *b)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < b->spans.n; i++) {
		const struct dwarf_span *s = &b->spans.v[i];

		rc = s->id == DWARF_NOTHING ? add_place(b->t, s->addr, (struct dwarf_place){0})
					    : add_block(b, &b->blocks.v[s->id], s->addr, s[1].addr);
	}
	return rc || b->t->addrs.n < UINT32_MAX ? rc : -ERR_NOMEM;
}

/* About one page per segment. */
static int add_pages(struct dwarf_table *t)
{
	uint64_t span;
	size_t i, page = 0;

	if (!t->addrs.n)
		return 0;
	span = t->addrs.v[t->addrs.n - 1] - t->addrs.v[0];
	while (span >> t->shift > t->addrs.n)
		t->shift++;
	t->n_pages = (size_t)(span >> t->shift) + 1;
	t->pages = malloc((t->n_pages + 1) * sizeof *t->pages);
	if (!t->pages)
		return -ERR_NOMEM;
	for (i = 0; i < t->addrs.n; i++)
		for (; page <= (t->addrs.v[i] - t->addrs.v[0]) >> t->shift; page++)
			t->pages[page] = (uint32_t)i;
	for (; page <= t->n_pages; page++)
		t->pages[page] = (uint32_t)t->addrs.n;
	return 0;
}

int dwarf_table_build(struct dwarf_table *t, const struct dwarf_part *parts, size_t n)
{
	struct builder b = {.t = t, .parts = parts, .n_parts = n};
	size_t i;
	int rc;

	dwarf_table_done(t);
	b.node_base = calloc(n + 1, sizeof *b.node_base);
	b.func_base = calloc(n + 1, sizeof *b.func_base);
	b.files = calloc(n + 1, sizeof *b.files);
	rc = b.node_base && b.func_base && b.files ? 0 : -ERR_NOMEM;
	if (!rc)
		rc = number_files(&b);
	if (!rc)
		rc = add_nodes(&b);
	if (!rc)
		rc = sort_blocks(&b);
	if (!rc)
		rc = add_segments(&b);
	if (!rc)
		rc = add_pages(t);
	for (i = 0; b.files && i < n; i++)
		free(b.files[i]);
	free(b.files);
	free(b.node_base);
	free(b.func_base);
	vec_done(&b.blocks);
	vec_done(&b.ranges);
	vec_done(&b.spans);
	return rc;
}

void dwarf_table_done(struct dwarf_table *t)
{
	vec_done(&t->addrs);
	vec_done(&t->places);
	vec_done(&t->nodes);
	vec_done(&t->funcs);
	vec_done(&t->files);
	free(t->pages);
	*t = (struct dwarf_table){0};
}

struct dwarf_place dwarf_table_find(const struct dwarf_table *t, uint64_t addr)
{
	const struct dwarf_place nothing = {0};
	size_t page, lo, hi;

	if (!t->addrs.n || addr < t->addrs.v[0] || addr >= t->addrs.v[t->addrs.n - 1])
		return nothing;
	page = (size_t)((addr - t->addrs.v[0]) >> t->shift);
	lo = t->pages[page];
	hi = t->pages[page + 1];
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->addrs.v[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return t->places.v[lo - 1];
}
