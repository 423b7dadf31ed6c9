/* fmt_top.c - the functions, by time spent in them and in what they call, as perf report --stdio
 * lays it out:
 *
 *	# Children      Self  Command  Shared Object  Symbol
 */
#include "output/formats.h"

#include <stdlib.h>
#include <string.h>

#include "base/pair.h"
#include "base/sum.h"
#include "output/fit.h"
#include "profile/profile.h"

#define UNKNOWN "[unknown]"

/* A function of a dso. These are the symbols of the tree, below the command names. */
struct kind {
	uint32_t dso, symbol; /* ids in names */
};

struct row {
	uint32_t comm; /* id in names */
	struct kind kind;
	uint64_t children, self; /* with and without callees */
	uint32_t share;		 /* self in hundredths of a percent, which add up to 100 % */
};

/* The part of a row's weight that comes directly from one caller. */
struct edge {
	uint32_t row, caller; /* indices in rows, kinds; NO_CALLER */
	uint64_t weight;
};

enum {
	NO_CALLER = UINT32_MAX - 1,
	CALLERS_SHOWN = 3,
	UNNAMED_TOLD = 5 /* percent */,
	SHARE_COLUMNS = 10
};

struct top {
	const struct profile *p;
	const struct output_options *opt;
	struct strtab names;
	VEC(struct kind) kinds;
	struct hash_table kind_of; /* (dso, symbol) -> kind */
	VEC(struct row) rows;
	struct hash_table row_of; /* (comm, kind) -> row */
	VEC(struct edge) edges;
	struct hash_table edge_of; /* (row, caller) -> edge */
	struct tree_symbols symbols;
	struct tree tree;
	struct text text;
};

static bool has_column(const struct top *t, enum top_column c)
{
	return !(t->opt->top.merged & c);
}

/* Interns the text collected since the last call as a name. */
static uint32_t take_name(struct top *t)
{
	uint32_t id = t->text.failed ? STRTAB_FAILED
				     : strtab_add(&t->names, t->text.n ? t->text.s : "", t->text.n);

	t->text.n = 0;
	return id;
}

static void add_symbol(struct top *t, const struct profile_location *l, uint32_t name)
{
	text_str(&t->text, l->is_kernel ? "[k] " : "[.] ");
	if (name)
		text_string(&t->text, t->p, name);
	else
		text_str(&t->text, UNKNOWN);
	if (l->how == FRAME_STITCHED && t->opt->style.mark_stitched)
		text_str(&t->text, FOLD_STITCHED);
}

static int add_kind(struct top *t, const struct profile_location *l, uint32_t name)
{
	const struct profile_mapping *m = &t->p->mappings.v[l->mapping];
	bool brackets = *strtab_get(&t->p->strings, m->name) == '[';
	struct kind k;
	uint32_t id;

	if (has_column(t, TOP_DSO))
		text_string(&t->text, t->p, brackets ? m->name : m->short_name);
	k.dso = take_name(t);
	if (has_column(t, TOP_SYMBOL))
		add_symbol(t, l, name);
	k.symbol = take_name(t);
	if (k.dso == STRTAB_FAILED || k.symbol == STRTAB_FAILED)
		return -1;
	id = pair_intern(&t->kind_of, k.dso, k.symbol);
	if (id == HASH_NONE || (id == t->kinds.n && vec_push(&t->kinds, k)))
		return -1;
	return vec_push(&t->symbols.ids, id);
}

static int add_location(struct top *t, const struct profile_location *l)
{
	size_t i, n;
	const struct profile_line *lines = profile_lines(t->p, l, t->opt->style.no_inline, &n);

	if (vec_push(&t->symbols.first, (uint32_t)t->symbols.ids.n) ||
	    add_kind(t, l, profile_symbol(t->p, l)))
		return -1;
	for (i = n; i-- > 1;)
		if (add_kind(t, l, t->p->functions.v[lines[i - 1].function].name))
			return -1;
	return 0;
}

static int add_symbols(struct top *t)
{
	const struct profile *p = t->p;
	size_t i;

	for (i = 0; i < p->locations.n; i++)
		if (add_location(t, &p->locations.v[i]))
			return -1;
	if (vec_push(&t->symbols.first, (uint32_t)t->symbols.ids.n))
		return -1;
	for (i = 0; i < p->samples.n; i++) {
		if (has_column(t, TOP_COMM))
			text_string(&t->text, p, p->samples.v[i].comm);
		if (vec_push(&t->symbols.roots, take_name(t)) ||
		    t->symbols.roots.v[i] == STRTAB_FAILED)
			return -1;
	}
	return 0;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static struct row *find_row(struct top *t, uint32_t comm, uint32_t kind)
{
	uint32_t id = pair_intern(&t->row_of, comm, kind);
	struct row new = {.comm = comm, .kind = t->kinds.v[kind]};

	if (id == HASH_NONE || (id == t->rows.n && vec_push(&t->rows, new)))
		return NULL;
	return &t->rows.v[id];
}

/* node: the outermost frame of a function. */
static int add_edge(struct top *t, uint32_t row, uint32_t node, uint64_t weight)
{
	uint32_t up = t->tree.nodes.v[node].parent;
	/* The first level are the commands. */
	uint32_t caller = t->tree.nodes.v[up].parent ? t->tree.nodes.v[up].symbol : NO_CALLER;
	uint32_t id = pair_intern(&t->edge_of, row, caller);

	if (id == HASH_NONE ||
	    (id == t->edges.n && vec_push(&t->edges, ((struct edge){row, caller, 0}))))
		return -1;
	t->edges.v[id].weight = add_saturated(t->edges.v[id].weight, weight);
	return 0;
}

/* Adds a function's frame on the way from the root to the leaves. */
static int enter_node(struct top *t, uint32_t comm, uint32_t id, uint64_t total, uint32_t *on_path)
{
	const struct tree_node *n = &t->tree.nodes.v[id];
	struct row *r = find_row(t, comm, n->symbol);

	if (!r)
		return -1;
	r->self = add_saturated(r->self, format_weight(t->opt, n->count, n->period));
	if (on_path[n->symbol]++)
		return 0;
	r->children = add_saturated(r->children, total);
	return t->opt->top.callers ? add_edge(t, (uint32_t)(r - t->rows.v), id, total) : 0;
}

/* Walks the tree depth first. A function that is already on the path is not counted again: its
 * outermost frame's sum includes everything it called. totals: by node, with callees. */
static int sum_rows(struct top *t, const uint64_t *totals, const struct tree_order *order,
		    uint32_t *on_path)
{
	VEC(uint32_t) todo = {0}; /* nodes to enter; ~node: to leave */
	uint32_t i, comm = 0;
	int rc = vec_push(&todo, 0);

	while (!rc && todo.n) {
		uint32_t id = todo.v[--todo.n];
		bool leave = id >> 31;
		const struct tree_node *n = &t->tree.nodes.v[leave ? ~id : id];

		if (leave) {
			on_path[n->symbol]--;
			continue;
		}
		if (id && !n->parent) {
			comm = n->symbol;
		} else if (id) {
			rc = enter_node(t, comm, id, totals[id], on_path);
			if (!rc)
				rc = vec_push(&todo, ~id);
		}
		for (i = order->first[id]; !rc && i < order->first[id + 1]; i++)
			rc = vec_push(&todo, order->ids[i]);
	}
	vec_done(&todo);
	return rc;
}

/* Fills the rows; *total is the sum over all samples. */
static int sum_all(struct top *t, uint64_t *total)
{
	size_t i, n = t->tree.nodes.n;
	size_t n_symbols =
		t->kinds.n > strtab_count(&t->names) ? t->kinds.n : strtab_count(&t->names);
	uint64_t *totals = calloc(n, sizeof *totals);
	uint32_t *on_path = calloc(t->kinds.n + 1, sizeof *on_path);
	struct tree_order order = {0};
	int rc = -1;

	if (totals && on_path && !tree_order_make(&order, &t->tree, NULL, n_symbols, NULL)) {
		for (i = n; i--;) {
			const struct tree_node *node = &t->tree.nodes.v[i];

			totals[i] = add_saturated(totals[i],
						  format_weight(t->opt, node->count, node->period));
			if (i)
				totals[node->parent] =
					add_saturated(totals[node->parent], totals[i]);
		}
		*total = totals[0];
		rc = sum_rows(t, totals, &order, on_path);
	}
	tree_order_done(&order);
	free(totals);
	free(on_path);
	return rc;
}

/* ---- the table ------------------------------------------------------------------------------ */

static bool by_own(const struct top *t)
{
	return t->opt->top.no_children || t->opt->top.own_first;
}

/* For rows of equal weight. */
static int compare_names(const struct strtab *names, const struct row *a, const struct row *b)
{
	int rc = strcmp(strtab_get(names, a->comm), strtab_get(names, b->comm));

	if (!rc)
		rc = strcmp(strtab_get(names, a->kind.dso), strtab_get(names, b->kind.dso));
	return rc ? rc
		  : strcmp(strtab_get(names, a->kind.symbol), strtab_get(names, b->kind.symbol));
}

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct top *t = arg;
	const struct row *a = &t->rows.v[*(const uint32_t *)pa];
	const struct row *b = &t->rows.v[*(const uint32_t *)pb];
	int by_self = (a->self < b->self) - (a->self > b->self);
	int by_children = (a->children < b->children) - (a->children > b->children);
	int rc = by_own(t) ? by_self : by_children;

	if (!rc)
		rc = by_own(t) ? by_children : by_self;
	return rc ? rc : compare_names(&t->names, a, b);
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
		struct row *r = &t->rows.v[order[i]];

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

static double percent_of(uint64_t part, uint64_t total)
{
	return total ? 100.0 * (double)part / (double)total : 0;
}

static void add_percent(struct text *out, uint64_t part, uint64_t total, int width)
{
	char buf[32];

	text_add(out, buf,
		 (size_t)snprintf(buf, sizeof buf, "%*.2f%%", width, percent_of(part, total)));
}

/* Colours as perf's: red from 5 percent on, green above .5. */
static void add_share(struct top *t, double percent)
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

struct column {
	enum top_column bit;
	const char *title;
	size_t width;
};

static uint32_t cell_of(const struct row *r, enum top_column c)
{
	return c == TOP_COMM ? r->comm : c == TOP_DSO ? r->kind.dso : r->kind.symbol;
}

/* Makes columns narrower, so that a line fits into the terminal and its last name has some room:
 * first the widest, but none to less than LEAST. */
static void fit_columns(const struct top *t, struct column *v, size_t n)
{
	enum { LEAST = 8, LAST = 30 };
	size_t used = 2 * SHARE_COLUMNS + LAST, i, widest;

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

static size_t find_columns(const struct top *t, const uint32_t *order, size_t n, struct column *ret)
{
	static const struct column all[] = {
		{TOP_COMM, "Command", 0}, {TOP_DSO, "Shared Object", 0}, {TOP_SYMBOL, "Symbol", 0}};
	size_t i, k, used = 0;

	for (k = 0; k < sizeof all / sizeof *all; k++)
		if (has_column(t, all[k].bit))
			ret[used++] = all[k];
	for (k = 0; k + 1 < used; k++) {
		ret[k].width = strlen(ret[k].title);
		for (i = 0; i < n; i++) {
			size_t width = width_of(t, cell_of(&t->rows.v[order[i]], ret[k].bit));

			ret[k].width = width > ret[k].width ? width : ret[k].width;
		}
	}
	fit_columns(t, ret, used);
	return used;
}

static void add_head(struct top *t, const struct profile_event *e, double stitched,
		     const struct column *columns, size_t n)
{
	struct text *out = &t->text;
	size_t i, k;

	text_str(out, "# Samples: ");
	text_dec(out, e->samples, 0);
	text_str(out, " of event '");
	text_string(out, t->p, e->name);
	text_str(out, "'\n# Event count (approx.): ");
	text_dec(out, e->period, 0);
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

static uint64_t weight_of(const struct top *t, const struct row *r)
{
	return by_own(t) ? r->self : r->children;
}

/* Heavier edges first, equal ones in the order in which they were found. */
static bool is_before(const struct edge *a, const struct edge *b)
{
	return a->weight != b->weight ? a->weight > b->weight : a < b;
}

static void add_callers(struct top *t, uint32_t row)
{
	const struct edge *last = NULL, *best;
	uint64_t whole = t->rows.v[row].children;
	size_t i, shown;

	for (shown = 0; shown < CALLERS_SHOWN; shown++, last = best) {
		best = NULL;
		for (i = 0; i < t->edges.n; i++) {
			const struct edge *e = &t->edges.v[i];

			if (e->row == row && (!last || is_before(last, e)) &&
			    (!best || is_before(e, best)))
				best = e;
		}
		if (!best)
			return;
		text_str(&t->text, "                      from ");
		add_percent(&t->text, best->weight, whole, 6);
		text_str(&t->text, "  ");
		if (best->caller == NO_CALLER)
			text_str(&t->text, "(the first frame)");
		else
			add_last(t, t->kinds.v[best->caller].symbol, 36);
		text_char(&t->text, '\n');
	}
}

static void add_row(struct top *t, uint32_t id, uint64_t total, const struct column *columns,
		    size_t n)
{
	const struct row *r = &t->rows.v[id];
	size_t i, used = t->opt->top.no_children ? SHARE_COLUMNS : 2 * SHARE_COLUMNS;
	double own = r->share / 100.0, whole = percent_of(r->children, total);

	if (!t->opt->top.no_children)
		add_share(t, whole > own ? whole : own); /* own may have been rounded up */
	add_share(t, own);
	for (i = 0; i < n; i++)
		used += add_cell(t, cell_of(r, columns[i].bit), columns[i].width, used);
	text_char(&t->text, '\n');
	if (t->opt->top.callers)
		add_callers(t, id);
}

static bool is_nameless(const struct top *t, const struct row *r)
{
	return r->share >= UNNAMED_TOLD * 100 &&
	       strstr(strtab_get(&t->names, r->kind.symbol), " " UNKNOWN);
}

/* How many of these rows fit into the lines, with their callers, the head and the foot. */
static size_t fit_rows(const struct top *t, const uint32_t *order, size_t n, bool has_stitched)
{
	enum { HEAD = 7, FOOT = 1, LEAST = 3 };
	const struct top_options *o = &t->opt->top;
	size_t each = 1 + (o->callers ? CALLERS_SHOWN : 0), used = HEAD + FOOT + has_stitched, i;

	for (i = 0; i < n; i++) {
		used += each + is_nameless(t, &t->rows.v[order[i]]);
		if (o->lines && !o->rows && used > o->lines && i >= LEAST)
			break;
	}
	return i;
}

/* How many rows, in their order, are shown. */
static size_t count_shown(const struct top *t, const uint32_t *order, uint64_t total)
{
	const struct top_options *o = &t->opt->top;
	size_t n;

	for (n = 0; n < t->rows.n && (!o->rows || n < o->rows); n++) {
		uint64_t weight = weight_of(t, &t->rows.v[order[n]]);

		if (percent_of(weight, total) < o->limit || (o->no_children && !weight))
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
		const struct row *r = &t->rows.v[order[i]];

		if (!is_nameless(t, r))
			continue;
		text_str(&t->text, "# ");
		text_str(&t->text, strtab_get(&t->names, r->kind.dso));
		text_str(&t->text, ": no names for ");
		add_percent(&t->text, r->self, total, 0);
		text_str(&t->text, ": see --stats, --debuginfod\n");
	}
}

static int write_table(struct top *t, uint32_t event, const bool *has_event, uint64_t total,
		       FILE *out)
{
	uint32_t *order = malloc((t->rows.n + 1) * sizeof *order);
	struct column columns[3];
	double stitched = format_stitched_share(t->p, t->opt, has_event);
	size_t i, n_columns, shown, wanted;

	if (!order)
		return -1;
	for (i = 0; i < t->rows.n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, t->rows.n, sizeof *order, compare_rows, t);
	if (round_shares(t, order, total)) {
		free(order);
		return -1;
	}
	wanted = count_shown(t, order, total);
	shown = fit_rows(t, order, wanted, stitched > 0);
	n_columns = find_columns(t, order, shown, columns);
	add_head(t, &t->p->events.v[event], stitched, columns, n_columns);
	for (i = 0; i < shown; i++) {
		add_row(t, order[i], total, columns, n_columns);
		if (t->text.n > FLUSH_BYTES)
			text_flush(&t->text, out);
	}
	add_foot(t, order, shown, wanted, total);
	text_flush(&t->text, out);
	free(order);
	return t->text.failed ? -1 : 0;
}

/* Writes the table of one event: the one with has_event[] set. */
static int write_event(struct top *t, uint32_t event, const bool *has_event, FILE *out,
		       struct err *err)
{
	uint64_t total = 0;
	int rc = tree_fill(&t->tree, t->p, has_event, &t->symbols, err);

	if (!rc && sum_all(t, &total))
		rc = err_nomem(err);
	if (!rc && write_table(t, event, has_event, total, out))
		rc = err_nomem(err);
	vec_done(&t->rows);
	vec_done(&t->edges);
	hash_done(&t->edge_of);
	hash_done(&t->row_of);
	tree_done(&t->tree);
	t->tree = (struct tree){0};
	return rc;
}

static int write_top(const struct profile *p, const struct output_options *opt,
		     struct event_set *events, FILE *out, struct err *err)
{
	struct top t = {.p = p, .opt = opt};
	size_t i;
	int rc = add_symbols(&t) ? err_nomem(err) : 0;

	for (i = 0; !rc && i < events->n; i++) {
		if (i)
			text_char(&t.text, '\n');
		event_set_pick(events, events->ids[i]);
		rc = write_event(&t, events->ids[i], events->has, out, err);
	}
	strtab_done(&t.names);
	vec_done(&t.kinds);
	hash_done(&t.kind_of);
	tree_symbols_done(&t.symbols);
	text_done(&t.text);
	return rc;
}

const struct output_format format_top = {
	.name = "top",
	.help = "table of functions, with and without callees, as perf report",
	.suffixes = ".top",
	.honours = OUTPUT_TABLE | OUTPUT_ROWS | OUTPUT_STITCHED_MARKS,
	.write = write_top,
};
