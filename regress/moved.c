/* moved.c - finds time that moved from a function to a neighbour: inlined, outlined, renamed. What
 * a function lost pays for growth once: a function has one partner, or one group of them. */
#include <math.h>
#include <stdlib.h>

#include "base/vec.h"
#include "regress/judge.h"
#include "regress/key.h"

/* If the linker says that it has merged functions, chance may explain a larger rest. */
#define FOLDED_SHARE .35

/* Do the two changes cancel each other? */
static bool cancels(const struct judge *j, uint32_t a, uint32_t b)
{
	const struct tested *x = &j->g->self.v[a], *y = &j->g->self.v[b];
	double dx = change(j, x), dy = change(j, y), larger = fmax(fabs(dx), fabs(dy));
	double sx = x->se * fmax(per_run(j, x, SIDE_BASE), per_run(j, x, SIDE_NEW));
	double sy = y->se * fmax(per_run(j, y, SIDE_BASE), per_run(j, y, SIDE_NEW));

	/* What another function lost by chance does not explain a growth. */
	if (!is_new(x) && !is_gone(x) && !is_new(y) && !is_gone(y) &&
	    fmin(y->p_up, y->p_down) > j->g->opt.report_q)
		return false;
	/* A function that is gone or new has no useful error of its ratio. */
	if (is_new(x) || is_gone(x))
		sx = sqrt(fmax(x->a, x->b) * x->phi_shrunk) / j->s[x->b > x->a];
	if (is_new(y) || is_gone(y))
		sy = sqrt(fmax(y->a, y->b) * y->phi_shrunk) / j->s[y->b > y->a];
	return dx * dy < 0 && fabs(dx + dy) < MOVED_SHARE * larger &&
	       fabs(dx + dy) < 2 * sqrt(sx * sx + sy * sy) + .02 * larger;
}

/* How time moved between a callee and its caller: the callee was inlined (it is gone) or outlined
 * (it is new), or time has shifted between them. Only the callee tells, because a caller may have
 * no time of its own either way. */
static enum moved_how how_of(const struct judge *j, uint32_t callee)
{
	const struct tested *v = &j->g->self.v[callee];

	return is_gone(v) ? MOVED_INLINED : is_new(v) ? MOVED_OUTLINED : MOVED_SHIFTED;
}

static bool changed(const struct regress *g, const struct tested *v)
{
	return v->is_tested &&
	       (fmin(v->q_up, v->q_down) <= g->opt.report_q || is_new(v) || is_gone(v));
}

/* ---- groups: one function and many -------------------------------------------------------------
 */

static bool is_free(const struct judge *j, uint32_t key)
{
	return j->moved[key].to == NONE;
}

/* Finds callees that the compiler has inlined into f or outlined from it: together they cancel its
 * change. Marks them all, and f with the one that has the most time. */
static void find_absorbed(struct judge *j, uint32_t f)
{
	const struct regress *g = j->g;
	double mine = change(j, &g->self.v[f]), others = 0, most = 0;
	bool *seen = calloc(g->info.n + 1, sizeof *seen);
	uint32_t best = NONE, k;
	size_t i;

	for (i = 1; seen && i < g->both.n; i++) {
		uint32_t key = g->both.v[i].key, parent = g->both.v[g->both.v[i].parent].key;
		const struct tested *w = &g->self.v[key];
		double delta = change(j, w);
		bool appeared = mine > 0 ? is_gone(w) : is_new(w);

		if (!g->both.v[i].parent || parent != f || key == f || seen[key] || !appeared ||
		    !is_free(j, key))
			continue;
		seen[key] = true;
		others += delta;
		if (fabs(delta) > most) {
			most = fabs(delta);
			best = key;
		}
	}
	if (fabs(mine + others) >= MOVED_SHARE * fmax(fabs(mine), fabs(others)))
		best = NONE;
	for (k = 0; best != NONE && k < g->info.n; k++)
		if (seen[k])
			j->moved[k] = (struct move){f, how_of(j, k)};
	if (best != NONE)
		j->moved[f] = (struct move){best, how_of(j, best)};
	free(seen);
}

/* Has a function's time perhaps gone to one that the linker merged, or come from it? */
static bool may_be_folded(const struct judge *j, uint32_t f, uint32_t k, bool in_new)
{
	const struct tested *w = &j->g->self.v[k];

	return k != f && w->is_tested && is_free(j, k) && (in_new ? is_gone(w) : is_new(w));
}

/* If the linker has merged functions with the same code on one side only, marks the functions whose
 * time went to the merged one (or came from it): one, or all of them. */
static void find_folded(struct judge *j, uint32_t f)
{
	const struct regress *g = j->g;
	const struct key_info *info = &g->info.v[f];
	bool in_new = info->is_folded[SIDE_NEW];
	double others = 0, mine = change(j, &g->self.v[f]);
	uint32_t i, best = NONE, alone = NONE;

	if (in_new == info->is_folded[SIDE_BASE] || (mine > 0) != in_new)
		return;
	for (i = 0; i < g->self.n && alone == NONE; i++) {
		double delta = change(j, &g->self.v[i]);

		if (!may_be_folded(j, f, i, in_new))
			continue;
		if (fabs(mine + delta) < FOLDED_SHARE * fabs(mine))
			alone = i;
		others += delta;
		best = i;
	}
	if (alone == NONE && fabs(mine + others) >= FOLDED_SHARE * fabs(mine))
		return;
	best = alone != NONE ? alone : best;
	if (best == NONE)
		return;
	for (i = 0; i < g->self.n; i++)
		if (alone != NONE ? i == alone : may_be_folded(j, f, i, in_new))
			j->moved[i] = (struct move){f, MOVED_FOLDED};
	j->moved[f] = (struct move){best, MOVED_FOLDED};
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

/* Two functions whose changes cancel each other. */
struct pair {
	uint32_t a, b;
	enum moved_how how;
	double like;	   /* how much of their names is the same; neighbours: 0 */
	double apart;	   /* difference of their changes */
	bool is_elsewhere; /* no caller has both */
};

struct call {
	uint32_t callee, caller;
};

struct pairs {
	struct judge *j;
	VEC(struct pair) v;
	VEC(struct call) calls; /* sorted, each once */
	bool failed;
};

/* Of one function at most so many, the best: where thousands are gone and thousands are new, as of
 * generated code, all pairs would be too many. */
enum { PAIRS_OF_ONE = 32 };

static int compare_calls(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return x->caller < y->caller ? -1 : x->caller > y->caller;
}

static void find_calls(struct pairs *p)
{
	const struct regress *g = p->j->g;
	size_t i, n = 0;

	for (i = 1; i < g->both.n && !p->failed; i++) {
		const struct call c = {g->both.v[i].key, g->both.v[g->both.v[i].parent].key};

		p->failed = vec_push(&p->calls, c) != 0;
	}
	if (p->calls.n)
		qsort(p->calls.v, p->calls.n, sizeof *p->calls.v, compare_calls);
	for (i = 0; i < p->calls.n; i++)
		if (!n || compare_calls(&p->calls.v[n - 1], &p->calls.v[i]) != 0)
			p->calls.v[n++] = p->calls.v[i];
	p->calls.n = n;
}

/* The first call of the function. */
static size_t calls_of(const struct pairs *p, uint32_t callee)
{
	size_t low = 0, high = p->calls.n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (p->calls.v[mid].callee < callee)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool share_caller(const struct pairs *p, uint32_t a, uint32_t b)
{
	const struct call *c = p->calls.v;
	size_t i = calls_of(p, a), k = calls_of(p, b);

	while (i < p->calls.n && c[i].callee == a && k < p->calls.n && c[k].callee == b) {
		if (c[i].caller == c[k].caller)
			return true;
		*(c[i].caller < c[k].caller ? &i : &k) += 1;
	}
	return false;
}

static void offer(struct pairs *p, struct pair pair)
{
	const struct family *self = &p->j->g->self;

	pair.apart = fabs(change(p->j, &self->v[pair.a]) + change(p->j, &self->v[pair.b]));
	if (vec_push(&p->v, pair))
		p->failed = true;
}

/* A function and its callers. */
static void offer_callers(struct pairs *p)
{
	const struct regress *g = p->j->g;
	size_t i;

	for (i = 1; i < g->both.n; i++) {
		uint32_t key = g->both.v[i].key, up = g->both.v[i].parent;
		uint32_t parent = up ? g->both.v[up].key : NONE;

		if (parent == NONE || parent == key || !is_free(p->j, key) ||
		    !is_free(p->j, parent) ||
		    !(changed(g, &g->self.v[key]) || changed(g, &g->self.v[parent])))
			continue;
		if (cancels(p->j, key, parent))
			offer(p, (struct pair){.a = key, .b = parent, .how = how_of(p->j, key)});
	}
}

/* A function that is gone, and a new one with the same time, and callers or a name like its own: it
 * was perhaps renamed. */
static void offer_name(struct pairs *p, uint32_t gone, uint32_t new)
{
	const struct regress *g = p->j->g;
	struct pair pair = {.a = gone, .b = new, .how = MOVED_RENAMED};

	if (!cancels(p->j, gone, new))
		return;
	pair.like = key_likeness(split_plain_name(g, gone), split_plain_name(g, new));
	pair.is_elsewhere = !share_caller(p, gone, new);
	if (pair.like > 0 || !pair.is_elsewhere)
		offer(p, pair);
}

/* The best first: names of which one was made of the other, then neighbours, then other names. */
static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->like != y->like)
		return x->like > y->like ? -1 : 1;
	if ((x->how == MOVED_RENAMED) != (y->how == MOVED_RENAMED))
		return x->how == MOVED_RENAMED ? 1 : -1;
	if (x->apart != y->apart)
		return x->apart < y->apart ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->b < y->b ? -1 : x->b > y->b;
}

/* Keeps the best of those from `first` on. */
static void keep_best(struct pairs *p, size_t first)
{
	if (p->v.n - first <= PAIRS_OF_ONE)
		return;
	qsort(p->v.v + first, p->v.n - first, sizeof *p->v.v, compare_pairs);
	p->v.n = first + PAIRS_OF_ONE;
}

static void offer_names(struct pairs *p)
{
	const struct family *self = &p->j->g->self;
	uint32_t i, k;

	for (i = 0; i < self->n; i++) {
		const size_t first = p->v.n;

		if (!self->v[i].is_tested || !is_gone(&self->v[i]) || !is_free(p->j, i))
			continue;
		for (k = 0; k < self->n; k++)
			if (self->v[k].is_tested && is_new(&self->v[k]) && is_free(p->j, k))
				offer_name(p, i, k);
		keep_best(p, first);
	}
}

static void take_pairs(struct pairs *p, bool only_alike)
{
	struct judge *j = p->j;
	size_t i;

	if (p->v.n)
		qsort(p->v.v, p->v.n, sizeof *p->v.v, compare_pairs);
	for (i = 0; i < p->v.n; i++) {
		const struct pair *d = &p->v.v[i];

		if ((only_alike && !(d->like > 0)) || !is_free(j, d->a) || !is_free(j, d->b))
			continue;
		j->moved[d->a] = (struct move){d->b, d->how};
		j->moved[d->b] = (struct move){d->a, d->how};
		/* Callers of the one lost it, those of the other won it. */
		j->traded[d->a] = j->traded[d->b] = d->is_elsewhere;
	}
}

int find_moved(struct judge *j)
{
	const struct regress *g = j->g;
	struct pairs p = {.j = j};
	uint32_t i;

	for (i = 0; i < g->self.n; i++)
		if (changed(g, &g->self.v[i]) && is_free(j, i))
			find_folded(j, i);
	find_calls(&p);
	offer_names(&p);
	take_pairs(&p, true);
	for (i = 0; i < g->self.n; i++)
		if (changed(g, &g->self.v[i]) && is_free(j, i))
			find_absorbed(j, i);
	offer_callers(&p);
	take_pairs(&p, false);
	vec_done(&p.v);
	vec_done(&p.calls);
	return p.failed ? -1 : 0;
}
