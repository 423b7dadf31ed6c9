/* top_diff.c - a table of what changed, as perf diff lays it out; the largest change first. */
#include "base/err.h"
#include "output/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fit.h"
#include "output/function_rows.h"

#define LEAST	    0.0001 /* of the whole: one hundredth of a percent */
#define LEAST_WHOLE 0.005  /* percent: what two decimals show */

struct changes {
	const struct function_rows *rows;
	const struct output_options *opt;
	bool is_total;
	unsigned n, noise;
	struct text t;
};

static void add_row(struct changes *c, uint32_t symbol)
{
	const double base = function_share(c->rows, 0, symbol, c->is_total);
	const double new = function_share(c->rows, 1, symbol, c->is_total);
	const bool noise = function_is_noise(c->rows, &c->opt->diff, symbol, c->is_total);
	const unsigned width = c->opt->top.width;
	struct text name = {0};
	char buf[96];
	size_t used;

	snprintf(buf, sizeof buf, "%9.2f%% %8.2f%% %+8.2f%%%s  ", 100 * base, 100 * new,
		 100 * (new - base), noise ? "~" : " ");
	text_str(&c->t, buf);
	used = strlen(buf);
	function_module(&name, c->rows, symbol);
	fit_add(&c->t, name.s, name.n, 24);
	text_pad(&c->t, fit_width(name.s, name.n), 24);
	name.n = 0;
	text_str(&c->t, "  ");
	function_name(&name, c->rows, symbol);
	used += 26;
	fit_add(&c->t, name.s, name.n, !width ? SIZE_MAX : width > used + 8 ? width - used : 8);
	text_char(&c->t, '\n');
	c->noise += noise;
	c->n++;
	c->t.failed |= name.failed;
	text_done(&name);
}

/* How the whole of a run changed, in percent: shares do not show it. */
static double whole_change(const struct changes *c)
{
	double runs[2];

	for (int k = 0; k < 2; k++) {
		const unsigned n = c->opt->diff.sides[k].runs;

		runs[k] = (double)c->rows->sums[k].node[0] / (n ? n : 1);
	}
	return runs[0] > 0 ? 100 * (runs[1] / runs[0] - 1) : 0;
}

static void add_head(struct changes *c)
{
	const double change = whole_change(c);
	char buf[160];

	for (int k = 0; k < 2; k++) {
		const struct diff_side *s = &c->opt->diff.sides[k];

		snprintf(buf, sizeof buf, "# %s: %u run%s, weight %llu\n", k ? "New" : "Base",
			 s->runs, &"s"[s->runs == 1],
			 (unsigned long long)c -> rows -> sums[k].node[0]);
		text_str(&c->t, buf);
	}
	if (fabs(change) >= LEAST_WHOLE) {
		snprintf(buf, sizeof buf, "# The whole of a run: %+.2f%%\n", change);
		text_str(&c->t, buf);
	}
	text_str(&c->t, c->is_total ? "# Shares include callees.\n" : "");
	text_str(&c->t, "#\n#    Base       New     Delta   Shared Object             Symbol\n#\n");
}

static int add_rows(struct changes *c)
{
	const struct top_options *o = &c->opt->top;
	const unsigned fit = o->lines > 8 ? o->lines - 8 : 3;
	uint32_t *order = function_rows_sorted(c->rows, c->is_total ? ROWS_BY_TOTAL_CHANGE
								    : ROWS_BY_OWN_CHANGE);
	size_t i;

	if (!order)
		return -1;
	for (i = 0; i < c->rows->f.v.n; i++) {
		const double delta = fabs(function_share(c->rows, 1, order[i], c->is_total) -
					  function_share(c->rows, 0, order[i], c->is_total));

		if (delta < LEAST || 100 * delta < o->limit || (o->rows && c->n >= o->rows) ||
		    (!o->rows && o->lines && c->n >= fit))
			break;
		add_row(c, order[i]);
	}
	free(order);
	if (c->noise)
		text_str(&c->t, "# ~ may be chance: the number of samples, or the spread of the "
				"runs, explains it\n");
	if (!c->n)
		text_str(&c->t, fabs(whole_change(c)) >= LEAST_WHOLE ? "# no share of it changed\n"
								     : "# nothing changed\n");
	return 0;
}

int top_write_diff(const struct profile *p, const struct output_options *opt,
		   struct event_set *events, FILE *out, struct err *err)
{
	struct function_rows rows = {0};
	struct changes c = {.rows = &rows, .opt = opt, .is_total = opt->top.children};
	int rc;

	event_set_pick(events, 0);
	rc = function_rows(&rows, p, opt, events->has, err);
	if (!rc) {
		add_head(&c);
		rc = add_rows(&c) || c.t.failed ? err_nomem(err) : 0;
	}
	if (!rc)
		text_flush(&c.t, out);
	function_rows_done(&rows);
	text_done(&c.t);
	return rc;
}
