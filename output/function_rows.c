/* function_rows.c - see function_rows.h. */
#include "output/function_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strtab.h"
#include "output/diff.h"

int function_rows(struct function_rows *r, const struct profile *p,
		  const struct output_options *opt, const bool *has_event, struct err *err)
{
	struct stack_style style = opt->style;
	int rc;

	r->p = p;
	r->is_diff = opt->diff.is_diff;
	style.keep_apart = true; /* f(int) and f(long) are two rows */
	rc = function_symbols(&r->f, p, &style, err);
	if (!rc)
		rc = tree_fill(&r->tree, p, has_event, &r->f.symbols, err);
	if (!rc)
		rc = tree_sums(&r->sums[0], &r->tree, r->f.v.n,
			       opt->count_samples || r->is_diff ? TREE_BY_COUNT : TREE_BY_WEIGHT,
			       err);
	if (!rc && r->is_diff)
		rc = tree_sums(&r->sums[1], &r->tree, r->f.v.n, TREE_BY_PERIOD, err);
	if (!rc && r->is_diff) {
		r->limits = diff_limits(p, &opt->diff, &r->tree, 0, r->f.v.n);
		rc = r->limits ? 0 : err_nomem(err);
	}
	return rc;
}

void function_rows_done(struct function_rows *r)
{
	function_symbols_done(&r->f);
	tree_done(&r->tree);
	tree_sums_done(&r->sums[0]);
	tree_sums_done(&r->sums[1]);
	free(r->limits);
}

double function_share(const struct function_rows *r, int side, uint32_t symbol, bool is_total)
{
	const struct tree_sums *s = &r->sums[side];

	return s->node[0] ? (double)(is_total ? s->total : s->own)[symbol] / (double)s->node[0] : 0;
}

bool function_is_noise(const struct function_rows *r, const struct output_diff *d, uint32_t symbol,
		       bool is_total)
{
	return diff_is_noise(d, function_share(r, 0, symbol, is_total),
			     function_share(r, 1, symbol, is_total), r->limits[symbol]);
}

void function_name(struct text *t, const struct function_rows *r, uint32_t symbol)
{
	const uint32_t name = r->f.v.v[symbol].name;

	text_add(t, strtab_get(&r->f.frames.names, name), strtab_len(&r->f.frames.names, name));
}

void function_module(struct text *t, const struct function_rows *r, uint32_t symbol)
{
	const uint32_t mapping = r->f.v.v[symbol].mapping;
	const char *name = mapping ? profile_mapping_short_name(r->p, mapping) : "[unknown]";

	text_clean(t, name, strlen(name));
}

/* ---- order ---------------------------------------------------------------------------------- */

struct sorting {
	const struct function_rows *r;
	enum function_order by;
};

static double weight_of(const struct sorting *s, uint32_t symbol)
{
	const bool is_total = s->by == ROWS_BY_TOTAL || s->by == ROWS_BY_TOTAL_CHANGE;

	if (s->by == ROWS_BY_OWN || s->by == ROWS_BY_TOTAL)
		return function_share(s->r, 0, symbol, is_total);
	return fabs(function_share(s->r, 1, symbol, is_total) -
		    function_share(s->r, 0, symbol, is_total));
}

static int compare(const void *pa, const void *pb, void *arg)
{
	const struct sorting *s = arg;
	const struct function_rows *r = s->r;
	const uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	const double x = weight_of(s, a), y = weight_of(s, b);
	int rc = (x < y) - (x > y);

	if (!rc)
		rc = strcmp(strtab_get(&r->f.frames.names, r->f.v.v[a].name),
			    strtab_get(&r->f.frames.names, r->f.v.v[b].name));
	return rc ? rc
		  : strcmp(profile_mapping_short_name(r->p, r->f.v.v[a].mapping),
			   profile_mapping_short_name(r->p, r->f.v.v[b].mapping));
}

uint32_t *function_rows_sorted(const struct function_rows *r, enum function_order by)
{
	struct sorting s = {r, by};
	uint32_t *order = malloc((r->f.v.n + 1) * sizeof *order);

	for (size_t i = 0; order && i < r->f.v.n; i++)
		order[i] = (uint32_t)i;
	if (order)
		qsort_r(order, r->f.v.n, sizeof *order, compare, &s);
	return order;
}
