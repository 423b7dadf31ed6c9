/* picture_place.c - which frames of a flame graph are drawn, and where. */
#include <stdlib.h>

#include "base/err.h"
#include "base/strtab.h"
#include "base/sum.h"
#include "base/vec.h"
#include "output/diff.h"
#include "output/formats.h"
#include "output/picture.h"

/* ---- what is drawn -------------------------------------------------------------------------- */

static int compare_names(const void *pa, const void *pb, void *arg)
{
	const struct strtab *names = arg;

	return strcmp(strtab_get(names, *(const uint32_t *)pa),
		      strtab_get(names, *(const uint32_t *)pb));
}

/* Siblings are sorted by name, as in all flame graphs. */
static int order_by_name(struct flamegraph *f, struct err *err)
{
	struct strtab *names = &f->stacks.names;
	size_t i, n = strtab_count(names);
	uint32_t *sorted = malloc((n + 1) * sizeof *sorted), *rank = malloc((n + 1) * sizeof *rank);
	int rc;

	for (i = 0; sorted && i < n; i++)
		sorted[i] = (uint32_t)i;
	if (sorted && rank) {
		qsort_r(sorted, n, sizeof *sorted, compare_names, names);
		for (i = 0; i < n; i++)
			rank[sorted[i]] = (uint32_t)i;
		rc = tree_order_make(&f->order, f->tree, rank, n, err);
	} else {
		rc = err_nomem(err);
	}
	free(sorted);
	free(rank);
	return rc;
}

/* Of a difference: each side is scaled to 1, however long it was recorded. The widths are the mean
 * of both sides unless one side is selected, so that vanished frames are visible as well as new
 * ones. */
static int sum_sides(struct flamegraph *f, struct err *err)
{
	static const double parts[][2] = {[DIFF_WIDTH_MEAN] = {.5, .5},
					  [DIFF_WIDTH_BASE] = {1, 0},
					  [DIFF_WIDTH_NEW] = {0, 1}};
	const double *part = parts[f->look->diff_width];
	const struct tree *t = f->tree;
	double whole[2];
	size_t i, k;

	f->totals = calloc(t->nodes.n, sizeof *f->totals);
	f->sides[0] = calloc(t->nodes.n, sizeof **f->sides);
	f->sides[1] = calloc(t->nodes.n, sizeof **f->sides);
	f->limits = diff_limits(f->p, &f->opt->diff, &f->stacks.tree, 0,
				strtab_count(&f->stacks.names));
	if (!f->totals || !f->sides[0] || !f->sides[1] || !f->limits)
		return err_nomem(err);
	for (i = t->nodes.n; i--;) {
		f->sides[0][i] += (double)t->nodes.v[i].count;
		f->sides[1][i] += (double)t->nodes.v[i].period;
		for (k = 0; i && k < 2; k++)
			f->sides[k][t->nodes.v[i].parent] += f->sides[k][i];
	}
	for (k = 0; k < 2; k++)
		whole[k] = f->sides[k][0] > 0 ? f->sides[k][0] : 1;
	for (i = 0; i < t->nodes.n; i++) {
		for (k = 0; k < 2; k++)
			f->sides[k][i] /= whole[k];
		f->totals[i] =
			(uint64_t)((f->sides[0][i] * part[0] + f->sides[1][i] * part[1]) * 1e9 +
				   .5);
	}
	return 0;
}

static int sum_totals(struct flamegraph *f, struct err *err)
{
	const struct tree *t = f->tree;
	size_t i;

	if (f->opt->diff.is_diff)
		return sum_sides(f, err);

	f->totals = calloc(t->nodes.n, sizeof *f->totals);
	if (!f->totals)
		return err_nomem(err);
	for (i = t->nodes.n; i--;) {
		const struct tree_node *n = &t->nodes.v[i];

		f->totals[i] =
			add_saturated(f->totals[i], format_weight(f->opt, n->count, n->period));
		if (i)
			f->totals[n->parent] = add_saturated(f->totals[n->parent], f->totals[i]);
	}
	return 0;
}

/* Appends the children of boxes[at] to the list. Their sum may be less than the box: the rest are
 * samples that end there. */
static int add_children(struct flamegraph *f, size_t at)
{
	struct box parent = f->boxes.v[at];
	uint64_t start = parent.start;
	uint32_t i;

	for (i = f->order.first[parent.node]; i < f->order.first[parent.node + 1]; i++) {
		uint32_t id = f->order.ids[i];
		struct box b = {id, parent.depth + 1, start};

		start = add_saturated(start, f->totals[id]);
		if (!f->totals[id] || (double)f->totals[id] * f->scale < f->min_width ||
		    b.depth >= PICTURE_ROWS) {
			f->too_deep |= b.depth >= PICTURE_ROWS;
			f->hidden = add_saturated(f->hidden, f->totals[id]);
			continue;
		}
		if (vec_push(&f->boxes, b))
			return -1;
		f->rows = b.depth + 1 > f->rows ? b.depth + 1 : f->rows;
	}
	return 0;
}

/* Adds row after row; stops where there are too many boxes. */
static int add_boxes(struct flamegraph *f)
{
	size_t i;

	f->rows = 1;
	f->hidden = 0;
	f->boxes.n = 0;
	if (vec_push(&f->boxes, (struct box){0}))
		return -1;
	for (i = 0; i < f->boxes.n && f->boxes.n <= PICTURE_BOXES; i++)
		if (add_children(f, i))
			return -1;
	return 0;
}

static int place_boxes(struct flamegraph *f, struct err *err)
{
	int rc;

	f->scale = f->totals[0] ? (f->width - 2.0 * PICTURE_PAD) / (double)f->totals[0] : 0;
	f->min_width = f->look->min_width;
	for (rc = add_boxes(f); !rc && f->boxes.n > PICTURE_BOXES; rc = add_boxes(f))
		f->min_width =
			f->min_width * 2 > PICTURE_MIN_WIDTH ? f->min_width * 2 : PICTURE_MIN_WIDTH;
	return rc ? err_nomem(err) : 0;
}

int picture_place(struct flamegraph *f, struct err *err)
{
	int rc = sum_totals(f, err);

	if (!rc)
		rc = order_by_name(f, err);
	if (!rc)
		rc = place_boxes(f, err);
	f->names = rc ? NULL : calloc(strtab_count(&f->stacks.names) + 1, sizeof *f->names);
	return !rc && !f->names ? err_nomem(err) : rc;
}

void picture_done(struct flamegraph *f)
{
	named_done(&f->stacks);
	tree_done(&f->reversed);
	tree_order_done(&f->order);
	free(f->totals);
	free(f->sides[0]);
	free(f->sides[1]);
	free(f->limits);
	free(f->names);
	vec_done(&f->boxes);
	text_done(&f->out);
}
