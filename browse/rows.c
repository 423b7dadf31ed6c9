/* rows.c - see rows.h. */
#include "browse/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/vec.h"

static void drop_rows(struct rows *r, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++)
		free(r->v.v[i].places);
	if (from + n < r->v.n)
		memmove(r->v.v + from, r->v.v + from + n, (r->v.n - from - n) * sizeof *r->v.v);
	r->v.n -= n;
}

static void swap_kept(struct rows *r)
{
	const struct rows were = *r;

	r->v = were.kept;
	r->kept = were.v;
}

void rows_drop_kept(struct rows *r)
{
	swap_kept(r);
	drop_rows(r, 0, r->v.n);
	swap_kept(r);
}

void rows_keep(struct rows *r)
{
	rows_drop_kept(r);
	swap_kept(r);
	r->kept_view = r->view;
}

void rows_restore(struct rows *r)
{
	swap_kept(r);
	rows_drop_kept(r);
	r->view = r->kept_view;
}

void rows_done(struct rows *r)
{
	drop_rows(r, 0, r->v.n);
	rows_drop_kept(r);
	vec_done(&r->v);
	vec_done(&r->kept);
}

size_t rows_parent(const struct rows *r, size_t at)
{
	size_t i = at;

	while (i && r->v.v[i].depth >= r->v.v[at].depth)
		i--;
	return r->v.v[i].depth < r->v.v[at].depth ? i : at;
}

void rows_fold(struct rows *r, size_t at)
{
	size_t n = 0;

	while (at + 1 + n < r->v.n && r->v.v[at + 1 + n].depth > r->v.v[at].depth)
		n++;
	drop_rows(r, at + 1, n);
	r->v.v[at].is_unfolded = false;
}

/* Inserts a row for each group behind row `at`. */
static int insert_groups(struct rows *r, size_t at, const struct group *g, size_t n,
			 const struct place *next, enum direction to)
{
	const unsigned depth = r->v.v[at].depth + 1;

	if (vec_reserve(&r->v, r->v.n + n))
		return -1;
	memmove(r->v.v + at + 1 + n, r->v.v + at + 1, (r->v.n - at - 1) * sizeof *r->v.v);
	r->v.n += n;
	memset(r->v.v + at + 1, 0, n * sizeof *r->v.v);
	for (size_t i = 0; i < n; i++) {
		struct row *row = &r->v.v[at + 1 + i];

		*row = (struct row){.kind = to == TO_CALLERS ? ROW_CALLER : ROW_CALLEE,
				    .symbol = g[i].symbol,
				    .depth = depth,
				    .weight = {g[i].weight[0], g[i].weight[1]},
				    .own = {g[i].own[0], g[i].own[1]},
				    .places = malloc((g[i].n + 1) * sizeof *row->places),
				    .n_places = g[i].n};
		if (!row->places) {
			r->v.v[at].is_unfolded = true;
			return -1;
		}
		memcpy(row->places, next + g[i].first, g[i].n * sizeof *next);
	}
	return 0;
}

static enum direction direction_of(const struct rows *r, const struct row *row)
{
	return row->kind == ROW_CALLER	 ? TO_CALLERS
	       : row->kind == ROW_CALLEE ? TO_CALLEES
					 : r->unfolds;
}

int rows_unfold(struct rows *r, size_t at)
{
	struct row *row = &r->v.v[at];
	const enum direction to = direction_of(r, row);
	struct group *groups = NULL;
	struct place *next = NULL;
	size_t n = 0;
	int rc;

	if (row->is_unfolded || row->is_leaf || row->kind == ROW_HEADING)
		return 0;
	if (!row->places) {
		row->places = model_places(r->m, row->symbol, &row->n_places);
		if (!row->places)
			return -1;
	}
	rc = model_group(r->m, row->places, row->n_places, to, &groups, &n, &next);
	if (!rc && n)
		rc = insert_groups(r, at, groups, n, next, to);
	r->v.v[at].is_unfolded = !rc && n;
	r->v.v[at].is_leaf = !rc && !n;
	free(groups);
	free(next);
	return rc;
}

int rows_unfold_hottest(struct rows *r, size_t at)
{
	enum { DEEPEST = 200 };
	const uint64_t whole = r->v.v[at].weight[0] + r->v.v[at].weight[1];

	for (unsigned i = 0; i < DEEPEST; i++, at++) {
		if (rows_unfold(r, at))
			return -1;
		if (!r->v.v[at].is_unfolded ||
		    (r->v.v[at + 1].weight[0] + r->v.v[at + 1].weight[1]) * 2 < whole)
			break;
	}
	return 0;
}

static uint64_t larger(const uint64_t *w)
{
	return w[0] > w[1] ? w[0] : w[1];
}

static uint32_t heaviest_place(const struct model *m, const bool *wanted)
{
	uint64_t most = 0;
	uint32_t best = 0;

	for (uint32_t i = 1; i < m->tree.nodes.n; i++) {
		const uint64_t w[2] = {m->sums[0].node[i], m->sides == 2 ? m->sums[1].node[i] : 0};

		if (wanted[m->tree.nodes.v[i].symbol] && larger(w) > most) {
			most = larger(w);
			best = i;
		}
	}
	return best;
}

int rows_unfold_to(struct rows *r, const bool *wanted, size_t *at)
{
	const struct tree_node *nodes = r->m->tree.nodes.v;
	const uint32_t place = heaviest_place(r->m, wanted);
	VEC(uint32_t) way = {0}; /* symbols, the place's first */
	size_t row = 0;
	int rc = 0;

	for (uint32_t i = place; i && !rc; i = nodes[i].parent)
		rc = vec_push(&way, nodes[i].symbol);
	for (size_t i = way.n; i-- && !rc;) {
		const unsigned depth = r->v.v[row].depth + 1;

		rc = rows_unfold(r, row++);
		while (!rc && row < r->v.n && r->v.v[row].depth >= depth &&
		       (r->v.v[row].depth > depth || r->v.v[row].symbol != way.v[i]))
			row++;
		assert(rc || (row < r->v.n && r->v.v[row].depth == depth));
	}
	vec_done(&way);
	*at = place && !rc ? row : *at;
	return rc;
}

/* ---- views ---------------------------------------------------------------------------------- */

static double change_of(const struct rows *r, const struct row *row)
{
	const double d = model_share(r->m, 1, row->own[1]) - model_share(r->m, 0, row->own[0]);

	return d < 0 ? -d : d;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct rows *r = arg;
	const struct row *x = a, *y = b;
	const uint64_t own_x = larger(x->own), own_y = larger(y->own);
	const uint64_t all_x = larger(x->weight), all_y = larger(y->weight);
	const int own = (own_x < own_y) - (own_x > own_y);
	const int all = (all_x < all_y) - (all_x > all_y);
	int rc = r->sorting == SORT_OWN ? (own ? own : all) : (all ? all : own);

	if (r->sorting == SORT_CHANGE) {
		const double p = change_of(r, x), q = change_of(r, y);

		rc = (p < q) - (p > q);
	}
	return rc ? rc
		  : strcmp(strtab_get(&r->m->f.frames.names, r->m->f.v.v[x->symbol].name),
			   strtab_get(&r->m->f.frames.names, r->m->f.v.v[y->symbol].name));
}

static struct row whole_function(const struct rows *r, uint32_t symbol)
{
	struct row row = {.kind = ROW_FUNCTION, .symbol = symbol};

	for (unsigned k = 0; k < r->m->sides; k++) {
		row.weight[k] = r->m->sums[k].total[symbol];
		row.own[k] = r->m->sums[k].own[symbol];
	}
	return row;
}

static int make_functions(struct rows *r)
{
	const struct model *m = r->m;

	for (uint32_t i = 0; i < m->f.v.n; i++) {
		const struct row row = whole_function(r, i);
		const uint32_t module = m->p->mappings.v[m->f.v.v[i].mapping].short_name;

		if (!(row.weight[0] | row.weight[1]) || (r->module >= 0 && module != r->module))
			continue;
		if (vec_push(&r->v, row))
			return -1;
	}
	if (r->v.n)
		qsort_r(r->v.v, r->v.n, sizeof *r->v.v, compare_rows, r);
	return r->v.n ? rows_unfold_hottest(r, 0) : 0;
}

/* A row above all, whose callees are the roots. */
static int make_tree(struct rows *r)
{
	struct row all = {.kind = ROW_CALLEE, .symbol = UINT32_MAX, .words = "all stacks"};

	for (unsigned k = 0; k < r->m->sides; k++)
		all.weight[k] = model_all(r->m, (int)k);
	all.places = calloc(1, sizeof *all.places);
	all.n_places = 1;
	if (!all.places || vec_push(&r->v, all)) {
		free(all.places);
		return -1;
	}
	return rows_unfold_hottest(r, 0);
}

static int make_sandwich(struct rows *r)
{
	struct row row = whole_function(r, r->symbol);

	row.kind = ROW_CALLEE;
	row.places = model_places(r->m, r->symbol, &row.n_places);
	if (!row.places ||
	    vec_push(&r->v, ((struct row){.kind = ROW_HEADING, .words = "callers of"}))) {
		free(row.places);
		return -1;
	}
	if (vec_push(&r->v, whole_function(r, r->symbol)) ||
	    vec_push(&r->v, ((struct row){.kind = ROW_HEADING, .words = "callees of"})) ||
	    vec_push(&r->v, row)) {
		free(row.places);
		return -1;
	}
	r->v.v[1].kind = ROW_CALLER;
	return rows_unfold_hottest(r, 3) || rows_unfold_hottest(r, 1) ? -1 : 0;
}

int rows_make(struct rows *r)
{
	drop_rows(r, 0, r->v.n);
	switch (r->view) {
	case VIEW_TREE:
		return make_tree(r);
	case VIEW_SANDWICH:
		return make_sandwich(r);
	default:
		return make_functions(r);
	}
}
