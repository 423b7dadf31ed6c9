/* method.c - estimates dispersion, its trend and size factors, and tests growth beyond a margin. */
#include "regress/method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "regress/stats.h"

/* Chosen on recordings of python, sqlite, clang, git, xz and a generated program: doc/regress.md.
 */
#define PHI_FLOOR	1.0 /* with size factors, counts vary at least by chance */
#define PHI_FLOOR_TIMER 0.3 /* without size factors, a timer samples more evenly than chance */
#define PHI_ROBUST_FAR	6.0 /* times the trend: beyond it a function keeps its own dispersion */
#define PHI_ROBUST_NEAR 3.5
#define PHI_STABLE	6.0
#define Z_STABLE	2.0
#define STABLE_MIN	3 /* functions */
#define D0_MIN		1.0
#define D0_MAX		100.0
#define PHI_ONE_RUN	4.0 /* used if no side has two runs that can be compared */
#define DF_ONE_RUN	4.0
/* Earlier runs weigh at most three times as much as five runs a side. */
#define DF_PAST_MAX    24.0
#define DF_PAST_ENOUGH 10.0 /* needed to believe that a function varies less than by chance */
#define PHI_NOISIER    1.5  /* mean ratio of today's dispersions to those of earlier runs */
#define D0_WITH_PAST   5.0

int family_make(struct family *f, size_t n, size_t runs, size_t base)
{
	*f = (struct family){.n = n, .runs = runs, .base = base};
	f->counts = calloc(n * runs + 1, sizeof *f->counts);
	f->v = calloc(n + 1, sizeof *f->v);
	return f->counts && f->v ? 0 : -1;
}

int family_make_past(struct family *f, size_t n_past, const unsigned *session)
{
	f->past.runs = n_past;
	f->past.session = session;
	f->past.counts = calloc(f->n * n_past + 1, sizeof *f->past.counts);
	f->past.size = calloc(n_past + 1, sizeof *f->past.size);
	return f->past.counts && f->past.size ? 0 : -1;
}

void family_done(struct family *f)
{
	free(f->past.counts);
	free(f->past.size);
	free(f->counts);
	free(f->v);
	*f = (struct family){0};
}

double family_df(const struct family *f)
{
	double base = f->base > 1 ? (double)f->base - 1 : 0;
	size_t n_new = f->runs - f->base;

	return base + (n_new > 1 ? (double)n_new - 1 : 0);
}

/* Computes sums, the log ratio, and the dispersion within the sides. */
static void measure(const struct family *f, const double *counts, const double *size,
		    struct tested *v)
{
	double sum[2] = {0}, s[2] = {0}, chi = 0, df = family_df(f);
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

/* The variation between runs of a side, over all functions. */
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

/* The sums of the functions that do not change with the factors given. Returns how many do not. */
static size_t sum_stable(struct family *f, const double *size, double *sum)
{
	size_t i, r, n = 0;

	measure_all(f, size);
	memset(sum, 0, f->runs * sizeof *sum);
	for (i = 0; i < f->n; i++)
		if (is_stable(&f->v[i])) {
			n++;
			for (r = 0; r < f->runs; r++)
				sum[r] += f->counts[i * f->runs + r];
		}
	return n;
}

struct ratio {
	double ratio, weight;
};

static int compare_ratios(const void *a, const void *b)
{
	double x = ((const struct ratio *)a)->ratio, y = ((const struct ratio *)b)->ratio;

	return (x > y) - (x < y);
}

/* Of a run: the median over the functions, by weight, of what it has to what all runs have in the
 * mean. That of a function that changed much is not in the middle, but in the runs' totals.
 * q has room for all functions. */
static double median_ratio(const struct family *f, size_t run, struct ratio *q)
{
	double all = 0, sum = 0;
	size_t i, n = 0;

	for (i = 0; i < f->n; i++)
		if (f->v[i].is_tested) {
			const double mu = f->v[i].mu;

			q[n++] = (struct ratio){f->counts[i * f->runs + run] / mu, mu};
			all += mu;
		}
	if (!n)
		return 1;
	qsort(q, n, sizeof *q, compare_ratios);
	for (i = 0; i + 1 < n && (sum += q[i].weight) < all / 2; i++)
		;
	return q[i].ratio;
}

/* What most of the time says, unless as many functions agree with no adjustment at all: where half
 * of them got slower alike, the median is among these. */
static void start_without_totals(struct family *f, double *size, struct ratio *q)
{
	double one[RUNS_MAX], sum[RUNS_MAX];
	size_t r;

	for (r = 0; r < f->runs; r++) {
		size[r] = median_ratio(f, r, q);
		one[r] = 1;
	}
	to_mean_one(size, f->runs);
	if (sum_stable(f, one, sum) >= sum_stable(f, size, sum))
		memcpy(size, one, f->runs * sizeof *size);
}

/* Starts with the runs' totals, or, if too few functions agree with these, with what most of them
 * say; then repeatedly takes the functions that do not change with the present factors to compute
 * the next ones. Returns 1; 0: there are too few; -1: out of memory. */
static int stable_sizes(struct family *f, double *size)
{
	struct ratio *q = malloc(f->n * sizeof *q + 1);
	double next[RUNS_MAX];
	size_t i, r;
	int round;

	if (!q)
		return -1;
	memset(size, 0, f->runs * sizeof *size);
	for (i = 0; i < f->n; i++)
		for (r = 0; r < f->runs; r++)
			size[r] += f->counts[i * f->runs + r];
	to_mean_one(size, f->runs);
	if (sum_stable(f, size, next) < STABLE_MIN)
		start_without_totals(f, size, q);
	free(q);
	for (round = 0; round < 6; round++) {
		if (sum_stable(f, size, next) < STABLE_MIN)
			return round > 0;
		memcpy(size, next, f->runs * sizeof *next);
		to_mean_one(size, f->runs);
	}
	return 1;
}

/* The counts and the dispersion of the functions that gave the size factors: the factors have
 * errors, too. */
static void measure_reference(struct family *f)
{
	double mu = 0;
	size_t i;

	f->reference[0] = f->reference[1] = f->reference_phi = 0;
	for (i = 0; i < f->n; i++) {
		struct tested *v = &f->v[i];

		v->is_reference = is_stable(v);
		if (!v->is_reference)
			continue;
		f->reference[0] += v->a;
		f->reference[1] += v->b;
		f->reference_phi += v->mu * v->phi;
		mu += v->mu;
	}
	f->reference_phi = mu > 0 ? fmax(f->reference_phi / mu, f->floor) : 0;
}

/* Size factors of earlier runs: by the functions that are stable today, if these gave today's
 * factors. */
static void past_sizes(struct family *f, bool by_stable)
{
	struct family_past *p = &f->past;
	size_t i, r;

	for (r = 0; r < p->runs; r++)
		p->size[r] = by_stable ? 0 : 1;
	for (i = 0; by_stable && i < f->n; i++)
		if (is_stable(&f->v[i]))
			for (r = 0; r < p->runs; r++)
				p->size[r] += p->counts[i * p->runs + r];
	to_mean_one(p->size, p->runs);
}

int family_sizes(struct family *f, bool force_stable, double *size, bool *stable)
{
	double *one = calloc(f->runs + 1, sizeof *one), w_stable, w_one;
	int can_scale = one ? stable_sizes(f, size) : -1;
	size_t r;

	if (can_scale < 0) {
		free(one);
		return -1;
	}
	for (r = 0; r < f->runs; r++)
		one[r] = 1;
	measure_all(f, size);
	w_stable = within(f);
	measure_all(f, one);
	w_one = within(f);
	*stable = (can_scale && (force_stable || w_stable < w_one)) || family_df(f) <= 0;
	f->is_unscaled = !*stable;
	f->floor = *stable ? PHI_FLOOR : PHI_FLOOR_TIMER;
	if (!*stable)
		memcpy(size, one, f->runs * sizeof *size);
	measure_all(f, size);
	measure_reference(f);
	past_sizes(f, *stable);
	free(one);
	return 0;
}

/* ---- dispersion --------------------------------------------------------------------------------
 */

double family_trend(const struct family *f, double mu)
{
	return fmax(f->trend[0] + f->trend[1] * mu, .05);
}

/* Fits phi = c0 + c1 mu, with errors proportional to phi (a gamma regression with identity link),
 * in which outliers count at most four times the trend. */
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
			double at = family_trend(f, v->mu), wi = 1 / (at * at),
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
		f->trend_var[0] = c1 > 0 ? wxx / det : 1 / w;
		f->trend_var[1] = c1 > 0 ? -wx / det : 0;
		f->trend_var[2] = c1 > 0 ? w / det : 0;
	}
}

/* Degrees of freedom with which the trend is known at a mean count of mu. */
static double trend_df(const struct family *f, double mu)
{
	double at = f->trend[0] + f->trend[1] * mu;
	double var = f->trend_var[0] + 2 * mu * f->trend_var[1] + mu * mu * f->trend_var[2];

	return at * at / (var * (1 / family_df(f) + 1 / f->d0));
}

/* E[ln(chi2 / df)], which is negative. */
static double log_bias(double df)
{
	return stats_digamma(df / 2) - log(df / 2);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Computes the prior degrees of freedom: how much the functions' dispersions scatter around the
 * trend, beyond what the few runs explain (Smyth 2004, with the variance between the 5 and 95 %
 * quantiles). Scales the trend so that its mean logarithm is that of the dispersions. */
static int fit_prior(struct family *f)
{
	double df = family_df(f), *e = malloc(f->n * sizeof *e + 1), mean = 0, var = 0, rest;
	size_t i, n = 0;

	if (!e)
		return -1;
	for (i = 0; i < f->n; i++)
		if (f->v[i].is_tested)
			e[n++] = log(fmax(f->v[i].phi, 1e-3) / family_trend(f, f->v[i].mu));
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
		mean -= log_bias(df) - log_bias(f->d0);
		f->trend[0] *= exp(mean);
		f->trend[1] *= exp(mean);
		for (i = 0; i < 3; i++)
			f->trend_var[i] *= exp(2 * mean);
	}
	free(e);
	return 0;
}

/* ---- earlier runs ------------------------------------------------------------------------------
 */

/* Computes the dispersion of one function within sessions. */
static void measure_past(const struct family *f, size_t i, struct tested *v)
{
	const struct family_past *p = &f->past;
	const double *counts = p->counts + i * p->runs;
	double chi = 0, df = 0;
	size_t start, end, r;

	for (start = 0; start < p->runs; start = end) {
		double sum = 0, s = 0, m;

		for (end = start; end < p->runs && p->session[end] == p->session[start]; end++) {
			sum += counts[end];
			s += p->size[end];
		}
		if (end - start < 2 || sum < SAMPLES_MIN)
			continue;
		for (r = start; r < end; r++) {
			m = p->size[r] * sum / s;
			chi += (counts[r] - m) * (counts[r] - m) / m;
		}
		df += (double)(end - start) - 1;
	}
	v->df_past = df;
	v->phi_past = df > 0 ? chi / df : 0;
}

/* If the machine is noisier today than it was, the dispersion of earlier runs is too small, and
 * they are not used. */
static void check_past(struct family *f)
{
	double df = family_df(f), sum = 0;
	size_t i, n = 0;

	for (i = 0; i < f->n; i++) {
		const struct tested *v = &f->v[i];

		if (!v->is_tested || v->df_past < 2 || !(df > 0))
			continue;
		sum += log(fmax(v->phi, 1e-3) / fmax(v->phi_past, 1e-3)) - log_bias(df) +
		       log_bias(v->df_past);
		n++;
	}
	f->past.is_quieter = n && sum > (double)n * log(PHI_NOISIER);
	for (i = 0; f->past.is_quieter && i < f->n; i++)
		f->v[i].df_past = 0;
}

/* Combines earlier runs with today's and with the trend, which then weighs less. They never
 * outweigh today's runs by far, because the machine may have become noisier; if today's runs
 * scatter much more, they count as one degree of freedom only. */
static double pool_past(const struct family *f, const struct tested *v, double at, double *d0)
{
	double df = fmin(v->df_past, DF_PAST_MAX);

	if (df > 0 && family_df(f) > 0 && v->phi / fmax(v->phi_past, at) > PHI_ROBUST_NEAR)
		df = fmin(df, 1);
	if (df > 0)
		*d0 = fmin(*d0, D0_WITH_PAST);
	return df;
}

/* ---- the test ----------------------------------------------------------------------------------
 */

static void test_one(const struct family *f, struct tested *v)
{
	double df = family_df(f), at = family_trend(f, v->mu), d0 = f->d0,
	       margin = log1p(v->margin);
	double past, floor;

	if (v->phi / at > PHI_ROBUST_FAR)
		d0 = 1;
	else if (v->phi / at > PHI_ROBUST_NEAR)
		d0 = fmin(d0, 4);
	past = pool_past(f, v, at, &d0);
	if (df + past > 0) {
		floor = past >= DF_PAST_ENOUGH ? PHI_FLOOR_TIMER : f->floor;
		v->d0 = d0;
		v->df = d0 + past + df;
		v->phi_shrunk = fmax((d0 * at + past * v->phi_past + df * v->phi) / v->df, floor);
	} else {
		v->phi_shrunk = PHI_ONE_RUN;
		v->d0 = 0;
		v->df = DF_ONE_RUN;
	}
	v->se = sqrt(v->phi_shrunk * (1 / (v->a + .5) + 1 / (v->b + .5)));
	v->p_up = stats_t_tail((v->l - margin) / v->se, v->df);
	v->p_down = stats_t_tail((-v->l - margin) / v->se, v->df);
}

/* Computes the growth beside the other functions. The factors' error adds to that of every ratio; a
 * function that is among those that gave the factors has influenced them, and is left out of them.
 * Without size factors a function's CPU time is a measure by itself, used where the others are so
 * few that they are known less well. The runs' speeds are then part of all dispersions alike, so
 * that the trend has no more degrees of freedom for them than the function. */
static void measure_apart(const struct family *f, struct tested *v)
{
	double a = f->reference[0], b = f->reference[1], variance;

	if (v->is_reference) {
		a -= v->a;
		b -= v->b;
	}
	variance = a > 0 && b > 0 ? f->reference_phi * (1 / a + 1 / b) : INFINITY;
	v->l_apart = v->l;
	v->se_apart = v->se;
	v->df_apart = v->df;
	if (f->is_unscaled && variance > v->se * v->se) {
		v->df_apart -= v->d0;
		return;
	}
	if (v->d0 > 0 && f->trend_var[0] > 0)
		v->df_apart += 1 / (1 / v->d0 + 1 / trend_df(f, v->mu)) - v->d0;
	if (isfinite(variance)) {
		v->l_apart = log((v->b + .5) / (v->a + .5)) - log(b / a);
		v->se_apart = sqrt(v->se * v->se + variance);
	}
}

void family_test_one(const struct family *f, const double *counts, const double *size,
		     struct tested *v)
{
	measure(f, counts, size, v);
	test_one(f, v);
}

/* Is the function tested in this direction? */
static bool is_asked(const struct tested *v, bool up)
{
	return v->is_tested && !(up && v->is_left_out);
}

/* Weights the tests by the square root of the functions' sizes, which do not depend on the sides,
 * so that large functions are found first. p and w have room for all functions. Returns 0 or -1. */
static int adjust_direction(struct family *f, bool up, double *p, double *w)
{
	double mean = 0, sum = 0;
	size_t i, n = 0;

	for (i = 0; i < f->n; i++)
		if (is_asked(&f->v[i], up)) {
			p[n] = up ? f->v[i].p_up : f->v[i].p_down;
			w[n] = sqrt(f->v[i].mu);
			mean += w[n++];
		}
	mean = n ? mean / (double)n : 1;
	if (up) {
		f->asked = (double)n;
		f->weight_mean = mean;
	}
	for (i = 0; i < n; i++) {
		w[i] = fmax(.1, w[i] / mean);
		sum += w[i];
	}
	for (i = 0; i < n; i++)
		w[i] *= (double)n / sum;
	if (stats_bh(p, w, n))
		return -1;
	for (i = n = 0; i < f->n; i++) {
		bool asked = is_asked(&f->v[i], up);

		*(up ? &f->v[i].q_up : &f->v[i].q_down) = asked ? fmin(p[n], 1) : 1;
		if (up && asked)
			f->v[i].first_share = w[n] / f->asked;
		n += asked;
	}
	return 0;
}

static int adjust(struct family *f)
{
	double *p = malloc(f->n * sizeof *p + 1), *w = malloc(f->n * sizeof *w + 1);
	int rc = p && w && !adjust_direction(f, true, p, w) && !adjust_direction(f, false, p, w)
			 ? 0
			 : -1;

	free(p);
	free(w);
	return rc;
}

int family_test(struct family *f, const double *size)
{
	size_t i;

	measure_all(f, size);
	for (i = 0; i < f->n; i++)
		measure_past(f, i, &f->v[i]);
	check_past(f);
	fit_trend(f);
	if (fit_prior(f))
		return -1;
	for (i = 0; i < f->n; i++) {
		test_one(f, &f->v[i]);
		measure_apart(f, &f->v[i]);
	}
	return adjust(f);
}
