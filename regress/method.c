/* method.c - dispersion, its trend, size factors, the margin test. */
#include "regress/method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "regress/stats.h"

/* Set by hand on recordings of python, sqlite, clang, git, xz and a generated program:
 * doc/regress.md. */
#define PHI_FLOOR 1.0 /* counts of a run that is scaled vary by chance at least */
#define PHI_FLOOR_TIMER \
	0.3 /* a timer samples more evenly than chance, as long as nothing is scaled */
#define PHI_ROBUST_FAR	6.0 /* times the trend: the function keeps its own dispersion */
#define PHI_ROBUST_NEAR 3.5
#define PHI_STABLE	6.0
#define Z_STABLE	2.0
#define D0_MIN		1.0
#define D0_MAX		100.0
#define PHI_ONE_RUN	4.0 /* where no two runs of a side can be compared */
#define DF_ONE_RUN	4.0

int family_make(struct family *f, size_t n, size_t runs, size_t base)
{
	*f = (struct family){.n = n, .runs = runs, .base = base};
	f->counts = calloc(n * runs + 1, sizeof *f->counts);
	f->v = calloc(n + 1, sizeof *f->v);
	return f->counts && f->v ? 0 : -1;
}

void family_done(struct family *f)
{
	free(f->counts);
	free(f->v);
	*f = (struct family){0};
}

static double within_df(const struct family *f)
{
	double base = f->base > 1 ? (double)f->base - 1 : 0;
	size_t n_new = f->runs - f->base;

	return base + (n_new > 1 ? (double)n_new - 1 : 0);
}

/* Sums, log ratio and the dispersion within sides. */
static void measure(const struct family *f, const double *counts, const double *size,
		    struct tested *v)
{
	double sum[2] = {0}, s[2] = {0}, chi = 0, df = within_df(f);
	size_t r;

	for (r = 0; r < f->runs; r++) {
		sum[r >= f->base] += counts[r];
		s[r >= f->base] += size[r];
	}
	for (r = 0; r < f->runs; r++) {
		bool new = r >= f->base;
		double m = size[r] * (sum[new] + .25) / s[new];

		if ((new ? f->runs - f->base : f->base) > 1)
			chi += (counts[r] - m) * (counts[r] - m) / m;
	}
	v->a = sum[0];
	v->b = sum[1];
	v->mu = (sum[0] + sum[1]) / (double)f->runs;
	v->phi = df > 0 ? chi / df : PHI_ONE_RUN;
	v->l = log((v->b + .5) / s[1]) - log((v->a + .5) / s[0]);
	v->is_tested = v->a + v->b >= SAMPLES_MIN;
}

static void measure_all(const struct family *f, const double *size)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		measure(f, f->counts + i * f->runs, size, &f->v[i]);
}

/* ---- size factors ------------------------------------------------------------------------------
 */

/* How much runs of a side differ, over all functions. */
static double within(const struct family *f)
{
	double sum = 0, weight = 0;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->v[i].is_tested) {
			sum += f->v[i].mu * log(fmax(f->v[i].phi, .05));
			weight += f->v[i].mu;
		}
	return weight > 0 ? sum / weight : 0;
}

static void to_mean_one(double *size, size_t n)
{
	double mean = 0;
	size_t r;

	for (r = 0; r < n; r++)
		mean += size[r] / (double)n;
	for (r = 0; r < n; r++)
		size[r] = mean > 0 && size[r] > 0 ? size[r] / mean : 1;
}

static bool is_stable(const struct tested *v)
{
	double se = sqrt(fmax(1, v->phi) * (1 / (v->a + .5) + 1 / (v->b + .5)));

	return v->is_tested && fabs(v->l) < Z_STABLE * se && v->phi < PHI_STABLE;
}

/* From totals on: functions that do not change, by the factors so far, give the next ones. */
static void stable_sizes(const struct family *f, double *size)
{
	size_t i, r, stable;
	int round;

	memset(size, 0, f->runs * sizeof *size);
	for (i = 0; i < f->n; i++)
		for (r = 0; r < f->runs; r++)
			size[r] += f->counts[i * f->runs + r];
	to_mean_one(size, f->runs);
	for (round = 0; round < 6; round++) {
		double next[RUNS_MAX];

		measure_all(f, size);
		memset(next, 0, f->runs * sizeof *next);
		for (i = stable = 0; i < f->n; i++)
			if (is_stable(&f->v[i])) {
				stable++;
				for (r = 0; r < f->runs; r++)
					next[r] += f->counts[i * f->runs + r];
			}
		if (stable < 3)
			break;
		memcpy(size, next, f->runs * sizeof *next);
		to_mean_one(size, f->runs);
	}
}

int family_sizes(struct family *f, bool force_stable, double *size, bool *stable)
{
	double *one = calloc(f->runs + 1, sizeof *one), w_stable, w_one;
	size_t r;

	if (!one)
		return -1;
	for (r = 0; r < f->runs; r++)
		one[r] = 1;
	stable_sizes(f, size);
	measure_all(f, size);
	w_stable = within(f);
	measure_all(f, one);
	w_one = within(f);
	*stable = force_stable || w_stable < w_one || within_df(f) <= 0;
	f->floor = *stable ? PHI_FLOOR : PHI_FLOOR_TIMER;
	if (!*stable)
		memcpy(size, one, f->runs * sizeof *size);
	free(one);
	return 0;
}

/* ---- dispersion --------------------------------------------------------------------------------
 */

static double trend_at(const struct family *f, double mu)
{
	return fmax(f->trend[0] + f->trend[1] * mu, .05);
}

/* phi = c0 + c1 mu, with errors that grow with phi (a gamma regression with identity link), whose
 * outliers count no more than four times the trend. */
static void fit_trend(struct family *f)
{
	double sum = 0, n = 0;
	size_t i;
	int round;

	f->trend[1] = 0;
	for (i = 0; i < f->n; i++)
		if (f->v[i].is_tested) {
			sum += fmin(f->v[i].phi, 4);
			n++;
		}
	f->trend[0] = n > 0 ? fmax(sum / n, .3) : 1;
	for (round = 0; round < 30 && n >= 3; round++) {
		double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0, det, c1;

		for (i = 0; i < f->n; i++) {
			const struct tested *v = &f->v[i];
			double at = trend_at(f, v->mu), wi = 1 / (at * at),
			       y = fmin(v->phi, 4 * at);

			if (!v->is_tested)
				continue;
			w += wi;
			wx += wi * v->mu;
			wy += wi * y;
			wxx += wi * v->mu * v->mu;
			wxy += wi * v->mu * y;
		}
		det = w * wxx - wx * wx;
		c1 = det > 1e-9 * w * wxx ? (w * wxy - wx * wy) / det : 0;
		f->trend[1] = fmax(c1, 0);
		f->trend[0] = fmax((wy - f->trend[1] * wx) / w, .3);
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Degrees of freedom of the trend: how much the functions' dispersions scatter around it, beyond
 * what few runs explain (Smyth 2004, by the variance between the 5 and 95 % quantiles). The trend
 * is moved so that its mean logarithm is theirs. */
static int fit_prior(struct family *f)
{
	double df = within_df(f), *e = malloc(f->n * sizeof *e + 1), mean = 0, var = 0, rest;
	size_t i, n = 0;

	if (!e)
		return -1;
	for (i = 0; i < f->n; i++)
		if (f->v[i].is_tested)
			e[n++] = log(fmax(f->v[i].phi, 1e-3) / trend_at(f, f->v[i].mu));
	f->d0 = 4;
	if (n >= 5 && df > 0) {
		double lo, hi;

		qsort(e, n, sizeof *e, compare_doubles);
		lo = e[(size_t)(.05 * (double)(n - 1))];
		hi = e[(size_t)(.95 * (double)(n - 1))];
		for (i = 0; i < n; i++) {
			e[i] = fmin(fmax(e[i], lo), hi);
			mean += e[i] / (double)n;
		}
		for (i = 0; i < n; i++)
			var += (e[i] - mean) * (e[i] - mean) / (double)(n - 1);
		rest = 1.2 * var - stats_trigamma(df / 2);
		f->d0 = rest > 0 ? 2 * stats_trigamma_inverse(rest) : D0_MAX;
		f->d0 = fmin(fmax(f->d0, D0_MIN), D0_MAX);
		mean -= stats_digamma(df / 2) - log(df / 2) - stats_digamma(f->d0 / 2) +
			log(f->d0 / 2);
		f->trend[0] *= exp(mean);
		f->trend[1] *= exp(mean);
	}
	free(e);
	return 0;
}

/* ---- the test ----------------------------------------------------------------------------------
 */

static void test_one(const struct family *f, struct tested *v)
{
	double df = within_df(f), at = trend_at(f, v->mu), d0 = f->d0, margin = log1p(v->margin);

	if (v->phi / at > PHI_ROBUST_FAR)
		d0 = 1;
	else if (v->phi / at > PHI_ROBUST_NEAR)
		d0 = fmin(d0, 4);
	if (df > 0) {
		v->phi_shrunk = fmax((d0 * at + df * v->phi) / (d0 + df), f->floor);
		v->df = d0 + df;
	} else {
		v->phi_shrunk = PHI_ONE_RUN;
		v->df = DF_ONE_RUN;
	}
	v->se = sqrt(v->phi_shrunk * (1 / (v->a + .5) + 1 / (v->b + .5)));
	v->p_up = stats_t_tail((v->l - margin) / v->se, v->df);
	v->p_down = stats_t_tail((-v->l - margin) / v->se, v->df);
}

void family_test_one(const struct family *f, const double *counts, const double *size,
		     struct tested *v)
{
	measure(f, counts, size, v);
	test_one(f, v);
}

/* Larger functions are looked for first: weights by the square root of their size, which no side
 * decides. */
static int adjust(struct family *f)
{
	double *up = malloc(f->n * sizeof *up + 1), *down = malloc(f->n * sizeof *down + 1);
	double *w = malloc(f->n * sizeof *w + 1), mean = 0, sum = 0;
	size_t i, n = 0;
	int rc = -1;

	if (!up || !down || !w)
		goto out;
	for (i = 0; i < f->n; i++)
		if (f->v[i].is_tested) {
			up[n] = f->v[i].p_up;
			down[n] = f->v[i].p_down;
			w[n] = sqrt(f->v[i].mu);
			mean += w[n++];
		}
	mean = n ? mean / (double)n : 1;
	for (i = 0; i < n; i++) {
		w[i] = fmax(.1, w[i] / mean);
		sum += w[i];
	}
	for (i = 0; i < n; i++)
		w[i] *= (double)n / sum;
	if (stats_bh(up, w, n) || stats_bh(down, w, n))
		goto out;
	for (i = n = 0; i < f->n; i++)
		if (f->v[i].is_tested) {
			f->v[i].q_up = fmin(up[n], 1);
			f->v[i].q_down = fmin(down[n++], 1);
		} else {
			f->v[i].q_up = f->v[i].q_down = 1;
		}
	rc = 0;
out:
	free(up);
	free(down);
	free(w);
	return rc;
}

int family_test(struct family *f, const double *size)
{
	size_t i;

	measure_all(f, size);
	fit_trend(f);
	if (fit_prior(f))
		return -1;
	for (i = 0; i < f->n; i++)
		test_one(f, &f->v[i]);
	return adjust(f);
}
