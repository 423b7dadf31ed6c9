/* where.c - which stacks, and which callers, hold a change. */
#include <math.h>

#include "base/vec.h"
#include "regress/judge.h"

static char *stack_of(const struct regress *g, size_t node)
{
	struct text t = {0};
	VEC(size_t) way = {0};
	size_t i;

	for (; node; node = g->both.v[node].parent)
		if (vec_push(&way, node))
			t.failed = true;
	for (i = way.n; i--;) {
		const char *name = regress_name(g, g->both.v[way.v[i]].key);

		text_clean(&t, name, strlen(name));
		if (i)
			text_char(&t, ';');
	}
	text_char(&t, '\0');
	vec_done(&way);
	if (t.failed) {
		text_done(&t);
		return NULL;
	}
	return t.s;
}

/* Notes the callers at the leaf end of a path. */
static void add_above(const struct regress *g, struct finding_path *p, size_t node)
{
	uint32_t key = g->both.v[node].key;

	p->node = (uint32_t)node;
	for (node = g->both.v[node].parent; node && p->n_above < FINDING_ABOVE;
	     node = g->both.v[node].parent) {
		/* One that calls itself, or is in two parts, is named once. */
		if (g->both.v[node].key == key)
			continue;
		key = g->both.v[node].key;
		p->above[p->n_above++] = key;
	}
}

static bool is_topmost(const struct regress *g, size_t node)
{
	uint32_t key = g->both.v[node].key, at = g->both.v[node].parent;

	while (at && g->both.v[at].key != key)
		at = g->both.v[at].parent;
	return !at;
}

static void add_stacks(const struct regress *g, struct finding *f)
{
	size_t best[FINDING_PATHS], n = 0, i, k;
	double delta[FINDING_PATHS], sum = f->new - f->base;

	for (i = 1; i < g->both.n; i++) {
		const struct both_node *b = &g->both.v[i];
		double d;

		if (b->key != f->key || (f->kind == FINDING_INCL && !is_topmost(g, i)))
			continue;
		d = f->kind == FINDING_SELF ? b->self[SIDE_NEW] - b->self[SIDE_BASE]
					    : b->incl[SIDE_NEW] - b->incl[SIDE_BASE];
		if (d * sum <= 0)
			continue;
		for (k = n; k && fabs(d) > fabs(delta[k - 1]); k--)
			if (k < FINDING_PATHS) {
				delta[k] = delta[k - 1];
				best[k] = best[k - 1];
			}
		if (k < FINDING_PATHS) {
			delta[k] = d;
			best[k] = i;
			n += n < FINDING_PATHS;
		}
	}
	for (i = 0; i < n; i++) {
		f->paths[i].stack = stack_of(g, best[i]);
		add_above(g, &f->paths[i], best[i]);
		f->paths[i].share = sum != 0 ? delta[i] / sum : 0;
		if (f->paths[i].stack)
			f->n_paths = i + 1;
		else
			break;
	}
}

static double change_of(const struct finding_caller *c)
{
	return c->new - c->base;
}

/* The callers by how much more was sampled beneath them. */
static int add_callers(const struct regress *g, struct finding *f)
{
	VEC(struct finding_caller) all = {0};
	size_t i, k;
	int rc = 0;

	for (i = 1; !rc && i < g->both.n; i++) {
		const struct both_node *b = &g->both.v[i];
		const double *w = f->kind == FINDING_SELF ? b->self : b->incl;
		uint32_t caller = b->parent ? g->both.v[b->parent].key : NONE;

		if (b->key != f->key || caller == NONE || caller == f->key ||
		    (f->kind == FINDING_INCL && !is_topmost(g, i)))
			continue;
		for (k = 0; k < all.n && all.v[k].key != caller; k++)
			;
		if (k == all.n && vec_push(&all, (struct finding_caller){.key = caller})) {
			rc = -1;
			break;
		}
		all.v[k].base += w[SIDE_BASE];
		all.v[k].new += w[SIDE_NEW];
	}
	for (i = 0; !rc && i < all.n; i++) {
		for (k = f->n_callers;
		     k && fabs(change_of(&all.v[i])) > fabs(change_of(&f->callers[k - 1])); k--)
			if (k < FINDING_PATHS)
				f->callers[k] = f->callers[k - 1];
		if (k == FINDING_PATHS)
			continue;
		f->callers[k] = all.v[i];
		f->n_callers += f->n_callers < FINDING_PATHS;
	}
	vec_done(&all);
	return rc;
}

int add_paths(const struct judge *j, struct finding *f)
{
	add_stacks(j->g, f);
	lines_of(j->g, j->s, f);
	return add_callers(j->g, f);
}

bool is_of_new_call(const struct judge *j, const struct finding *f)
{
	const struct regress *g = j->g;
	size_t at = f->n_paths && f->paths[0].share > .5 ? f->paths[0].node : 0;

	for (; at; at = g->both.v[at].parent) {
		const uint32_t key = g->both.v[at].key;

		if (g->info.v[key].is_kernel && str_starts_with(regress_key(g, key), "sys_"))
			return is_new(&g->incl.v[key]);
	}
	return false;
}
