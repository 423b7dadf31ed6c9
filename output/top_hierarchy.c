/* top_hierarchy.c - top with a level for each column, as perf report --hierarchy: what functions
 * cost themselves, added up by command, file .. */
#include "base/strtab.h"
#include "base/vec.h"
#include "output/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/sum.h"

struct group {
	uint32_t cell;
	size_t first, n; /* in order */
	uint64_t weight;
};

struct hierarchy {
	struct top *t;
	struct top_column_row columns[TOP_COLUMNS_MAX];
	size_t n_columns, level;
	uint64_t total;
	FILE *out;
};

static uint32_t cell(const struct hierarchy *h, uint32_t row)
{
	return top_cell(h->t, &h->t->rows.v[row], h->columns[h->level].bit);
}

static int by_cell(const void *a, const void *b, void *arg)
{
	const uint32_t x = cell(arg, *(const uint32_t *)a), y = cell(arg, *(const uint32_t *)b);

	return (x > y) - (x < y);
}

/* Heavier ones first. */
static int by_weight(const void *a, const void *b, void *arg)
{
	const struct strtab *names = &((const struct hierarchy *)arg)->t->names;
	const struct group *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(strtab_get(names, x->cell), strtab_get(names, y->cell));
}

static void add_group(struct hierarchy *h, const struct group *g)
{
	struct text *t = &h->t->text;
	const char *name = strtab_get(&h->t->names, g->cell);

	text_pad(t, 0, 4 * h->level);
	top_add_share(h->t, top_percent(g->weight, h->total));
	text_str(t, "  ");
	text_str(t, *name ? name : "-");
	text_char(t, '\n');
	if (t->n > FLUSH_BYTES)
		text_flush(t, h->out);
}

static int add_level(struct hierarchy *h, uint32_t *order, size_t n)
{
	VEC(struct group) groups = {0};
	size_t i, shown = 0;
	int rc = 0;

	qsort_r(order, n, sizeof *order, by_cell, h);
	for (i = 0; !rc && i < n; i++) {
		const uint32_t at = cell(h, order[i]);

		if (!groups.n || groups.v[groups.n - 1].cell != at)
			rc = vec_push(&groups, ((struct group){at, i, 0, 0}));
		if (rc)
			break;
		groups.v[groups.n - 1].n++;
		groups.v[groups.n - 1].weight =
			add_saturated(groups.v[groups.n - 1].weight, h->t->rows.v[order[i]].self);
	}
	if (!rc && groups.n)
		qsort_r(groups.v, groups.n, sizeof *groups.v, by_weight, h);
	for (i = 0; !rc && i < groups.n; i++) {
		const struct group *g = &groups.v[i];

		if (!g->weight || top_percent(g->weight, h->total) < h->t->opt->top.limit ||
		    (h->t->opt->top.rows && shown++ >= h->t->opt->top.rows))
			break;
		add_group(h, g);
		if (++h->level < h->n_columns)
			rc = add_level(h, order + g->first, g->n);
		h->level--;
	}
	vec_done(&groups);
	return rc;
}

int top_write_hierarchy(struct top *t, uint32_t event, uint64_t total, FILE *out)
{
	struct hierarchy h = {.t = t, .total = total, .out = out};
	uint32_t *order = malloc((t->rows.n + 1) * sizeof *order);
	size_t n = 0;
	int rc;

	if (!order)
		return -1;
	for (size_t i = 0; i < t->rows.n; i++)
		if (top_is_wanted(t, &t->rows.v[i]))
			order[n++] = (uint32_t)i;
	h.n_columns = top_columns(t, h.columns);
	top_add_head(t, event);
	text_str(&t->text, "#\n# Overhead  ");
	for (size_t i = 0; i < h.n_columns; i++) {
		text_str(&t->text, i ? " / " : "");
		text_str(&t->text, h.columns[i].title);
	}
	text_str(&t->text, "\n#\n");
	rc = add_level(&h, order, n);
	text_flush(&t->text, out);
	free(order);
	return rc || t->text.failed ? -1 : 0;
}
