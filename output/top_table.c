/* top_table.c - the rows of top as a table, as perf report --stdio lays it out. */
#include "base/strtab.h"
#include "output/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/fit.h"

enum { CALLERS_SHOWN = 3, TREE_SUPPOSED = 10, UNNAMED_TOLD = 5 /* percent */ };

/* ---- the table ------------------------------------------------------------------------------ */

uint32_t top_cell(const struct top *t, const struct top_row *r, enum top_column c)
{
	const struct top_task *task = &t->tasks.v[r->task];

	switch (c) {
	case TOP_COMM:
		return task->comm;
	case TOP_PID:
		return task->pid;
	case TOP_TID:
		return task->tid;
	case TOP_CPU:
		return task->cpu;
	case TOP_CGROUP:
		return task->cgroup;
	case TOP_DSO:
		return r->kind.dso;
	case TOP_LINE:
		return r->kind.line;
	default:
		return r->kind.symbol;
	}
}

size_t top_columns(const struct top *t, struct top_column_row *ret)
{
	static const struct top_column_row all[] = {
		{TOP_CGROUP, "Cgroup", 0},    {TOP_COMM, "Command", 0},
		{TOP_PID, "Pid", 0},	      {TOP_TID, "Tid", 0},
		{TOP_CPU, "CPU", 0},	      {TOP_DSO, "Shared Object", 0},
		{TOP_LINE, "Source:Line", 0}, {TOP_SYMBOL, "Symbol", 0},
	};
	size_t n = 0;

	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		if (top_has_column(t, all[k].bit))
			ret[n++] = all[k];
	return n;
}

/* For rows of equal weight. */
static int compare_names(const struct top *t, const struct top_row *a, const struct top_row *b)
{
	struct top_column_row columns[TOP_COLUMNS_MAX];
	size_t n = top_columns(t, columns);
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++)
		rc = strcmp(strtab_get(&t->names, top_cell(t, a, columns[i].bit)),
			    strtab_get(&t->names, top_cell(t, b, columns[i].bit)));
	return rc;
}

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct top *t = arg;
	const struct top_row *a = &t->rows.v[*(const uint32_t *)pa];
	const struct top_row *b = &t->rows.v[*(const uint32_t *)pb];
	int by_self = (a->self < b->self) - (a->self > b->self);
	int by_children = (a->children < b->children) - (a->children > b->children);
	int rc = top_by_own(t) ? by_self : by_children;

	if (!rc)
		rc = top_by_own(t) ? by_children : by_self;
	return rc ? rc : compare_names(t, a, b);
}

/* ---- shares --------------------------------------------------------------------------------- */

enum { HUNDREDTHS = 10000 };

struct remainder {
	uint64_t rest; /* of self * HUNDREDTHS / total */
	uint32_t row;
};

/* Larger remainders first, equal ones in the order of rows. */
static int compare_remainders(const void *pa, const void *pb)
{
	const struct remainder *a = pa, *b = pb;

	if (a->rest != b->rest)
		return a->rest < b->rest ? 1 : -1;
	return (a->row > b->row) - (a->row < b->row);
}

/* How many hundredths of a percent `part` is of `total`, and what is left over of that. */
static uint64_t hundredths(uint64_t part, uint64_t total, uint64_t *rest)
{
	while (total > UINT64_MAX / HUNDREDTHS) { /* sums that no clock reaches */
		total /= 2;
		part /= 2;
	}
	*rest = part * HUNDREDTHS % total;
	return part * HUNDREDTHS / total;
}

/* Rounds the rows' own shares so that they add up to 100 %: all down, then those that lost most by
 * it up. */
static int round_shares(struct top *t, const uint32_t *order, uint64_t total)
{
	struct remainder *v = malloc((t->rows.n + 1) * sizeof *v);
	size_t i, left = HUNDREDTHS;

	if (!v)
		return -1;
	for (i = 0; i < t->rows.n && total; i++) {
		struct top_row *r = &t->rows.v[order[i]];

		v[i].row = (uint32_t)i;
		r->share = (uint32_t)hundredths(r->self, total, &v[i].rest);
		left -= r->share < left ? r->share : left;
	}
	qsort(v, total ? t->rows.n : 0, sizeof *v, compare_remainders);
	for (i = 0; i < t->rows.n && i < left && total && v[i].rest; i++)
		t->rows.v[order[v[i].row]].share++;
	free(v);
	return 0;
}

static void add_percent(struct text *out, uint64_t part, uint64_t total, int width)
{
	char buf[32];

	text_add(out, buf,
		 (size_t)snprintf(buf, sizeof buf, "%*.2f%%", width, top_percent(part, total)));
}

/* Colours as perf's: red from 5 percent on, green above .5. */
void top_add_share(struct top *t, double percent)
{
	char buf[32];
	const char *colour = !t->opt->top.colours ? ""
			     : percent >= 5	  ? "\x1b[31m"
			     : percent > .5	  ? "\x1b[32m"
						  : "";

	text_str(&t->text, colour);
	text_add(&t->text, buf, (size_t)snprintf(buf, sizeof buf, "%9.2f%%", percent));
	text_str(&t->text, *colour ? "\x1b[0m" : "");
}

static size_t width_of(const struct top *t, uint32_t name)
{
	return fit_width(strtab_get(&t->names, name), strtab_len(&t->names, name));
}

/* Cuts a line's last name to what is left of the line after `before` columns, but not to nothing.
 */
static void add_last(struct top *t, uint32_t id, size_t before)
{
	enum { LEAST = 8 };
	size_t left = t->opt->top.width > before + LEAST ? t->opt->top.width - before : LEAST;

	fit_add(&t->text, strtab_get(&t->names, id), strtab_len(&t->names, id),
		t->opt->top.width ? left : SIZE_MAX);
}

/* Returns the columns it took. */
static size_t add_cell(struct top *t, uint32_t id, size_t width, size_t before)
{
	text_str(&t->text, "  ");
	if (!width) {
		add_last(t, id, before + 2);
		return 0;
	}
	fit_add(&t->text, strtab_get(&t->names, id), strtab_len(&t->names, id), width);
	text_pad(&t->text, width_of(t, id), width);
	return width + 2;
}

static void add_stitched(struct text *out, double share)
{
	char buf[96];

	if (share > 0)
		text_add(out, buf,
			 (size_t)snprintf(buf, sizeof buf,
					  "\n# Stitched: %.2f%% have callers of another sample",
					  100 * share));
}

/* ---- columns of names: width 0: it is the last, whose width does not matter ----------------- */

/* Makes columns narrower, so that a line fits into the terminal and its last name has some room:
 * first the widest, but none to less than LEAST. */
static void fit_columns(const struct top *t, struct top_column_row *v, size_t n)
{
	enum { LEAST = 8, LAST = 30 };
	size_t used = 2 * TOP_SHARE_COLUMNS + LAST, i, widest;

	for (i = 0; i < n; i++)
		used += v[i].width + 2;
	for (; t->opt->top.width && used > t->opt->top.width; used--) {
		for (i = widest = 0; i < n; i++)
			if (v[i].width > v[widest].width)
				widest = i;
		if (v[widest].width <= LEAST)
			return;
		v[widest].width--;
	}
}

static size_t find_columns(const struct top *t, const uint32_t *order, size_t n,
			   struct top_column_row *ret)
{
	size_t i, k, used = top_columns(t, ret);

	for (k = 0; k + 1 < used; k++) {
		ret[k].width = strlen(ret[k].title);
		for (i = 0; i < n; i++) {
			size_t width = width_of(t, top_cell(t, &t->rows.v[order[i]], ret[k].bit));

			ret[k].width = width > ret[k].width ? width : ret[k].width;
		}
	}
	fit_columns(t, ret, used);
	return used;
}

/* Share of the weight whose samples have no frame (other tools' profiles have such). */
static double frameless_share(const struct top *t, uint32_t event)
{
	double all = 0, part = 0;

	for (size_t i = 0; i < t->p->samples.n; i++) {
		const struct profile_sample *s = &t->p->samples.v[i];
		const double w = (double)format_weight(t->opt, s->count, s->period);

		all += s->event == event ? w : 0;
		part += s->event == event && !s->node ? w : 0;
	}
	return all > 0 ? part / all : 0;
}

void top_event_head(struct text *out, const struct profile *p, uint32_t event)
{
	const struct profile_event *e = &p->events.v[event];

	if (e->is_sum) {
		text_str(out, "# Event '");
	} else {
		text_str(out, "# Samples: ");
		text_dec(out, e->samples, 0);
		text_str(out, " of event '");
	}
	text_string(out, p, e->name);
	text_str(out, "'\n# Event count (approx.): ");
	text_dec(out, e->period ? e->period : e->samples, 0); /* without periods each weighs 1 */
	text_char(out, '\n');
}

void top_add_head(struct top *t, uint32_t event)
{
	const double frameless = frameless_share(t, event);
	char buf[64];

	top_event_head(&t->text, t->p, event);
	if (frameless > 0)
		text_add(&t->text, buf,
			 (size_t)snprintf(buf, sizeof buf,
					  "# Without frames: %.2f%%, which no row has\n",
					  100 * frameless));
}

static void add_head(struct top *t, uint32_t event, double stitched,
		     const struct top_column_row *columns, size_t n)
{
	struct text *out = &t->text;
	size_t i, k;

	top_add_head(t, event);
	out->n--;
	add_stitched(out, stitched);
	text_str(out, t->opt->top.no_children ? "\n#\n# Overhead" : "\n#\n# Children      Self");
	for (i = 0; i < n; i++) {
		text_str(out, "  ");
		fit_add(out, columns[i].title, strlen(columns[i].title),
			columns[i].width ? columns[i].width : SIZE_MAX);
		text_pad(out, strlen(columns[i].title), columns[i].width);
	}
	text_str(out, t->opt->top.no_children ? "\n# ........" : "\n# ........  ........");
	for (i = 0; i < n; i++) {
		text_str(out, "  ");
		for (k = 0; k < (columns[i].width ? columns[i].width : strlen("......")); k++)
			text_char(out, '.');
	}
	text_str(out, "\n#\n");
}

/* ---- rows ----------------------------------------------------------------------------------- */

static uint64_t weight_of(const struct top *t, const struct top_row *r)
{
	return top_by_own(t) ? r->self : r->children;
}

/* Heavier edges first, equal ones in the order in which they were found. */
static bool is_before(const struct top_edge *a, const struct top_edge *b)
{
	return a->weight != b->weight ? a->weight > b->weight : a < b;
}

static void add_callers(struct top *t, uint32_t row)
{
	const struct top_edge *last = NULL, *best;
	uint64_t whole = t->rows.v[row].children;
	size_t i, shown;

	for (shown = 0; shown < CALLERS_SHOWN; shown++, last = best) {
		best = NULL;
		for (i = 0; i < t->edges.n; i++) {
			const struct top_edge *e = &t->edges.v[i];

			if (e->row == row && (!last || is_before(last, e)) &&
			    (!best || is_before(e, best)))
				best = e;
		}
		if (!best)
			return;
		text_str(&t->text, "                      from ");
		add_percent(&t->text, best->weight, whole, 6);
		text_str(&t->text, "  ");
		if (best->caller == TOP_NO_CALLER)
			text_str(&t->text, "(the first frame)");
		else
			add_last(t, t->kinds.v[best->caller].symbol, 36);
		text_char(&t->text, '\n');
	}
}

static int add_row(struct top *t, uint32_t id, uint64_t total, const struct top_column_row *columns,
		   size_t n)
{
	const struct top_row *r = &t->rows.v[id];
	size_t i, used = t->opt->top.no_children ? TOP_SHARE_COLUMNS : 2 * TOP_SHARE_COLUMNS;
	double own = r->share / 100.0, whole = top_percent(r->children, total);

	if (!t->opt->top.no_children)
		top_add_share(t, whole > own ? whole : own); /* own may have been rounded up */
	top_add_share(t, own);
	for (i = 0; i < n; i++)
		used += add_cell(t, top_cell(t, r, columns[i].bit), columns[i].width, used);
	text_char(&t->text, '\n');
	if (t->opt->top.callers == TOP_CALLERS_MAIN)
		add_callers(t, id);
	return t->opt->top.callers == TOP_CALLERS_TREE ? top_add_callers(t, id, total) : 0;
}

/* Is `name` in a list with commas? Its parameters need not be. */
static bool is_listed(const char *list, const char *name)
{
	size_t n;

	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (!strncmp(list, name, n) && (!name[n] || name[n] == '('))
			return true;
	}
	return false;
}

bool top_is_wanted(const struct top *t, const struct top_row *r)
{
	const char *name = strtab_get(&t->names, r->kind.symbol);

	return !t->opt->top.symbols ||
	       (strlen(name) > 4 && is_listed(t->opt->top.symbols, name + 4));
}

/* Columns with a separator between them, in which it cannot stand. */
static void add_separated(struct top *t, const char *s)
{
	const char *between = t->opt->top.separator;

	text_str(&t->text, between);
	for (; *s; s++)
		text_char(&t->text, *s == *between ? '.' : *s);
}

static void add_separated_row(struct top *t, const struct top_row *r, uint64_t total,
			      const struct top_column_row *columns, size_t n)
{
	const double own = r->share / 100.0, whole = top_percent(r->children, total);
	char buf[64];

	if (!t->opt->top.no_children) {
		snprintf(buf, sizeof buf, "%.2f%s", whole > own ? whole : own,
			 t->opt->top.separator);
		text_str(&t->text, buf);
	}
	snprintf(buf, sizeof buf, "%.2f", own);
	text_str(&t->text, buf);
	for (size_t i = 0; i < n; i++)
		add_separated(t, strtab_get(&t->names, top_cell(t, r, columns[i].bit)));
	text_char(&t->text, '\n');
}

static void add_separated_head(struct top *t, uint32_t event, const struct top_column_row *columns,
			       size_t n)
{
	top_add_head(t, event);
	text_str(&t->text, "#\n# ");
	if (!t->opt->top.no_children)
		text_str(&t->text, "Children");
	if (!t->opt->top.no_children)
		add_separated(t, "Self");
	else
		text_str(&t->text, "Overhead");
	for (size_t i = 0; i < n; i++)
		add_separated(t, columns[i].title);
	text_char(&t->text, '\n');
}

static bool is_nameless(const struct top *t, const struct top_row *r)
{
	return r->share >= UNNAMED_TOLD * 100 &&
	       strstr(strtab_get(&t->names, r->kind.symbol), " " TOP_UNKNOWN);
}

/* How many of these rows fit into the lines, with their callers, the head and the foot. */
static size_t fit_rows(const struct top *t, const uint32_t *order, size_t n, size_t head_more)
{
	enum { HEAD = 7, FOOT = 1, LEAST = 3 };
	const struct top_options *o = &t->opt->top;
	size_t each = 1 + (o->callers == TOP_CALLERS_MAIN   ? CALLERS_SHOWN
			   : o->callers == TOP_CALLERS_TREE ? TREE_SUPPOSED
							    : 0),
	       used = HEAD + FOOT + head_more, i;

	for (i = 0; i < n; i++) {
		used += each + is_nameless(t, &t->rows.v[order[i]]);
		if (o->lines && !o->rows && used > o->lines && i >= LEAST)
			break;
	}
	return i;
}

/* How many rows, in their order, are shown. */
static size_t count_shown(const struct top *t, const uint32_t *order, size_t n_rows, uint64_t total)
{
	const struct top_options *o = &t->opt->top;
	size_t n;

	for (n = 0; n < n_rows && (!o->rows || n < o->rows); n++) {
		uint64_t weight = weight_of(t, &t->rows.v[order[n]]);

		if (top_percent(weight, total) < o->limit || (o->no_children && !weight))
			break;
	}
	return n;
}

/* Says what the table leaves out, and how much of it has no names. */
static void add_foot(struct top *t, const uint32_t *order, size_t shown, size_t wanted,
		     uint64_t total)
{
	size_t i;

	if (shown < wanted ||
	    (t->opt->top.rows && shown == t->opt->top.rows && shown < t->rows.n)) {
		text_str(&t->text, "# and ");
		text_dec(&t->text, t->rows.n - shown, 0);
		text_str(&t->text, t->opt->top.own_first
					   ? " more: -n 0 shows all; --children: by Children\n"
					   : " more: -n 0 shows all, -n N so many\n");
	}
	for (i = 0; i < shown; i++) {
		const struct top_row *r = &t->rows.v[order[i]];

		if (!is_nameless(t, r))
			continue;
		text_str(&t->text, "# ");
		text_str(&t->text, strtab_get(&t->names, r->kind.dso));
		text_str(&t->text, ": no names for ");
		add_percent(&t->text, r->self, total, 0);
		text_str(&t->text, ": see --stats, --debuginfod\n");
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct top_place *x = a, *y = b;

	return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
				: (x->node > y->node) - (x->node < y->node);
}

int top_write_table(struct top *t, uint32_t event, const bool *has_event, uint64_t total, FILE *out)
{
	uint32_t *order = malloc((t->rows.n + 1) * sizeof *order);
	struct top_column_row columns[TOP_COLUMNS_MAX];
	double stitched = format_stitched_share(t->p, t->opt, has_event);
	size_t i, n_columns, shown, wanted, n_rows;
	int rc = 0;

	if (!order)
		return -1;
	if (t->places.n)
		qsort(t->places.v, t->places.n, sizeof *t->places.v, compare_places);
	for (i = 0; i < t->rows.n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, t->rows.n, sizeof *order, compare_rows, t);
	if (round_shares(t, order, total)) {
		free(order);
		return -1;
	}
	for (i = n_rows = 0; i < t->rows.n; i++)
		if (top_is_wanted(t, &t->rows.v[order[i]]))
			order[n_rows++] = order[i];
	wanted = count_shown(t, order, n_rows, total);
	shown = t->opt->top.separator ? wanted
				      : fit_rows(t, order, wanted,
						 (stitched > 0) + (frameless_share(t, event) > 0));
	n_columns = find_columns(t, order, shown, columns);
	if (t->opt->top.separator)
		add_separated_head(t, event, columns, n_columns);
	else
		add_head(t, event, stitched, columns, n_columns);
	for (i = 0; !rc && i < shown; i++) {
		if (t->opt->top.separator)
			add_separated_row(t, &t->rows.v[order[i]], total, columns, n_columns);
		else
			rc = add_row(t, order[i], total, columns, n_columns);
		if (t->text.n > FLUSH_BYTES)
			text_flush(&t->text, out);
	}
	add_foot(t, order, shown, wanted, total);
	text_flush(&t->text, out);
	free(order);
	return rc || t->text.failed ? -1 : 0;
}
