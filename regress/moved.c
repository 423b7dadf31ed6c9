/* moved.c - finds time that moved from a function to a neighbour: inlined, outlined, renamed. */
#include <math.h>
#include <stdlib.h>

#include "regress/judge.h"

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

/* Finds callees that the compiler has inlined into f or outlined from it: together they cancel its
 * change. Marks them all and returns the one with the most time, or NONE. */
static uint32_t absorbed(struct judge *j, uint32_t f)
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

		if (!g->both.v[i].parent || parent != f || key == f || seen[key] || !appeared)
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
		if (seen[k] && j->moved[k].to == NONE)
			j->moved[k] = (struct move){f, how_of(j, k)};
	free(seen);
	return best;
}

/* Tries the callers and callees of f one by one. */
static struct move find_neighbour(struct judge *j, uint32_t f)
{
	const struct regress *g = j->g;
	uint32_t best = absorbed(j, f);
	size_t i;

	if (best != NONE)
		return (struct move){best, how_of(j, best)};
	for (i = 1; i < g->both.n; i++) {
		uint32_t key = g->both.v[i].key, up = g->both.v[i].parent;
		uint32_t parent = up ? g->both.v[up].key : NONE;

		if (key == f && parent != NONE && parent != f && cancels(j, f, parent))
			return (struct move){parent, how_of(j, f)};
		if (parent == f && key != f && cancels(j, f, key))
			return (struct move){key, how_of(j, key)};
	}
	return (struct move){.to = NONE};
}

static bool share_caller(const struct regress *g, uint32_t a, uint32_t b)
{
	size_t i, k;

	for (i = 1; i < g->both.n; i++)
		for (k = 1; g->both.v[i].key == a && k < g->both.n; k++)
			if (g->both.v[k].key == b && g->both.v[g->both.v[k].parent].key ==
							     g->both.v[g->both.v[i].parent].key)
				return true;
	return false;
}

/* Finds a function with the same time and callers that is gone if f is new, or new if f is gone: f
 * was perhaps renamed. */
static uint32_t find_old_name(const struct judge *j, uint32_t f)
{
	const struct family *self = &j->g->self;
	uint32_t i;

	for (i = 0; i < self->n; i++)
		if (i != f && self->v[i].is_tested &&
		    (is_new(&self->v[f]) ? is_gone(&self->v[i]) : is_new(&self->v[i])) &&
		    cancels(j, f, i) && share_caller(j->g, f, i))
			return i;
	return NONE;
}

/* If the linker has merged functions with the same code on one side only, finds the functions whose
 * time went to the merged one (or came from it): all of them, or one. */
static uint32_t find_folded(const struct judge *j, uint32_t f)
{
	const struct regress *g = j->g;
	const struct key_info *info = &g->info.v[f];
	const struct tested *v = &g->self.v[f];
	bool in_new = info->is_folded[SIDE_NEW];
	double others = 0, mine = change(j, v);
	uint32_t i, best = NONE;

	if (in_new == info->is_folded[SIDE_BASE] || (mine > 0) != in_new)
		return NONE;
	for (i = 0; i < g->self.n; i++) {
		const struct tested *w = &g->self.v[i];

		if (i == f || !w->is_tested || !(in_new ? is_gone(w) : is_new(w)))
			continue;
		if (fabs(mine + change(j, w)) < FOLDED_SHARE * fabs(mine))
			return i;
		others += change(j, w);
		best = i;
	}
	return best != NONE && fabs(mine + others) < FOLDED_SHARE * fabs(mine) ? best : NONE;
}

static bool changed(const struct regress *g, const struct tested *v)
{
	return v->is_tested &&
	       (fmin(v->q_up, v->q_down) <= g->opt.report_q || is_new(v) || is_gone(v));
}

void find_moved(struct judge *j)
{
	struct regress *g = j->g;
	struct move m;
	uint32_t i;

	for (i = 0; i < g->self.n; i++) {
		if (!changed(g, &g->self.v[i]) || j->moved[i].to != NONE)
			continue;
		m = (struct move){find_folded(j, i), MOVED_FOLDED};
		if (m.to == NONE)
			m = find_neighbour(j, i);
		if (m.to == NONE && (is_new(&g->self.v[i]) || is_gone(&g->self.v[i]))) {
			m.to = find_old_name(j, i);
			m.how = MOVED_RENAMED;
		}
		if (m.to == NONE)
			continue;
		j->moved[i] = m;
		if (j->moved[m.to].to == NONE)
			j->moved[m.to] = (struct move){i, m.how};
	}
}
