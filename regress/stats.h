/* stats.h - distributions that the comparison needs, with an error of about 1e-12. Private to
 * regress/. Source of truth: NIST Digital Library of Mathematical Functions, chapters 5 and 8. */
#ifndef REGRESS_STATS_H
#define REGRESS_STATS_H

#include <stddef.h>

/* Derivatives of ln Gamma, x > 0. */
double stats_digamma(double x);
double stats_trigamma(double x);
/* The x > 0 with trigamma(x) = y, y > 0. */
double stats_trigamma_inverse(double y);
/* P(T > t) of Student's t with df degrees of freedom, which need not be an integer. */
double stats_t_tail(double t, double df);
/* The t with P(T > t) = p, 0 < p < 1. */
double stats_t_quantile(double p, double df);
/* P(N > z) of the normal distribution. */
double stats_normal_tail(double z);
/* Benjamini and Hochberg's adjusted p values, in place; with weights that have a mean of 1
 * (Genovese, Roeder, Wasserman 2006), or NULL. 0, or -1 when out of memory. */
int stats_bh(double *p, const double *weights, size_t n);

#endif
