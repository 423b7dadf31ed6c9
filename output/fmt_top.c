/* fmt_top.c - the functions, by time spent in them and in what they call, as perf report --stdio
 * lays it out:
 *
 *	# Children      Self  Command  Shared Object  Symbol
 */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/output.h"
#include "output/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/pair.h"
#include "base/sum.h"
#include "unwind/unwind.h"

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
		text_str(&t->text, TOP_UNKNOWN);
	if (l->how == FRAME_STITCHED && t->opt->style.mark_stitched)
		text_str(&t->text, FOLD_STITCHED);
}

static void add_line(struct top *t, const struct profile_line *line)
{
	const struct profile_function *f = line ? &t->p->functions.v[line->function] : NULL;
	const char *base = f ? base_name(strtab_get(&t->p->strings, f->file)) : "";

	if (!*base || !line->line) {
		text_str(&t->text, "[no line]");
		return;
	}
	text_clean(&t->text, base, strlen(base));
	text_char(&t->text, ':');
	text_dec(&t->text, line->line, 0);
}

static int add_kind(struct top *t, const struct profile_location *l, uint32_t name,
		    const struct profile_line *line)
{
	const struct profile_mapping *m = &t->p->mappings.v[l->mapping];
	bool brackets = *strtab_get(&t->p->strings, m->name) == '[';
	struct top_kind k;
	uint32_t id;

	if (top_has_column(t, TOP_DSO))
		text_string(&t->text, t->p, brackets ? m->name : m->short_name);
	k.dso = take_name(t);
	if (top_has_column(t, TOP_SYMBOL))
		add_symbol(t, l, name);
	k.symbol = take_name(t);
	if (top_has_column(t, TOP_LINE))
		add_line(t, line);
	k.line = take_name(t);
	if (k.dso == STRTAB_FAILED || k.symbol == STRTAB_FAILED || k.line == STRTAB_FAILED)
		return -1;
	id = pair_intern(&t->line_of, k.symbol, k.line);
	id = id == HASH_NONE ? id : pair_intern(&t->kind_of, k.dso, id);
	if (id == HASH_NONE || (id == t->kinds.n && vec_push(&t->kinds, k)))
		return -1;
	return vec_push(&t->symbols.ids, id);
}

static int add_location(struct top *t, const struct profile_location *l)
{
	size_t i, n;
	const struct profile_line *lines = profile_lines(t->p, l, t->opt->style.no_inline, &n);

	if (vec_push(&t->symbols.first, (uint32_t)t->symbols.ids.n) ||
	    add_kind(t, l, profile_symbol(t->p, l), n ? &lines[n - 1] : NULL))
		return -1;
	for (i = n; i-- > 1;)
		if (add_kind(t, l, t->p->functions.v[lines[i - 1].function].name, &lines[i - 1]))
			return -1;
	return 0;
}

/* The name of a number in a column; that of an empty one if the column is not shown. */
static uint32_t number_name(struct top *t, enum top_column column, int64_t number)
{
	if (!top_has_column(t, column))
		return 0;
	if (number < 0)
		text_char(&t->text, '?');
	else
		text_dec(&t->text, (uint64_t)number, 0);
	return take_name(t);
}

static int64_t known_id(uint32_t id)
{
	return id == PROFILE_NO_PID ? -1 : (int64_t)(int32_t)id;
}

static int add_task(struct top *t, const struct profile_sample *s)
{
	struct top_task k;
	uint32_t a, b, id;

	if (top_has_column(t, TOP_COMM))
		text_string(&t->text, t->p, s->comm);
	k.comm = take_name(t);
	k.pid = number_name(t, TOP_PID, known_id(s->pid));
	k.tid = number_name(t, TOP_TID, known_id(s->tid));
	k.cpu = number_name(t, TOP_CPU, (int64_t)s->cpu - 1);
	if (top_has_column(t, TOP_CGROUP))
		profile_label_show(&t->text, t->p, s, "cgroup");
	k.cgroup = take_name(t);
	if (k.comm == STRTAB_FAILED || k.pid == STRTAB_FAILED || k.tid == STRTAB_FAILED ||
	    k.cpu == STRTAB_FAILED || k.cgroup == STRTAB_FAILED)
		return -1;
	a = pair_intern(&t->ids_of, k.comm, k.pid);
	a = a == HASH_NONE ? a : pair_intern(&t->groups_of, a, k.cgroup);
	b = pair_intern(&t->places_of, k.tid, k.cpu);
	id = a == HASH_NONE || b == HASH_NONE ? HASH_NONE : pair_intern(&t->task_of, a, b);
	if (id == HASH_NONE || (id == t->tasks.n && vec_push(&t->tasks, k)))
		return -1;
	return vec_push(&t->symbols.roots, id);
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
	for (i = 0; i < p->samples.n; i++)
		if (add_task(t, &p->samples.v[i]))
			return -1;
	return 0;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static struct top_row *find_row(struct top *t, uint32_t task, uint32_t kind)
{
	uint32_t id = pair_intern(&t->row_of, task, kind);
	struct top_row new = {.task = task, .kind = t->kinds.v[kind]};

	if (id == HASH_NONE || (id == t->rows.n && vec_push(&t->rows, new)))
		return NULL;
	return &t->rows.v[id];
}

/* node: the outermost frame of a function. */
static int add_edge(struct top *t, uint32_t row, uint32_t node, uint64_t weight)
{
	uint32_t up = t->tree.nodes.v[node].parent;
	/* The first level are the commands. */
	uint32_t caller = t->tree.nodes.v[up].parent ? t->tree.nodes.v[up].symbol : TOP_NO_CALLER;
	uint32_t id = pair_intern(&t->edge_of, row, caller);

	if (id == HASH_NONE ||
	    (id == t->edges.n && vec_push(&t->edges, ((struct top_edge){row, caller, 0}))))
		return -1;
	t->edges.v[id].weight = add_saturated(t->edges.v[id].weight, weight);
	return 0;
}

/* Adds a function's frame on the way from the root to the leaves. */
static int enter_node(struct top *t, uint32_t task, uint32_t id, uint64_t total, uint32_t *on_path)
{
	const struct tree_node *n = &t->tree.nodes.v[id];
	struct top_row *r = find_row(t, task, n->symbol);

	if (!r)
		return -1;
	r->self = add_saturated(r->self, format_weight(t->opt, n->count, n->period));
	if (on_path[n->symbol]++)
		return 0;
	r->children = add_saturated(r->children, total);
	switch (t->opt->top.callers) {
	case TOP_CALLERS_MAIN:
		return add_edge(t, (uint32_t)(r - t->rows.v), id, total);
	case TOP_CALLERS_TREE:
		return vec_push(&t->places, ((struct top_place){(uint32_t)(r - t->rows.v), id}));
	default:
		return 0;
	}
}

/* Walks the tree depth first. A function that is already on the path is not counted again: its
 * outermost frame's sum includes everything it called. totals: by node, with callees. */
static int sum_rows(struct top *t, const uint64_t *totals, const struct tree_order *order,
		    uint32_t *on_path)
{
	VEC(uint32_t) todo = {0}; /* nodes to enter; ~node: to leave */
	uint32_t i, task = 0;
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
			task = n->symbol;
		} else if (id) {
			rc = enter_node(t, task, id, totals[id], on_path);
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
	size_t n_symbols = t->kinds.n > t->tasks.n ? t->kinds.n : t->tasks.n;
	uint64_t *totals = t->totals = calloc(n, sizeof *totals);
	uint32_t *on_path = calloc(n_symbols + 1, sizeof *on_path);
	struct tree_order order = {0};
	int rc = -1;

	if (totals && on_path && !tree_order_make(&order, &t->tree, NULL, n_symbols + 1, NULL)) {
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
	free(on_path);
	return rc;
}

/* Writes the table of one event: the one with has_event[] set. */
static int write_event(struct top *t, uint32_t event, const bool *has_event, FILE *out,
		       struct err *err)
{
	uint64_t total = 0;
	int rc = tree_fill(&t->tree, t->p, has_event, &t->symbols, err);

	if (!rc && sum_all(t, &total))
		rc = err_nomem(err);
	if (!rc && (t->opt->top.hierarchy ? top_write_hierarchy(t, event, total, out)
					  : top_write_table(t, event, has_event, total, out)))
		rc = err_nomem(err);
	vec_done(&t->rows);
	vec_done(&t->edges);
	hash_done(&t->edge_of);
	hash_done(&t->row_of);
	vec_done(&t->places);
	free(t->totals);
	free(t->depths);
	t->totals = NULL;
	t->depths = NULL;
	tree_done(&t->tree);
	t->tree = (struct tree){0};
	return rc;
}

static int write_top(const struct profile *p, const struct output_options *opt,
		     struct event_set *events, FILE *out, struct err *err)
{
	struct top t = {.p = p, .opt = opt};
	size_t i;
	int rc;

	if (opt->diff.is_diff)
		return top_write_diff(p, opt, events, out, err);
	rc = add_symbols(&t) ? err_nomem(err) : 0;

	for (i = 0; !rc && i < events->n; i++) {
		if (i)
			text_char(&t.text, '\n');
		event_set_pick(events, events->ids[i]);
		rc = write_event(&t, events->ids[i], events->has, out, err);
	}
	strtab_done(&t.names);
	vec_done(&t.kinds);
	vec_done(&t.tasks);
	hash_done(&t.kind_of);
	hash_done(&t.line_of);
	hash_done(&t.task_of);
	hash_done(&t.ids_of);
	hash_done(&t.groups_of);
	hash_done(&t.places_of);
	tree_symbols_done(&t.symbols);
	text_done(&t.text);
	return rc;
}

const struct output_format format_top = {
	.name = "top",
	.help = "table of functions, with and without callees, as perf report",
	.suffixes = ".top",
	.honours =
		OUTPUT_TABLE | OUTPUT_SYMBOLS | OUTPUT_ROWS | OUTPUT_SIDES | OUTPUT_STITCHED_MARKS,
	.write = write_top,
};
