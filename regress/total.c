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

/* Welch's comparison of the logarithms of the runs' sums: growth, its error and its degrees of
 * freedom. */
struct welch {
	double growth_log, se, df;
};

static struct welch compare_sums(const struct regress *g, const double n[SIDE_N])
{
	double mean[SIDE_N] = {0}, var[SIDE_N] = {0}, samples[SIDE_N] = {0}, se2[SIDE_N], sum;
	struct welch w;
	size_t r;
	int s;

	for (r = 0; r < g->runs.n; r++) {
		const enum side side = g->runs.v[r].side;

		mean[side] += log(fmax(g->runs.v[r].weight, 1)) / n[side];
		samples[side] += g->runs.v[r].samples / n[side];
	}
	for (r = 0; r < g->runs.n; r++) {
		double e = log(fmax(g->runs.v[r].weight, 1)) - mean[g->runs.v[r].side];

		var[g->runs.v[r].side] += e * e;
	}
	for (s = 0; s < SIDE_N; s++) {
		/* Runs with exactly equal sums were not measured independently: a thousandth is
		 * assumed as their error. */
		var[s] = n[s] > 1 ? fmax(var[s] / (n[s] - 1), 1e-6) : 2.5e-3;
		se2[s] = var[s] / n[s];
	}
	sum = se2[0] + se2[1];
	w.growth_log = mean[SIDE_NEW] - mean[SIDE_BASE];
	/* A timer that starts with the run rounds all runs of a side alike: their time is known to
	 * half a sample, however many they are. */
	w.se = sqrt(sum + (1 / pow(fmax(samples[0], 1), 2) + 1 / pow(fmax(samples[1], 1), 2)) / 12);
	w.df = n[0] > 1 && n[1] > 1
		       ? sum * sum / (se2[0] * se2[0] / (n[0] - 1) + se2[1] * se2[1] / (n[1] - 1))
		       : 1;
	return w;
}

static enum verdict verdict_of_total(const struct judge *j, double p_slower, double p_faster)
{
	const struct regress *g = j->g;

	if (g->only.n && !is_named(g))
		return VERDICT_EXPLAINED;
	if (p_slower <= g->opt.report_q)
		return p_slower > g->opt.q || !j->can_gate ? VERDICT_SUSPECT
		       : g->design.together == TOGETHER_NO ? VERDICT_APART
							   : VERDICT_REGRESSED;
	if (p_faster <= g->opt.q)
		return VERDICT_IMPROVED;
	return g->only.n ? VERDICT_UNCONFIRMED : VERDICT_EXPLAINED;
}

void judge_total(struct judge *j, struct finding *f)
{
	const struct regress *g = j->g;
	const double margin = log1p(g->opt.total_max);
	double n[SIDE_N] = {0}, t;
	struct welch w;
	size_t r;

	for (r = 0; r < g->runs.n; r++)
		n[g->runs.v[r].side]++;
	w = compare_sums(g, n);
	t = stats_t_quantile(.025, w.df);
	f->base = f->new = 0;
	for (r = 0; r < g->runs.n; r++)
		*(g->runs.v[r].side ? &f->new : &f->base) +=
			g->runs.v[r].samples / n[g->runs.v[r].side];
	f->base_share = 1;
	f->growth = f->impact = expm1(w.growth_log);
	f->lo = expm1(w.growth_log - t * w.se);
	f->hi = expm1(w.growth_log + t * w.se);
	f->phi = 0;
	f->p = f->p_adjusted = stats_t_tail((w.growth_log - margin) / w.se, w.df);
	f->mde = expm1(margin + (stats_t_quantile(g->opt.q, w.df) + Z_80) * w.se);
	j->total_false = single_false_alarm(g->opt.total_max, w.se, w.df, g->opt.q);
	j->total_fell = j->can_gate && stats_t_tail(-w.growth_log / w.se, w.df) <= g->opt.q;
	f->verdict = verdict_of_total(j, f->p, stats_t_tail((-w.growth_log - margin) / w.se, w.df));
}

/* Without adjustment for the runs' speed everything may have grown alike: then no function is to
 * blame. */
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
