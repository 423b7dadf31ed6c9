/* page_frames.c - frames and nodes of the page. */
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/pair.h"
#include "base/protobuf.h"
#include "output/page_parts.h"
#include "unwind/unwind.h"

enum { KIND_GUESSED = 8, KIND_STITCHED = 16, NO_FRAME = UINT32_MAX };

/* ---- frames --------------------------------------------------------------------------------- */

/* Finds the frame by name, module and place. In a difference only by name, because a function may
 * have moved between the builds; it gets its place on the new side, which is added last. */
static uint32_t frame_id(struct page *g, const struct page_frame *f)
{
	uint32_t module, place;

	if (g->opt->diff.is_diff)
		return pair_intern(&g->frame_of, f->name, 0);
	module = pair_intern(&g->modules, f->name, f->module);
	place = pair_intern(&g->places, f->file, f->line);
	return module == HASH_NONE || place == HASH_NONE ? HASH_NONE
							 : pair_intern(&g->frame_of, module, place);
}

static int add_frame(struct page *g, struct page_frame f)
{
	uint32_t id;

	if (f.name == STRTAB_FAILED || f.module == STRTAB_FAILED || f.file == STRTAB_FAILED)
		return -1;
	id = frame_id(g, &f);
	if (id == HASH_NONE || (id == g->frames.n && vec_push(&g->frames, f)))
		return -1;
	if (g->opt->diff.is_diff && f.line) {
		g->frames.v[id].module = f.module;
		g->frames.v[id].file = f.file;
		g->frames.v[id].line = f.line;
	}
	if ((f.kind & 7) > (g->frames.v[id].kind & 7))
		g->frames.v[id].kind = (g->frames.v[id].kind & ~7u) | (f.kind & 7);
	g->frames.v[id].kind |= f.kind & ~7u;
	if (f.verdict && (f.verdict->is_significant || !g->frames.v[id].verdict))
		g->frames.v[id].verdict = f.verdict;
	return vec_push(&g->symbols.ids, id);
}

/* Adds the frames of a location, whose names are frames[0 .. n). */
static int add_location(struct page *g, const struct profile_location *l,
			const struct frame_name *frames, size_t n)
{
	const struct profile *p = g->p;
	const struct diff_verdict *verdicts = g->opt->diff.verdicts;
	const char *module = profile_mapping_short_name(p, l->mapping);
	struct page_frame f = {0};
	unsigned how = (l->how == FRAME_STITCHED ? KIND_STITCHED : 0) |
		       (frame_how_is_guess(l->how) ? KIND_GUESSED : 0);
	size_t i;

	text_clean(&g->text, module, strlen(module));
	f.module = page_take_name(g);
	for (i = 0; i < n; i++) {
		f.name = frames[i].name;
		f.kind = frames[i].kind | how;
		if (frames[i].line != FRAME_NO_LINE) {
			uint32_t id = p->lines.v[frames[i].line].function;

			f.verdict = verdicts ? &verdicts[id] : NULL;
			text_string(&g->text, p, p->functions.v[id].file);
			f.line = p->functions.v[id].start_line;
		}
		f.file = page_take_name(g);
		if (add_frame(g, f))
			return -1;
	}
	return 0;
}

int page_compare_ids(const struct page *g, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(strtab_get(&g->names, a), strtab_get(&g->names, b));
}

static int compare_frames(const void *pa, const void *pb, void *arg)
{
	const struct page *g = arg;
	const struct page_frame *a = &g->frames.v[*(const uint32_t *)pa];
	const struct page_frame *b = &g->frames.v[*(const uint32_t *)pb];
	int rc = page_compare_ids(g, a->name, b->name);

	if (!rc)
		rc = page_compare_ids(g, a->module, b->module);
	if (!rc)
		rc = page_compare_ids(g, a->file, b->file);
	return rc ? rc : (a->line > b->line) - (a->line < b->line);
}

/* Sorts ids 0 .. n - 1, and computes the rank of each; the caller frees both. Returns 0 or -1. */
int page_rank_all(struct page *g, size_t n, int (*compare)(const void *, const void *, void *),
		  uint32_t **rank, uint32_t **by_rank)
{
	size_t i;

	/* One more for the root, which has a rank even if no sample has a frame. */
	*rank = calloc(n + 1, sizeof **rank);
	*by_rank = malloc((n + 1) * sizeof **by_rank);
	if (!*rank || !*by_rank)
		return -1;
	for (i = 0; i < n; i++)
		(*by_rank)[i] = (uint32_t)i;
	qsort_r(*by_rank, n, sizeof **by_rank, compare, g);
	for (i = 0; i < n; i++)
		(*rank)[(*by_rank)[i]] = (uint32_t)i;
	return 0;
}

/* In the page a name is all of a function's label, so overloaded functions keep their arguments.
 * Colours tell the kinds of code, and need no marks. */
static int make_names(struct page *g, struct frame_names *frames)
{
	const struct stack_style style = {
		.no_inline = g->opt->style.no_inline, .keep_apart = true, .unmarked = true};
	int rc = frame_names(frames, g->p, &style, NULL);

	g->names = frames->names;
	frames->names = (struct strtab){0};
	return rc;
}

int page_make_frames(struct page *g)
{
	struct frame_names frames = {0};
	size_t i;
	int rc = make_names(g, &frames);

	for (i = 0; !rc && i < g->p->locations.n; i++) {
		uint32_t first = frames.first.v[i];

		rc = vec_push(&g->symbols.first, (uint32_t)g->symbols.ids.n);
		if (!rc)
			rc = add_location(g, &g->p->locations.v[i], frames.frames.v + first,
					  frames.first.v[i + 1] - first);
	}
	frame_names_done(&frames);
	if (rc)
		return -1;
	if (vec_push(&g->symbols.first, (uint32_t)g->symbols.ids.n))
		return -1;
	for (i = 0; i < g->p->samples.n; i++)
		if (vec_push(&g->symbols.roots, 0))
			return -1;
	return page_rank_all(g, g->frames.n, compare_frames, &g->rank, &g->by_rank);
}

void page_write_frames(struct page *g)
{
	size_t i, n = g->frames.n;

	page_add_number(g, n);
	for (i = 0; i < n; i++)
		page_add_name(g, g->frames.v[g->by_rank[i]].name);
	for (i = 0; i < n; i++)
		page_add_name(g, g->frames.v[g->by_rank[i]].module);
	for (i = 0; i < n; i++)
		page_add_name(g, g->frames.v[g->by_rank[i]].file);
	for (i = 0; i < n; i++)
		page_add_number(g, g->frames.v[g->by_rank[i]].line);
	for (i = 0; i < n; i++)
		page_add_number(g, g->frames.v[g->by_rank[i]].kind);
}

static void add_text(struct page *g, const char *s)
{
	text_clean(&g->text, s ? s : "", s ? strlen(s) : 0);
	page_add_name(g, page_take_name(g));
}

/* Writes for each frame up to where a change is noise, then for each frame the verdict on it, if
 * functions were judged. */
int page_write_difference(struct page *g)
{
	size_t i, n = g->frames.n;
	double *limits = diff_limits(g->p, &g->opt->diff, &g->tree, 1, n);
	bool judged = g->opt->diff.verdicts;

	if (!limits)
		return -1;
	for (i = 0; i < n; i++)
		page_add_number(g, (uint64_t)fmin(limits[g->by_rank[i]] * 100 + .5, 1e9));
	free(limits);
	for (i = 0; judged && i < n; i++) {
		const struct diff_verdict *v = g->frames.v[g->by_rank[i]].verdict;

		add_text(g, v ? v->text : NULL);
		add_text(g, v ? v->details : NULL);
		page_add_number(g, v && v->is_significant);
	}
	return 0;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* All samples are below node 1 of the tree, which is the page's root. */
static int write_nodes(struct page *g, const struct tree_order *order)
{
	struct text frames = {0};
	VEC(uint32_t) todo = {0};
	const struct tree_node *nodes = g->tree.nodes.v;
	uint32_t *depth = calloc(g->tree.nodes.n, sizeof *depth), n = 0, last = 0, i;
	int rc = depth ? vec_push(&todo, 1) : -1;

	page_add_number(g, g->tree.nodes.n - 1);
	while (!rc && todo.n) {
		uint32_t id = todo.v[--todo.n];

		depth[id] = id == 1 ? 1 : depth[nodes[id].parent] + 1;
		page_add_number(g, n ? last + 1 - depth[id] : 0);
		pb_varint(&frames, id == 1 ? 0 : g->rank[nodes[id].symbol]);
		last = depth[id];
		g->preorder[id] = n++;
		for (i = order->first[id + 1]; !rc && i > order->first[id]; i--)
			rc = vec_push(&todo, order->ids[i - 1]);
	}
	text_add(&g->columns, frames.s, frames.n);
	g->columns.failed |= frames.failed;
	text_done(&frames);
	vec_done(&todo);
	free(depth);
	return rc;
}

int page_make_nodes(struct page *g, struct err *err)
{
	struct tree_order order = {0};
	int rc = tree_fill(&g->tree, g->p, g->events->has, &g->symbols, err);

	if (!rc)
		rc = tree_order_make(&order, &g->tree, g->rank, g->frames.n + 1, err);
	if (!rc) {
		g->preorder = calloc(g->tree.nodes.n, sizeof *g->preorder);
		if (!g->preorder || write_nodes(g, &order))
			rc = err_nomem(err);
	}
	tree_order_done(&order);
	return rc;
}

uint32_t page_node_of(const struct page *g, uint32_t node)
{
	return node ? g->preorder[g->tree.seen[node].node] : 0;
}
