/* trend_fit.c - is a series of counts flat? Counts are quasi-Poisson; steps at each point and a
 * steady change are tried, and the p value is Bonferroni's over all of them, which holds for any
 * number of points. */
#include <math.h>
#include <stdlib.h>

#include "regress/stats.h"
#include "regress/trend_inside.h"

enum { FIT_ITERATIONS = 25 };
#define R1_MAX	    .8 /* of the correlation of neighbours */
#define AS_CERTAIN  100.
#define P_CERTAIN   1e-6
#define EDGE_BETTER 4.	/* of chi: what chance hardly makes of a step at another place */
#define PHI_ROBUST  3.5 /* times the usual: a series keeps its own dispersion */

/* How the counts differ from what a model expects. */
struct rest {
	double chi, lagged; /* sums of squares, and of products of neighbours, in standard errors */
	double last;
	size_t n;
};

static void see(struct rest *r, double n, double expected)
{
	double e = (n - expected) / sqrt(fmax(expected, .25));

	r->chi += e * e;
	if (r->n++)
		r->lagged += e * r->last;
	r->last = e;
}

struct noise {
	double phi, df;
};

/* The dispersion that the rest shows, moved towards the usual one; if neighbours are alike, as
 * where the machine has good and bad days, there are in effect fewer points. */
static struct noise noise_of(const struct trend_series *s, const struct rest *r, double parameters)
{
	double df = fmax((double)r->n - parameters, 1), phi = r->chi / df;
	double r1 = r->chi > 0 ? fmin(fmax(r->lagged / r->chi, 0), R1_MAX) : 0;
	double fewer = (1 - r1) / (1 + r1);
	struct noise w = {phi, df * fewer};

	if (s->d0 > 0 && phi < PHI_ROBUST * s->phi0) {
		w.phi = (s->d0 * s->phi0 + w.df * phi) / (s->d0 + w.df);
		w.df += s->d0;
	}
	/* Two standard errors: by chance alone r1 is this large in short series. */
	if (r1 > 2 / sqrt((double)r->n))
		w.phi /= fewer;
	w.phi = fmax(w.phi, 1);
	return w;
}

static double two_sided(double l, double margin, double se, double df)
{
	return fmin(1, 2 * stats_t_tail((fabs(l) - margin) / se, df));
}

/* ---- a step -------------------------------------------------------------------------------------
 */

struct sums {
	double n, size;
};

static struct sums sum(const struct trend_series *s, size_t from, size_t to)
{
	struct sums r = {0};
	size_t i;

	for (i = from; i < to; i++) {
		r.n += s->n[i];
		r.size += s->size[i];
	}
	return r;
}

static double try_step(const struct trend_series *s, size_t from, size_t at, size_t to,
		       struct trend_fit *f)
{
	struct sums a = sum(s, from, at), b = sum(s, at, to);
	struct rest r = {0};
	struct noise w;
	double se;
	size_t i;

	for (i = from; i < to; i++)
		see(&r, s->n[i],
		    s->size[i] * (i < at ? (a.n + .25) / a.size : (b.n + .25) / b.size));
	w = noise_of(s, &r, 2);
	f->chi = r.chi;
	f->l = log((b.n + .5) / b.size) - log((a.n + .5) / a.size);
	se = sqrt(w.phi * (1 / (a.n + .5) + 1 / (b.n + .5)));
	return two_sided(f->l, s->margin, se, w.df);
}

/* ---- a step that was taken back -----------------------------------------------------------------
 */

struct inside {
	size_t at, end;
	struct sums in, out;
};

/* The part that differs most from the rest, if chance is all there is: by sums up to each point. */
static struct inside find_inside(const struct trend_series *s, size_t from, size_t to,
				 const struct sums *upto)
{
	const struct sums all = upto[to - from];
	struct inside best = {0};
	double most = 0;
	size_t i, k, n = to - from;

	for (i = TREND_SIDE_MIN; i + TREND_SIDE_MIN < n; i++)
		for (k = i + TREND_SIDE_MIN; k + TREND_SIDE_MIN <= n; k++) {
			struct sums in = {upto[k].n - upto[i].n, upto[k].size - upto[i].size};
			struct sums out = {all.n - in.n, all.size - in.size};
			double l = log((in.n + .5) / in.size) - log((out.n + .5) / out.size);
			double z = (fabs(l) - s->margin) / sqrt(1 / (in.n + .5) + 1 / (out.n + .5));

			if (z > most) {
				most = z;
				best = (struct inside){from + i, from + k, in, out};
			}
		}
	return best;
}

/* p of the best part, of all that were tried; 1: none, or no memory. */
static double try_inside(const struct trend_series *s, size_t from, size_t to,
			 struct trend_fit *fit)
{
	size_t n = to - from, i, tried;
	struct sums *upto = calloc(n + 1, sizeof *upto);
	struct inside b = {0};
	struct rest r = {0};
	struct noise w;

	for (i = 0; upto && i < n; i++)
		upto[i + 1] =
			(struct sums){upto[i].n + s->n[from + i], upto[i].size + s->size[from + i]};
	if (upto && n >= 3 * TREND_SIDE_MIN)
		b = find_inside(s, from, to, upto);
	free(upto);
	if (!b.end)
		return 1;
	for (i = from; i < to; i++) {
		const struct sums *x = i >= b.at && i < b.end ? &b.in : &b.out;

		see(&r, s->n[i], s->size[i] * (x->n + .25) / x->size);
	}
	w = noise_of(s, &r, 3);
	fit->chi = r.chi;
	fit->at = b.at;
	fit->end = b.end;
	fit->l = log((b.in.n + .5) / b.in.size) - log((b.out.n + .5) / b.out.size);
	i = n - 3 * TREND_SIDE_MIN + 1;
	tried = i * (i + 1) / 2;
	return fmin(1, (double)tried *
			       two_sided(fit->l, s->margin,
					 sqrt(w.phi * (1 / (b.in.n + .5) + 1 / (b.out.n + .5))),
					 w.df));
}

/* ---- a steady change ----------------------------------------------------------------------------
 */

struct line {
	double a, b; /* log of the rate at the middle, and its slope by point */
	double var_b;
};

/* Maximum likelihood of log n = a + b x, by Newton's method. */
static struct line fit_line(const struct trend_series *s, size_t from, size_t to)
{
	struct sums all = sum(s, from, to);
	struct line f = {.a = log((all.n + .5) / all.size)};
	double middle = ((double)from + (double)to - 1) / 2;
	int k;

	for (k = 0; k < FIT_ITERATIONS; k++) {
		double g0 = 0, g1 = 0, h00 = 0, h01 = 0, h11 = 0, det;
		size_t i;

		for (i = from; i < to; i++) {
			double x = (double)i - middle, m = s->size[i] * exp(f.a + f.b * x);

			g0 += s->n[i] - m;
			g1 += (s->n[i] - m) * x;
			h00 += m;
			h01 += m * x;
			h11 += m * x * x;
		}
		det = h00 * h11 - h01 * h01;
		if (!(det > 0))
			break;
		f.var_b = h00 / det;
		f.a += fmin(fmax((h11 * g0 - h01 * g1) / det, -1), 1);
		f.b += fmin(fmax((h00 * g1 - h01 * g0) / det, -.5), .5);
	}
	return f;
}

static void see_line(const struct trend_series *s, size_t from, size_t to, const struct line *f,
		     struct rest *r)
{
	double middle = ((double)from + (double)to - 1) / 2;
	size_t i;

	for (i = from; i < to; i++)
		see(r, s->n[i], s->size[i] * exp(f->a + f->b * ((double)i - middle)));
}

static double try_line(const struct trend_series *s, size_t from, size_t to, struct trend_fit *fit)
{
	struct line f = fit_line(s, from, to);
	double way = (double)(to - from - 1);
	struct rest r = {0};
	struct noise w;

	see_line(s, from, to, &f, &r);
	w = noise_of(s, &r, 2);
	fit->chi = r.chi;
	fit->l = f.b * way;
	return isfinite(fit->l) && f.var_b > 0
		       ? two_sided(fit->l, s->margin, way * sqrt(w.phi * f.var_b), w.df)
		       : 1;
}

double trend_phi(const struct trend_series *s)
{
	struct line f = fit_line(s, 0, s->points);
	struct rest r = {0};

	see_line(s, 0, s->points, &f, &r);
	return r.chi / fmax((double)s->points - 2, 1);
}

/* Of shapes that are about as certain, the one that leaves least. */
static void choose(struct trend_fit *best, const struct trend_fit *f)
{
	bool as_certain = f->p < AS_CERTAIN * fmax(best->p, P_CERTAIN);

	if (f->p < best->p ? best->p < AS_CERTAIN * fmax(f->p, P_CERTAIN) && best->chi <= f->chi
			   : !as_certain || f->chi >= best->chi) {
		best->p = fmin(best->p, f->p);
		return;
	}
	*best = (struct trend_fit){f->is_creep, f->at, f->end, f->l, fmin(best->p, f->p), f->chi};
}

void trend_fit(const struct trend_series *s, size_t from, size_t to, struct trend_fit *best)
{
	struct trend_fit step = {.p = 1}, f;
	double tries;
	size_t at;

	*best = (struct trend_fit){.p = 1, .chi = INFINITY};
	if (to - from < TREND_POINTS_MIN)
		return;
	/* A third of the error for steps, for steps that were taken back, for a steady change. */
	tries = (double)(to - from - 2 * TREND_SIDE_MIN + 1);
	for (at = from + TREND_SIDE_MIN; at + TREND_SIDE_MIN <= to; at++) {
		f = (struct trend_fit){.at = at};
		f.p = fmin(1, 3 * tries * try_step(s, from, at, to, &f));
		if (f.p < step.p)
			step = f;
	}
	choose(best, &step);
	f = (struct trend_fit){0};
	f.p = fmin(1, 3 * try_inside(s, from, to, &f));
	choose(best, &f);
	f = (struct trend_fit){.is_creep = true, .at = from};
	f.p = fmin(1, 3 * try_line(s, from, to, &f));
	choose(best, &f);
}

size_t trend_edge(const struct trend_series *s, size_t from, size_t to,
		  const struct trend_fit *best)
{
	double least = best->chi;
	size_t side, at = 0;

	for (side = 1; side < TREND_SIDE_MIN; side++) {
		size_t places[2] = {from + side, to - side}, i;

		for (i = 0; i < 2; i++) {
			struct trend_fit f = {0};
			double phi;

			try_step(s, from, places[i], to, &f);
			phi = fmax(f.chi / (double)(to - from), 1);
			if (f.chi < least && f.chi + EDGE_BETTER * phi < best->chi) {
				least = f.chi;
				at = places[i];
			}
		}
	}
	return at;
}
