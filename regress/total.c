/* total.c - all on-CPU time: a channel of its own. */
#include <math.h>

#include "regress/judge.h"
#include "regress/stats.h"

#define Z_80 0.8416212335729143 /* power of 80 % */

static bool is_named(const struct regress *g)
{
	size_t i;

	for (i = 0; i < g->only.n && g->only.v[i].kind != FINDING_TOTAL; i++)
		;
	return i < g->only.n;
}

/* Welch's test of the logarithms of the runs' totals. */
void judge_total(const struct judge *j, struct finding *f)
{
	const struct regress *g = j->g;
	double mean[SIDE_N] = {0}, var[SIDE_N] = {0}, n[SIDE_N] = {0}, se2[SIDE_N], se, df, l, t;
	size_t r;
	int s;

	for (r = 0; r < g->runs.n; r++) {
		mean[g->runs.v[r].side] += log(fmax(g->runs.v[r].weight, 1));
		n[g->runs.v[r].side]++;
	}
	for (s = 0; s < SIDE_N; s++)
		mean[s] /= n[s];
	for (r = 0; r < g->runs.n; r++) {
		double e = log(fmax(g->runs.v[r].weight, 1)) - mean[g->runs.v[r].side];

		var[g->runs.v[r].side] += e * e;
	}
	for (s = 0; s < SIDE_N; s++) {
		/* Runs of equal length to the last sample were not measured: a thousandth is
		 * assumed. */
		var[s] = n[s] > 1 ? fmax(var[s] / (n[s] - 1), 1e-6) : 2.5e-3;
		se2[s] = var[s] / n[s];
	}
	se = sqrt(se2[0] + se2[1]);
	df = n[0] > 1 && n[1] > 1
		     ? (se2[0] + se2[1]) * (se2[0] + se2[1]) /
			       (se2[0] * se2[0] / (n[0] - 1) + se2[1] * se2[1] / (n[1] - 1))
		     : 1;
	l = mean[SIDE_NEW] - mean[SIDE_BASE];
	t = stats_t_quantile(.025, df);
	f->base = f->new = 0;
	for (r = 0; r < g->runs.n; r++)
		*(g->runs.v[r].side ? &f->new : &f->base) +=
			g->runs.v[r].samples / n[g->runs.v[r].side];
	f->base_share = 1;
	f->growth = f->impact = expm1(l);
	f->lo = expm1(l - t * se);
	f->hi = expm1(l + t * se);
	f->phi = 0;
	f->p = f->p_adjusted = stats_t_tail((l - log1p(g->opt.total_max)) / se, df);
	f->mde = expm1(log1p(g->opt.total_max) + (stats_t_quantile(g->opt.q, df) + Z_80) * se);
	f->verdict = f->p > g->opt.report_q	       ? VERDICT_EXPLAINED
		     : f->p <= g->opt.q && j->can_gate ? VERDICT_REGRESSED
						       : VERDICT_SUSPECT;
	if (g->only.n && !is_named(g)) {
		f->verdict = VERDICT_EXPLAINED;
		return;
	}
	if (f->verdict == VERDICT_EXPLAINED &&
	    stats_t_tail((-l - log1p(g->opt.total_max)) / se, df) <= g->opt.q)
		f->verdict = VERDICT_IMPROVED;
	if (f->verdict == VERDICT_EXPLAINED && g->only.n)
		f->verdict = VERDICT_UNCONFIRMED;
}

/* Without an adjustment everything may have grown alike: then no function is to blame. */
bool all_changed_alike(struct regress *g)
{
	const struct family *f = &g->self;
	double weight = 0, mean = 0, near = 0, inverse = 0;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->v[i].is_tested && !is_new(&f->v[i]) && !is_gone(&f->v[i])) {
			double w = 1 / (f->v[i].se * f->v[i].se);

			mean += w * f->v[i].l;
			inverse += w;
		}
	if (!(inverse > 0))
		return false;
	mean /= inverse;
	for (i = 0; i < f->n; i++)
		if (f->v[i].is_tested) {
			weight += f->v[i].mu;
			near += fabs(f->v[i].l - mean) < 2 * f->v[i].se ? f->v[i].mu : 0;
		}
	return fabs(mean) > log1p(.01) && fabs(mean) > 3 / sqrt(inverse) && near > .7 * weight;
}
