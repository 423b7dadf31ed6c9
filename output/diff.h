/* diff.h - which changes of a difference are noise. Private to output/.
 *
 * A share p that was counted from N samples varies by sqrt(p (1 - p) / N) from run to run if
 * samples are independent; real runs vary more. How much more is estimated for each function from
 * the runs of one side (the dispersion of a quasi-binomial model: variance seen by variance
 * expected, pooled over both sides), and is then supposed of all places of the function. */
#ifndef OUTPUT_DIFF_H
#define OUTPUT_DIFF_H

#include "output/output.h"

/* By symbol of the tree: how many standard errors of counting a change may have that is noise (99 %
 * of them are smaller). `root`: a node whose symbol does not count; 0. To be freed. */
double *diff_limits(const struct profile *p, const struct output_diff *d, const struct tree *t,
		    uint32_t root, size_t n_symbols);
/* The standard error of counting of a change from one share to the other is
 * sqrt(m (1 - m) * this), m the mean of both. The page computes the same. */
double diff_variance(const struct output_diff *d);
bool diff_is_noise(const struct output_diff *d, double base, double new, double limit);

#endif
