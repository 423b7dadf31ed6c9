/* power.c - computes the power: the smallest growth that would have been found, and the samples
 * that a given growth needs. */
#include <math.h>

#include "regress/method.h"
#include "regress/stats.h"

#define Z_80	    0.8416212335729143 /* power of 80 % */
#define SAMPLES_TOP 1e12
#define PHI_CHANCE \
	2.0 /* below it most of the dispersion is counting noise, which more samples reduce */

/* How many standard errors a growth must exceed the margin by. share: the fraction of q that is
 * left for one of many tests. */
static double distance(double q, double share, double df)
{
	return stats_t_quantile(fmin(fmax(q * share, 1e-12), .5), df) + Z_80;
}

void family_bounds(const struct tested *v, double q, double *lower, double *upper)
{
	double t = stats_t_quantile(q, v->df_apart);

	*lower = expm1(fmin(v->l - t * v->se, v->l_apart - t * v->se_apart));
	*upper = expm1(fmax(v->l + t * v->se, v->l_apart + t * v->se_apart));
}

double family_upper(const struct tested *v, double q)
{
	double lower, upper;

	family_bounds(v, q, &lower, &upper);
	return upper;
}

double family_mde(const struct tested *v, double q)
{
	double share = v->first_share > 0 ? v->first_share : 1;

	return expm1(log1p(v->margin) + distance(q, share, v->df) * v->se);
}

double single_false_alarm(double margin, double se, double df, double q)
{
	return stats_t_tail(stats_t_quantile(fmin(fmax(q, 1e-12), .5), df) + log1p(margin) / se,
			    df);
}

/* Each test is at its own share of q, and asks for more than the margin: with exactly equal sides a
 * function with a small error is hardly ever flagged. */
double family_false_alarm(const struct family *f, double q)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->v[i].first_share > 0)
			sum += single_false_alarm(f->v[i].margin, f->v[i].se, f->v[i].df,
						  q * f->v[i].first_share);
	return fmin(sum, q);
}

/* The variance of the logarithm of the effect in runs with `samples` each, divided by the one at
 * which the effect is found. The weight of the function's test is that of the existing runs. */
static double variance_ratio(const struct family *f, const struct effect *e, double samples,
			     double samples_now)
{
	double mu = e->share * samples, phi = fmax(family_trend(f, mu), f->floor);
	double variance = phi / (mu * (double)f->runs / 2) * (1 + 1 / (1 + e->growth));
	double weight = fmax(.1, sqrt(e->share * samples_now) / f->weight_mean);
	double wanted = (log1p(e->growth) - log1p(e->margin)) /
			distance(e->q, weight / fmax(f->asked, 1), f->d0 + family_df(f));

	return wanted > 0 ? variance / (wanted * wanted) : INFINITY;
}

double family_samples_needed(const struct family *f, const struct effect *e, double samples)
{
	double lo = 1, hi = SAMPLES_TOP, ratio = variance_ratio(f, e, samples, samples);
	int i;

	/* With so few samples it is not known yet how the dispersion grows with their number. */
	if (family_trend(f, e->share * samples) < PHI_CHANCE)
		return ceil(samples * ratio);
	if (variance_ratio(f, e, hi, samples) > 1)
		return INFINITY;
	for (i = 0; i < 60; i++) {
		double mid = sqrt(lo * hi);

		*(variance_ratio(f, e, mid, samples) > 1 ? &lo : &hi) = mid;
	}
	return ceil(hi);
}

double family_runs_needed(const struct family *f, const struct effect *e, double samples)
{
	return ceil((double)f->runs / 2 * variance_ratio(f, e, samples, samples));
}
