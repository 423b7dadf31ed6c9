/* tool_stats.c - stats.h from the command line: "beta x a b", "t t df", "quantile p df", "digamma
 * x" .. on standard input, a number a line on standard output. */
#include <stdio.h>
#include <string.h>

#include "regress/stats.h"

int main(void)
{
	char what[32];
	double x, a, b, lo, hi;

	while (scanf("%31s %lf %lf %lf", what, &x, &a, &b) == 4) {
		double r = 0;

		if (!strcmp(what, "beta"))
			r = stats_beta(x, a, b);
		else if (!strcmp(what, "t"))
			r = stats_t_tail(x, a);
		else if (!strcmp(what, "quantile"))
			r = stats_t_quantile(x, a);
		else if (!strcmp(what, "digamma"))
			r = stats_digamma(x);
		else if (!strcmp(what, "trigamma"))
			r = stats_trigamma(x);
		else if (!strcmp(what, "inverse"))
			r = stats_trigamma_inverse(x);
		else if (!strcmp(what, "normal"))
			r = stats_normal_tail(x);
		else if (!strcmp(what, "poisson"))
			r = stats_poisson_tail(x, a);
		else if (!strcmp(what, "wilson_lo") || !strcmp(what, "wilson_hi")) {
			stats_wilson(x, a, &lo, &hi);
			r = what[7] == 'l' ? lo : hi;
		}
		printf("%.17g\n", r);
	}
	return 0;
}
