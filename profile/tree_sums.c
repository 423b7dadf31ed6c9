/* tree_sums.c - what functions cost: of a tree, the weights of each node and of each symbol, with
 * and without what it calls. */
#include "profile/profile.h"

#include <stdlib.h>

#include "base/sum.h"

uint64_t tree_weight(const struct tree_node *n, enum tree_weigh by)
{
	switch (by) {
	case TREE_BY_COUNT:
		return n->count;
	case TREE_BY_PERIOD:
		return n->period;
	default:
		return n->period ? n->period : n->count;
	}
}

static void sum_nodes(struct tree_sums *s, const struct tree *t, enum tree_weigh by)
{
	for (size_t i = t->nodes.n; i--;) {
		s->node[i] = add_saturated(s->node[i], tree_weight(&t->nodes.v[i], by));
		if (i)
			s->node[t->nodes.v[i].parent] =
				add_saturated(s->node[t->nodes.v[i].parent], s->node[i]);
	}
}

/* A symbol that is already on the way from the root counts there. */
static void enter(struct tree_sums *s, const struct tree *t, uint32_t id, uint32_t *on_path,
		  enum tree_weigh by)
{
	const struct tree_node *n = &t->nodes.v[id];

	s->own[n->symbol] = add_saturated(s->own[n->symbol], tree_weight(n, by));
	if (!on_path[n->symbol]++)
		s->total[n->symbol] = add_saturated(s->total[n->symbol], s->node[id]);
}

static int sum_symbols(struct tree_sums *s, const struct tree *t, size_t n_symbols,
		       enum tree_weigh by)
{
	struct tree_order order = {0};
	uint32_t *on_path = calloc(n_symbols + 1, sizeof *on_path), i;
	VEC(uint32_t) todo = {0}; /* nodes to enter; ~node: to leave */
	int rc = on_path ? tree_order_make(&order, t, NULL, n_symbols + 1, NULL) : -1;

	if (!rc)
		rc = vec_push(&todo, 0);
	while (!rc && todo.n) {
		uint32_t id = todo.v[--todo.n];

		if (id >> 31) {
			on_path[t->nodes.v[~id].symbol]--;
			continue;
		}
		if (id) {
			enter(s, t, id, on_path, by);
			rc = vec_push(&todo, ~id);
		}
		for (i = order.first[id]; !rc && i < order.first[id + 1]; i++)
			rc = vec_push(&todo, order.ids[i]);
	}
	vec_done(&todo);
	free(on_path);
	tree_order_done(&order);
	return rc;
}

int tree_sums(struct tree_sums *s, const struct tree *t, size_t n_symbols, enum tree_weigh by,
	      struct err *err)
{
	s->node = calloc(t->nodes.n + 1, sizeof *s->node);
	s->own = calloc(n_symbols + 1, sizeof *s->own);
	s->total = calloc(n_symbols + 1, sizeof *s->total);
	if (!s->node || !s->own || !s->total)
		return err_nomem(err);
	sum_nodes(s, t, by);
	return sum_symbols(s, t, n_symbols, by) ? err_nomem(err) : 0;
}

void tree_sums_done(struct tree_sums *s)
{
	free(s->node);
	free(s->own);
	free(s->total);
	*s = (struct tree_sums){0};
}
