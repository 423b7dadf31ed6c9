/* stats.c - continued fractions and asymptotic series. */
#include "regress/stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* DLMF 5.5.2 up to where 5.11.2 is exact to 1e-16. */
double stats_digamma(double x)
{
	double sum = 0, y;

	for (; x < 12; x++)
		sum -= 1 / x;
	y = 1 / (x * x);
	return sum + log(x) - 0.5 / x -
	       y * (1. / 12 -
		    y * (1. / 120 -
			 y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * 691. / 32760)))));
}

/* DLMF 5.15.8 */
double stats_trigamma(double x)
{
	double sum = 0, y;

	for (; x < 12; x++)
		sum += 1 / (x * x);
	y = 1 / (x * x);
	return sum + 1 / x + y / 2 +
	       y / x *
		       (1. / 6 -
			y * (1. / 30 -
			     y * (1. / 42 - y * (1. / 30 - y * (5. / 66 - y * 691. / 2730)))));
}

double stats_trigamma_inverse(double y)
{
	double lo = 1e-8, hi = 1e8, mid = 1;
	int i;

	for (i = 0; i < 200 && hi / lo > 1 + 1e-15; i++) {
		mid = sqrt(lo * hi);
		*(stats_trigamma(mid) > y ? &lo : &hi) = mid;
	}
	return mid;
}

/* The continued fraction of DLMF 8.17.22, by Lentz's method. */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h, m;
	int i;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (i = 1; i < 100000; i++) {
		double m2 = 2. * i, term, step;

		m = i;
		term = m * (b - m) * x / ((a + m2 - 1) * (a + m2));
		d = 1 + term * d;
		c = 1 + term / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		term = -(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1));
		d = 1 + term * d;
		c = 1 + term / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-16)
			break;
	}
	return h;
}

/* y is 1 - x, passed separately so that no digits cancel. */
static double beta_both(double x, double y, double a, double b)
{
	double front;

	if (x <= 0 || y >= 1)
		return 0;
	if (y <= 0 || x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(y, b, a) / b;
}

double stats_t_tail(double t, double df)
{
	double half;

	if (df > 1e7)
		return stats_normal_tail(t);
	half = 0.5 * beta_both(df / (df + t * t), t * t / (df + t * t), df / 2, 0.5);
	return t > 0 ? half : 1 - half;
}

double stats_t_quantile(double p, double df)
{
	double lo = -1, hi = 1;
	int i;

	while (stats_t_tail(hi, df) > p && hi < DBL_MAX / 4)
		hi *= 2;
	while (stats_t_tail(lo, df) < p && lo > -DBL_MAX / 4)
		lo *= 2;
	for (i = 0; i < 200; i++) {
		double mid = (lo + hi) / 2;

		if (mid <= lo || mid >= hi)
			break;
		*(stats_t_tail(mid, df) > p ? &lo : &hi) = mid;
	}
	return (lo + hi) / 2;
}

double stats_normal_tail(double z)
{
	return 0.5 * erfc(z / M_SQRT2);
}

struct ranked {
	double p;
	size_t at;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

int stats_bh(double *p, const double *weights, size_t n)
{
	struct ranked *r = malloc(n * sizeof *r + 1);
	double least = 1;
	size_t i;

	if (!r)
		return -1;
	for (i = 0; i < n; i++)
		r[i] = (struct ranked){weights ? p[i] / weights[i] : p[i], i};
	qsort(r, n, sizeof *r, compare);
	for (i = n; i--;) {
		double q = r[i].p * (double)n / (double)(i + 1);

		least = q < least ? q : least;
		p[r[i].at] = least;
	}
	free(r);
	return 0;
}
