/* model.c - see model.h. */
#include "browse/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sum.h"
#include "base/vec.h"

int model_open(struct model *m, const struct profile *p, const struct browse_options *opt,
	       struct err *err)
{
	struct event_set events;
	int rc;

	*m = (struct model){.p = p, .opt = opt, .sides = opt->is_diff ? 2 : 1};
	rc = event_set_make(&events, p, opt->is_diff ? NULL : opt->event, err);
	if (!rc)
		m->event = opt->is_diff ? 0 : event_set_main(&events, p);
	event_set_done(&events);
	if (!rc)
		rc = function_symbols(&m->f, p, &opt->style, err);
	return rc ? rc : model_sum(m, err);
}

static void close_sums(struct model *m)
{
	tree_done(&m->tree);
	m->tree = (struct tree){0};
	tree_sums_done(&m->sums[0]);
	tree_sums_done(&m->sums[1]);
	tree_order_done(&m->children);
	m->children = (struct tree_order){0};
	free(m->first_place);
	free(m->places);
	free(m->slot);
	m->first_place = NULL;
	m->places = m->slot = NULL;
}

void model_done(struct model *m)
{
	close_sums(m);
	function_symbols_done(&m->f);
}

/* Calls visit() for each place that no place of the same symbol is above. */
static int each_outermost(struct model *m, void (*visit)(struct model *, uint32_t node))
{
	const struct tree_node *nodes = m->tree.nodes.v;
	uint32_t *on_path = calloc(m->f.v.n + 1, sizeof *on_path), i;
	VEC(uint32_t) todo = {0}; /* nodes to enter; ~node: to leave */
	int rc = on_path ? vec_push(&todo, 0) : -1;

	while (!rc && todo.n) {
		const uint32_t id = todo.v[--todo.n];

		if (id >> 31) {
			on_path[nodes[~id].symbol]--;
			continue;
		}
		if (id && !on_path[nodes[id].symbol]++)
			visit(m, id);
		if (id)
			rc = vec_push(&todo, ~id);
		for (i = m->children.first[id]; !rc && i < m->children.first[id + 1]; i++)
			rc = vec_push(&todo, m->children.ids[i]);
	}
	vec_done(&todo);
	free(on_path);
	return rc;
}

static void count_place(struct model *m, uint32_t node)
{
	m->first_place[m->tree.nodes.v[node].symbol + 1]++;
}

static void add_place(struct model *m, uint32_t node)
{
	const uint32_t symbol = m->tree.nodes.v[node].symbol;

	m->places[m->first_place[symbol] + m->slot[symbol]++] = node;
}

static int index_places(struct model *m)
{
	const size_t n = m->f.v.n;

	m->first_place = calloc(n + 2, sizeof *m->first_place);
	m->slot = calloc(n + 1, sizeof *m->slot);
	if (!m->first_place || !m->slot || each_outermost(m, count_place))
		return -1;
	for (size_t i = 0; i < n; i++)
		m->first_place[i + 1] += m->first_place[i];
	m->places = malloc((m->first_place[n] + 1) * sizeof *m->places);
	if (!m->places || each_outermost(m, add_place))
		return -1;
	memset(m->slot, 0, (n + 1) * sizeof *m->slot);
	return 0;
}

int model_sum(struct model *m, struct err *err)
{
	const enum tree_weigh by =
		m->opt->is_diff || m->opt->count_samples ? TREE_BY_COUNT : TREE_BY_WEIGHT;
	bool *has = calloc(m->p->events.n + 1, sizeof *has);
	int rc = has ? 0 : err_nomem(err);

	close_sums(m);
	if (has)
		has[m->event] = true;
	if (!rc)
		rc = tree_fill(&m->tree, m->p, has, &m->f.symbols, err);
	if (!rc)
		rc = tree_sums(&m->sums[0], &m->tree, m->f.v.n, by, err);
	if (!rc && m->sides == 2)
		rc = tree_sums(&m->sums[1], &m->tree, m->f.v.n, TREE_BY_PERIOD, err);
	if (!rc)
		rc = tree_order_make(&m->children, &m->tree, NULL, m->f.v.n + 1, err);
	if (!rc && index_places(m))
		rc = err_nomem(err);
	free(has);
	return rc;
}

uint64_t model_all(const struct model *m, int side)
{
	return m->sums[side].node[0];
}

double model_share(const struct model *m, int side, uint64_t weight)
{
	const uint64_t all = model_all(m, side);

	return all ? (double)weight / (double)all : 0;
}

struct place *model_places(const struct model *m, uint32_t symbol, size_t *n)
{
	const size_t first = m->first_place[symbol];
	struct place *v;

	*n = m->first_place[symbol + 1] - first;
	v = malloc((*n + 1) * sizeof *v);
	for (size_t i = 0; v && i < *n; i++) {
		v[i].node = m->places[first + i];
		for (unsigned k = 0; k < 2; k++)
			v[i].weight[k] = k < m->sides ? m->sums[k].node[v[i].node] : 0;
	}
	return v;
}

/* ---- steps ---------------------------------------------------------------------------------- */

struct steps {
	VEC(struct place) v;
};

static int add_step(struct steps *s, uint32_t node, const uint64_t *weight)
{
	return vec_push(&s->v, ((struct place){node, {weight[0], weight[1]}}));
}

static int step_down(const struct model *m, struct steps *s, uint32_t node)
{
	const struct tree_order *o = &m->children;

	for (uint32_t i = o->first[node]; i < o->first[node + 1]; i++) {
		const uint64_t w[2] = {m->sums[0].node[o->ids[i]],
				       m->sides == 2 ? m->sums[1].node[o->ids[i]] : 0};

		if (add_step(s, o->ids[i], w))
			return -1;
	}
	return 0;
}

static int collect(const struct model *m, struct steps *s, const struct place *from, size_t n,
		   enum direction to)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t parent = m->tree.nodes.v[from[i].node].parent;

		if (to == TO_CALLEES ? step_down(m, s, from[i].node)
				     : parent && add_step(s, parent, from[i].weight))
			return -1;
	}
	return 0;
}

/* Heaviest first; of a difference by the heavier side. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	const uint64_t p = x->weight[0] > x->weight[1] ? x->weight[0] : x->weight[1];
	const uint64_t q = y->weight[0] > y->weight[1] ? y->weight[0] : y->weight[1];

	return p != q ? (p < q) - (p > q) : (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

static void weigh(const struct model *m, struct group *g, const struct place *step)
{
	const struct tree_node *node = &m->tree.nodes.v[step->node];

	for (unsigned k = 0; k < m->sides; k++) {
		g->weight[k] = add_saturated(g->weight[k], step->weight[k]);
		g->own[k] = add_saturated(g->own[k],
					  tree_weight(node, k ? TREE_BY_PERIOD
							    : m->sides == 2 || m->opt->count_samples
								    ? TREE_BY_COUNT
								    : TREE_BY_WEIGHT));
	}
}

int model_group(struct model *m, const struct place *from, size_t n, enum direction to,
		struct group **groups, size_t *n_groups, struct place **next)
{
	const struct tree_node *nodes = m->tree.nodes.v;
	struct steps s = {0};
	VEC(struct group) g = {0};
	size_t at = 0, i;
	int rc = collect(m, &s, from, n, to);

	*next = malloc((s.v.n + 1) * sizeof **next);
	rc = *next ? rc : -1;
	for (i = 0; !rc && i < s.v.n; i++) {
		uint32_t *slot = &m->slot[nodes[s.v.v[i].node].symbol];

		if (!*slot &&
		    !(rc = vec_push(&g, ((struct group){.symbol = nodes[s.v.v[i].node].symbol}))))
			*slot = (uint32_t)g.n;
		if (rc)
			break;
		g.v[*slot - 1].n++;
		weigh(m, &g.v[*slot - 1], &s.v.v[i]);
	}
	for (i = 0; i < g.n; at += g.v[i++].n)
		g.v[i].first = at;
	for (i = 0; !rc && i < s.v.n; i++) {
		struct group *of = &g.v[m->slot[nodes[s.v.v[i].node].symbol] - 1];

		(*next)[of->first++] = s.v.v[i];
	}
	for (i = 0; i < g.n; i++) {
		g.v[i].first -= rc ? 0 : g.v[i].n;
		m->slot[g.v[i].symbol] = 0;
	}
	if (g.n)
		qsort(g.v, g.n, sizeof *g.v, compare_groups);
	vec_done(&s.v);
	*groups = g.v;
	*n_groups = g.n;
	return rc;
}
