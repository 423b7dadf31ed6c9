/* diff.h - decides which changes of a difference are noise. Private to output/.
 *
 * A share p that was counted from N samples varies by sqrt(p (1 - p) / N) from run to run if
 * samples are independent; real runs vary more. The factor is estimated for each function from the
 * runs of one side (the dispersion of a quasi-binomial model: observed variance / expected
 * variance, pooled over both sides), and used for all places of the function. */
#ifndef OUTPUT_DIFF_H
#define OUTPUT_DIFF_H

#include "output/output.h"

/* By symbol of the tree: up to how many standard errors of counting a change is noise (99 % of such
 * changes are smaller). `root`: a node whose symbol is left out; 0: none. The caller frees the
 * result. */
double *diff_limits(const struct profile *p, const struct output_diff *d, const struct tree *t,
		    uint32_t root, size_t n_symbols);
/* The standard error of counting of a change between two shares with the mean m is sqrt(m (1 - m) *
 * this). The page computes the same. */
double diff_variance(const struct output_diff *d);
bool diff_is_noise(const struct output_diff *d, double base, double new, double limit);

#endif
