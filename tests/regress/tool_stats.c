/* tool_stats.c - stats.h from the command line: "t t df", "quantile p df", "digamma
 * x" .. on standard input, a number a line on standard output. With "bh" as argument: sets of p
 * values, "n p w p w ..", and their adjusted ones. */
#include <stdio.h>
#include <string.h>

#include "regress/stats.h"

enum { SET_MAX = 1000 };

static int adjust_sets(void)
{
	double p[SET_MAX], w[SET_MAX];
	size_t i, n;

	while (scanf("%zu", &n) == 1 && n <= SET_MAX) {
		for (i = 0; i < n; i++)
			if (scanf("%lf %lf", &p[i], &w[i]) != 2)
				return 1;
		if (stats_bh(p, w, n))
			return 1;
		for (i = 0; i < n; i++)
			printf("%.17g\n", p[i]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	char what[32];
	double x, a, b;

	if (argc > 1 && !strcmp(argv[1], "bh"))
		return adjust_sets();
	while (scanf("%31s %lf %lf %lf", what, &x, &a, &b) == 4) {
		double r = 0;

		if (!strcmp(what, "t"))
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
		printf("%.17g\n", r);
	}
	return 0;
}
