/* trend_moved.c - steps of functions whose time another one lost at the same commit. */
#include <math.h>
#include <stdlib.h>

#include "base/vec.h"
#include "regress/key.h"
#include "regress/trend_inside.h"

/* Steps at one commit, which cancel each other. */
struct pair {
	size_t a, b; /* findings */
	double like, apart;
};

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->like != y->like)
		return x->like > y->like ? -1 : 1;
	if (x->apart != y->apart)
		return x->apart < y->apart ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->b < y->b ? -1 : x->b > y->b;
}

static bool is_function_step(const struct trend_finding *f)
{
	return !f->is_creep && !f->is_total;
}

/* The steps up of functions, and the steps down that have their time. */
static bool is_pair(const struct trend_finding *f, const struct trend_finding *o)
{
	double up = f->after - f->before, other = o->after - o->before;

	return is_function_step(f) && is_function_step(o) && up > 0 && other < 0 &&
	       o->key != f->key && o->at + 1 >= f->at && f->at + 1 >= o->at &&
	       fabs(other + up) < .2 * up;
}

/* A step up whose time another function lost at the same commit: it moved. What was lost pays for
 * one of them: the one with a name like its own first, then the one that differs least. */
int trend_find_moved(struct trend *t)
{
	VEC(struct pair) v = {0};
	size_t i, k;
	int rc = 0;

	for (i = 0; i < t->findings.n; i++)
		for (k = 0; k < t->findings.n; k++) {
			const struct trend_finding *f = &t->findings.v[i], *o = &t->findings.v[k];
			struct pair pair = {.a = i, .b = k};

			if (!is_pair(f, o))
				continue;
			pair.like = key_likeness(regress_name(t->g, f->key),
						 regress_name(t->g, o->key));
			pair.apart = fabs(f->after - f->before + o->after - o->before);
			if (vec_push(&v, pair))
				rc = -1;
		}
	if (v.n)
		qsort(v.v, v.n, sizeof *v.v, compare_pairs);
	for (i = 0; i < v.n; i++) {
		struct trend_finding *f = &t->findings.v[v.v[i].a], *o = &t->findings.v[v.v[i].b];

		if (f->related != UINT32_MAX || o->related != UINT32_MAX)
			continue;
		f->related = o->key;
		o->related = f->key;
	}
	vec_done(&v);
	return rc;
}
