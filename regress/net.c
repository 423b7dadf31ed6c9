/* net.c - growth less what became less beside it: calls that wandered, and growth beneath callers
 * that got faster. */
#include <math.h>
#include <stdlib.h>

#include "regress/judge.h"

#define WHOLE  .95 /* of all samples: a caller with so many stands for all of them */
#define Z_LOST 2.0

/* ---- inclusive time without calls that wandered -------------------------------------------------
 */

/* Of each function the samples per run beneath one key. */
static void sum_beneath(const struct regress *g, uint32_t key, uint8_t *inside,
			double (*beneath)[SIDE_N])
{
	size_t i;
	int s;

	for (i = 1; i < g->both.n; i++) {
		const struct both_node *b = &g->both.v[i];

		inside[i] = b->key == key || (b->parent && inside[b->parent]);
		for (s = 0; s < SIDE_N && inside[i]; s++)
			beneath[b->key][s] += b->self[s];
	}
}

/* Samples per run without the adjustment for the runs' speed. */
static double as_recorded(const struct judge *j, double adjusted, enum side side)
{
	return adjusted * j->s[side] / (double)j->g->design.runs[side];
}

/* Did a function lose elsewhere what it won beneath a caller (or win what it lost)? Of several
 * functions of one name each changes for itself. */
static bool wandered(const struct judge *j, uint32_t k, const double beneath[SIDE_N], bool grew)
{
	const struct tested *v = &j->g->self.v[k];
	double a = per_run(j, v, SIDE_BASE) - beneath[SIDE_BASE],
	       b = per_run(j, v, SIDE_NEW) - beneath[SIDE_NEW];
	double in = beneath[SIDE_NEW] - beneath[SIDE_BASE], out = b - a,
	       se = sqrt(fmax(v->phi_shrunk, 1) *
			 (fmax(a, 0) / j->s[SIDE_BASE] + fmax(b, 0) / j->s[SIDE_NEW]));

	/* Where much grew alike the adjustment makes all else fall: it must have, without that. */
	out = grew ? fmax(out, as_recorded(j, b, SIDE_NEW) - as_recorded(j, a, SIDE_BASE))
		   : fmin(out, as_recorded(j, b, SIDE_NEW) - as_recorded(j, a, SIDE_BASE));
	if (grew ? !(in > 0 && -out > fmax(Z_LOST * se, TAKEN_MIN * in))
		 : !(in < 0 && out > fmax(Z_LOST * se, -TAKEN_MIN * in)))
		return false;
	j->g->info.v[k].is_asked |= j->g->info.v[k].has_namesakes;
	return !j->g->info.v[k].has_namesakes;
}

/* What others lost of a growth beneath a caller: of one that wandered no more than that, of one
 * that took another's place all. */
static double paid_of(const struct judge *j, uint32_t k, const double beneath[SIDE_N])
{
	double in = beneath[SIDE_NEW] - beneath[SIDE_BASE];

	return j->traded[k] ? fmax(in, 0) : fmin(in, fmax(in - change(j, &j->g->self.v[k]), 0));
}

/* What was inlined into a function that wandered, or outlined from it, is a part of it. */
static void add_partners(const struct judge *j, bool *whole, bool *skip)
{
	uint32_t k, to;

	for (k = 0; whole && skip && k < j->g->info.n; k++) {
		to = j->moved[k].to;
		if (whole[k] && to != NONE && !j->flagged[to] && !j->traded[to])
			whole[to] = skip[to] = true;
	}
}

int count_net(const struct judge *j, uint32_t key, bool grew, double *counts, struct net *net)
{
	const struct regress *g = j->g;
	size_t n = g->info.n, r;
	double(*beneath)[SIDE_N] = calloc(n + 1, sizeof *beneath), largest = 0;
	uint8_t *inside = calloc(g->both.n + 1, 1);
	bool *skip = calloc(n + 1, sizeof *skip), *whole = calloc(n + 1, sizeof *whole);
	bool ok = beneath && inside && skip && whole;
	uint32_t k;

	*net = (struct net){.most = NONE};
	if (ok)
		sum_beneath(g, key, inside, beneath);
	for (k = 0; ok && k < n; k++) {
		double in = fabs(beneath[k][SIDE_NEW] - beneath[k][SIDE_BASE]);

		whole[k] = !j->flagged[k] && !j->traded[k] && wandered(j, k, beneath[k], grew);
		skip[k] = whole[k] || j->traded[k] || (grew && j->flagged[k]);
		if (whole[k] || j->traded[k])
			net->paid += paid_of(j, k, beneath[k]);
		if ((whole[k] || j->traded[k]) && in > largest) {
			largest = in;
			net->most = k;
		}
	}
	add_partners(j, whole, skip);
	for (r = 0; ok && r < g->runs.n; r++) {
		ok = !run_count_of(&g->trees.v[r], key, skip, grew ? j->accepted : j->none,
				   &counts[r]);
		for (k = 0; k < n; k++)
			if (whole[k])
				counts[r] += g->self.counts[k * g->runs.n + r];
	}
	free(beneath);
	free(inside);
	free(skip);
	free(whole);
	return ok ? 0 : -1;
}

/* ---- growth beneath a caller that got faster ---------------------------------------------------
 */

/* Where a function grew: nodes, and how much. */
static double change_at(const struct regress *g, const struct finding *f, size_t i)
{
	const struct both_node *b = &g->both.v[i];

	if (b->key != f->key)
		return 0;
	return f->kind == FINDING_SELF ? self_change(b) : b->incl[SIDE_NEW] - b->incl[SIDE_BASE];
}

/* Is a function, which grew, the same function called in the same way as before? */
static bool has_old_surroundings(const struct regress *g, const struct finding *f)
{
	double all = 0, old = 0;
	size_t i;

	for (i = 1; i < g->both.n; i++) {
		double d = change_at(g, f, i);

		if (d <= 0)
			continue;
		all += d;
		old += g->both.v[i].incl[SIDE_BASE] > 0 ? d : 0;
	}
	return f->base > 0 && old >= BELOW * all;
}

/* Sums a finding's growth by caller. */
static double sum_callers(const struct regress *g, const struct finding *f, double *beneath,
			  size_t *last)
{
	double all = 0;
	size_t i;

	for (i = 1; i < g->both.n; i++) {
		double d = change_at(g, f, i);
		uint32_t at = g->both.v[i].parent;

		if (d <= 0)
			continue;
		all += d;
		for (; at; at = g->both.v[at].parent) {
			uint32_t key = g->both.v[at].key;

			/* Once for each function, also if it calls itself. */
			if (last[key] == i)
				continue;
			last[key] = i;
			beneath[key] += d;
		}
	}
	return all;
}

/* A caller of all of the growth whose inclusive time certainly fell, also without what wandered
 * away from it; NONE. */
static int find_faster_caller(const struct judge *j, const struct finding *f, uint32_t *ret)
{
	const struct regress *g = j->g;
	double *beneath = calloc(g->info.n + 1, sizeof *beneath), counts[RUNS_MAX], all;
	size_t *last = calloc(g->info.n + 1, sizeof *last);
	int rc = beneath && last ? 0 : -1;
	struct net unused;
	uint32_t k;

	*ret = NONE;
	all = rc ? 0 : sum_callers(g, f, beneath, last);
	for (k = 0; !rc && *ret == NONE && k < g->info.n; k++) {
		const struct tested *v = &g->incl.v[k];
		struct tested net = {.margin = v->margin};

		if (k == f->key || !v->is_tested || beneath[k] < BELOW * all || all <= 0 ||
		    per_run(j, v, SIDE_BASE) >= WHOLE * j->total[SIDE_BASE] ||
		    !certainly_fell(j, v))
			continue;
		rc = count_net(j, k, false, counts, &unused);
		if (rc)
			break;
		family_test_one(&g->incl, counts, j->size, &net);
		if (net.is_tested && certainly_fell(j, &net))
			*ret = k;
	}
	free(beneath);
	free(last);
	return rc;
}

static int outweigh(struct judge *j, struct finding *f)
{
	const struct regress *g = j->g;
	uint32_t caller = NONE;

	if (j->total_fell) {
		if (f->kind == FINDING_SELF && f->verdict == VERDICT_REGRESSED &&
		    f->new - f->base > g->opt.total_max * j->total[SIDE_NEW] &&
		    has_old_surroundings(g, f))
			return 0;
		f->verdict = VERDICT_OUTWEIGHED;
		return 0;
	}
	if (find_faster_caller(j, f, &caller))
		return -1;
	if (caller == NONE)
		return 0;
	f->verdict = VERDICT_OUTWEIGHED;
	f->related = caller;
	return 0;
}

int judge_outweighed(struct judge *j)
{
	struct regress *g = j->g;
	size_t i;

	for (i = 0; i < g->findings.n; i++) {
		struct finding *f = &g->findings.v[i];

		if (f->kind != FINDING_TOTAL &&
		    (f->verdict == VERDICT_REGRESSED || f->verdict == VERDICT_NEW) &&
		    outweigh(j, f))
			return -1;
	}
	return 0;
}
