/* dwarf_table.c - puts parts together and finds addresses in them. */
#include "symbolize/dwarf_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/pages.h"

enum { GIVE_BACK_BYTES = 1 << 20 };

/* Addresses that are looked for at the same time. */
enum { TABLE_TOGETHER = 32 };

struct block_ref {
	const struct dwarf_part *part;
	size_t index, part_index;
};

struct builder {
	struct dwarf_table *t;
	struct dwarf_part *parts;
	size_t n_parts;
	uint32_t *node_base; /* added to the node ids of each part */
	uint32_t **files;    /* id of each file of each part */
	VEC(struct block_ref) blocks;
	struct dwarf_ranges ranges;
	struct dwarf_spans spans;
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
		const struct dwarf_part *p = &b->parts[i];

		b->files[i] = calloc(p->files.n + 1, sizeof **b->files);
		rc = b->files[i] ? 0 : -ERR_NOMEM;
		for (k = 1; !rc && k < p->files.n; k++)
			rc = add_file(b->t, &known, p->files.v[k], &b->files[i][k]);
	}
	hash_done(&known);
	return rc;
}

/* What parts had is freed in small pieces, while the table needs large ones: without this it would
 * all be there twice. Not worth it for few bytes. */
static void give_back(size_t bytes)
{
	if (bytes > GIVE_BACK_BYTES)
		pages_give_back();
}

/* Moves nodes and functions of all parts to the table. */
static int add_nodes(struct builder *b)
{
	struct dwarf_table *t = b->t;
	size_t n_nodes = 1, n_funcs = 1, i, k;

	for (i = 0; i < b->n_parts; i++) {
		n_nodes += b->parts[i].nodes.n;
		n_funcs += b->parts[i].funcs.n;
	}
	if (n_nodes >= UINT32_MAX || n_funcs >= UINT32_MAX)
		return -ERR_NOMEM;
	t->nodes = calloc(n_nodes, sizeof *t->nodes);
	t->funcs = calloc(n_funcs, sizeof *t->funcs);
	if (!t->nodes || !t->funcs)
		return -ERR_NOMEM;
	n_nodes = n_funcs = 1;
	for (i = 0; i < b->n_parts; i++) {
		struct dwarf_part *p = &b->parts[i];

		b->node_base[i] = (uint32_t)n_nodes - 1;
		for (k = 1; k < p->nodes.n; k++) {
			struct dwarf_node n = p->nodes.v[k];

			n.parent += n.parent ? b->node_base[i] : 0;
			n.func += (uint32_t)n_funcs - 1;
			n.call_file = b->files[i][n.call_file];
			t->nodes[n_nodes++] = n;
		}
		for (k = 1; k < p->funcs.n; k++)
			t->funcs[n_funcs++] = p->funcs.v[k];
		vec_done(&p->nodes);
		vec_done(&p->funcs);
	}
	give_back(n_nodes * sizeof *t->nodes);
	t->n_nodes = n_nodes;
	t->n_funcs = n_funcs;
	return 0;
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

static void add_place(struct dwarf_table *t, uint64_t addr, struct dwarf_place place)
{
	const struct dwarf_place *last = t->n ? &t->places[t->n - 1] : NULL;

	if (last && last->node == place.node && last->file == place.file &&
	    last->line == place.line)
		return;
	t->addrs[t->n] = addr;
	t->places[t->n++] = place;
}

/* The last segment of a block that begins at or before addr. */
static size_t first_seg(const struct dwarf_block *block, const struct dwarf_seg *segs,
			uint64_t addr)
{
	size_t i = 0, end = block->n;

	while (i + 1 < end) {
		size_t mid = i + (end - i) / 2;

		if (block->lo + segs[mid].off <= addr)
			i = mid;
		else
			end = mid;
	}
	return i;
}

/* The segments of a block that are in [lo, hi). */
static void add_block(struct builder *b, const struct block_ref *ref, uint64_t lo, uint64_t hi)
{
	const struct dwarf_block *block = &ref->part->blocks.v[ref->index];
	const struct dwarf_seg *segs = &ref->part->segs.v[block->first];
	size_t i = first_seg(block, segs, lo);

	for (; i < block->n && block->lo + segs[i].off < hi; i++) {
		uint64_t addr = block->lo + segs[i].off;
		struct dwarf_place place = {segs[i].node, b->files[ref->part_index][segs[i].file],
					    segs[i].line};

		place.node += place.node ? b->node_base[ref->part_index] : 0;
		add_place(b->t, addr > lo ? addr : lo, place);
	}
}

/* How many segments there can be: each span cuts at most one in two. */
static size_t count_segments(const struct builder *b)
{
	size_t n = 0, i;

	for (i = 0; i < b->spans.n; i++) {
		const struct dwarf_span *s = &b->spans.v[i];
		const struct block_ref *ref;
		const struct dwarf_block *block;
		const struct dwarf_seg *segs;

		n++;
		if (s->id == DWARF_NOTHING)
			continue;
		ref = &b->blocks.v[s->id];
		block = &ref->part->blocks.v[ref->index];
		segs = &ref->part->segs.v[block->first];
		n += first_seg(block, segs, s[1].addr - 1) - first_seg(block, segs, s->addr);
	}
	return n;
}

static int add_segments(struct builder *b)
{
	struct dwarf_table *t = b->t;
	size_t n = count_segments(b), i;

	if (n >= UINT32_MAX)
		return -ERR_NOMEM;
	t->addrs = malloc((n + 1) * sizeof *t->addrs);
	t->places = malloc((n + 1) * sizeof *t->places);
	if (!t->addrs || !t->places)
		return -ERR_NOMEM;
	for (i = 0; i < b->spans.n; i++) {
		const struct dwarf_span *s = &b->spans.v[i];

		if (s->id == DWARF_NOTHING)
			add_place(t, s->addr, (struct dwarf_place){0});
		else
			add_block(b, &b->blocks.v[s->id], s->addr, s[1].addr);
	}
	return 0;
}

int dwarf_table_index(struct dwarf_table *t)
{
	uint64_t span;
	size_t i, page = 0;

	if (!t->n)
		return 0;
	span = t->addrs[t->n - 1] - t->addrs[0];
	while (span >> t->shift > t->n)
		t->shift++;
	t->n_pages = (size_t)(span >> t->shift) + 1;
	t->pages = malloc((t->n_pages + 1) * sizeof *t->pages);
	if (!t->pages)
		return -ERR_NOMEM;
	for (i = 0; i < t->n; i++)
		for (; page <= (t->addrs[i] - t->addrs[0]) >> t->shift; page++)
			t->pages[page] = (uint32_t)i;
	for (; page <= t->n_pages; page++)
		t->pages[page] = (uint32_t)t->n;
	return 0;
}

static void empty_parts(struct builder *b)
{
	size_t i;

	for (i = 0; i < b->n_parts; i++) {
		vec_done(&b->parts[i].files);
		vec_done(&b->parts[i].segs);
		vec_done(&b->parts[i].blocks);
	}
	give_back(b->t->n * sizeof(struct dwarf_seg));
}

int dwarf_table_build(struct dwarf_table *t, struct dwarf_part *parts, size_t n)
{
	struct builder b = {.t = t, .parts = parts, .n_parts = n};
	size_t i;
	int rc;

	b.node_base = calloc(n + 1, sizeof *b.node_base);
	b.files = calloc(n + 1, sizeof *b.files);
	rc = b.node_base && b.files ? 0 : -ERR_NOMEM;
	if (!rc)
		rc = number_files(&b);
	if (!rc)
		rc = add_nodes(&b);
	if (!rc)
		rc = sort_blocks(&b);
	if (!rc)
		rc = add_segments(&b);
	empty_parts(&b);
	if (!rc)
		rc = dwarf_table_index(t);
	for (i = 0; b.files && i < n; i++)
		free(b.files[i]);
	free(b.files);
	free(b.node_base);
	vec_done(&b.blocks);
	vec_done(&b.ranges);
	vec_done(&b.spans);
	return rc;
}

void dwarf_table_done(struct dwarf_table *t)
{
	free(t->addrs);
	free(t->places);
	free(t->nodes);
	free(t->funcs);
	vec_done(&t->files);
	free(t->pages);
	*t = (struct dwarf_table){0};
}

/* Where to look for the place of an address, in [lo, hi) of the segments; none when both are 0. */
struct search {
	size_t lo, hi;
};

static void expect(const void *p)
{
	__builtin_prefetch(p);
}

/* The last segment of the page that begins at or before addr; that of the page before when none
 * does. */
static size_t find_seg(const struct dwarf_table *t, const struct search *s, uint64_t addr)
{
	size_t lo = s->lo, hi = s->hi, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->addrs[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

/* One step of all addresses at a time, each of which asks for the memory that the next will need.
 */
static void find_group(const struct dwarf_table *t, const uint64_t *addrs, size_t n,
		       struct dwarf_place *ret)
{
	struct search at[TABLE_TOGETHER];
	size_t i, page;

	for (i = 0; i < n; i++) {
		at[i].hi = SIZE_MAX;
		if (addrs[i] < t->addrs[0] || addrs[i] >= t->addrs[t->n - 1])
			continue;
		at[i].hi = (size_t)((addrs[i] - t->addrs[0]) >> t->shift);
		expect(&t->pages[at[i].hi]);
	}
	for (i = 0; i < n; i++) {
		page = at[i].hi;
		at[i] = (struct search){0};
		if (page == SIZE_MAX)
			continue;
		at[i] = (struct search){t->pages[page], t->pages[page + 1]};
		expect(&t->addrs[at[i].lo]);
		expect(&t->places[at[i].lo]);
	}
	for (i = 0; i < n; i++) {
		ret[i] = (struct dwarf_place){0};
		if (at[i].hi)
			ret[i] = t->places[find_seg(t, &at[i], addrs[i])];
		expect(&t->nodes[ret[i].node]);
	}
}

void dwarf_table_find(const struct dwarf_table *t, const uint64_t *addrs, size_t n,
		      struct dwarf_place *ret)
{
	size_t i, k;

	for (i = 0; i < n; i += k) {
		k = n - i < TABLE_TOGETHER ? n - i : TABLE_TOGETHER;
		find_group(t, addrs + i, k, ret + i);
	}
}

size_t dwarf_table_chain(const struct dwarf_table *t, uint32_t id, struct dwarf_at at, size_t skip,
			 struct dwarf_at *chain, size_t max)
{
	size_t depth;

	for (depth = 0; id; id = t->nodes[id].parent, depth++) {
		at.func = t->nodes[id].func;
		if (depth - skip < max)
			chain[depth - skip] = at;
		at.file = t->nodes[id].call_file;
		at.line = t->nodes[id].call_line;
	}
	return depth;
}
