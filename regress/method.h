/* method.h - the statistics of one family of functions. Private to regress/.
 *
 * Counts of functions in runs are overdispersed Poisson variables: variance = phi * mean. phi is
 * estimated per function from the differences between runs of one side and drawn towards the trend
 * of all functions (empirical Bayes), robustly: a function that jumps keeps its own. The test is of
 * a growth beyond a margin, not beyond nothing. */
#ifndef REGRESS_METHOD_H
#define REGRESS_METHOD_H

#include <stdbool.h>
#include <stddef.h>

struct tested {
	double a, b; /* sums of the sides */
	double l;    /* log ratio, adjusted */
	double mu;   /* mean count per run */
	double phi, phi_shrunk, df, se;
	double d0;		  /* of df: the trend's */
	double l_apart, se_apart; /* beside the reference without this function, and its error */
	double df_apart;	  /* of bounds by se and se_apart: df less what the trend errs */
	double phi_past, df_past; /* of earlier runs */
	double margin;
	double p_up, p_down; /* of a growth (decline) beyond the margin; then adjusted: q_ */
	double q_up, q_down;
	double first_share; /* of q: the level at which it is found if nothing else is slower */
	bool is_tested;	    /* enough samples */
	bool is_reference;  /* one of those that do not change: by family_sizes() */
	bool is_left_out;   /* by the caller: its growth is not one of the questions */
};

/* Earlier runs, which are compared with others of their session only. */
struct family_past {
	size_t runs;
	double *counts;		 /* [function * runs + run] */
	const unsigned *session; /* by run; those of one stand together */
	double *size;		 /* by family_sizes() */
	bool is_quieter;	 /* than today, so it was not used: by family_test() */
};

struct family {
	size_t n, runs, base; /* functions; runs, the first of which are the base's */
	double *counts;	      /* [function * runs + run] */
	struct family_past past;
	struct tested *v;
	double d0, trend[2];
	/* Of the fit: the variance of trend[0], the covariance, the variance of trend[1], for
	 * functions whose phi/trend has a variance of 1. */
	double trend_var[3];
	/* By family_sizes(), else 0: samples of both sides in the functions that do not change,
	 * which give the size factors, and their dispersion. */
	double reference[2], reference_phi;
	bool is_unscaled; /* by family_sizes(): the size factors are 1 */
	double floor;	  /* of the dispersion: by family_sizes(), of other families the caller's */
	double asked, weight_mean; /* hypotheses of a growth, and the mean of their sqrt(mu) */
};

enum { SAMPLES_MIN = 20, RUNS_MAX = 256 };

/* Zeroed counts and results. 0 or -1 when out of memory. */
int family_make(struct family *f, size_t n, size_t runs, size_t base);
/* The same of n_past earlier runs; `session` stays the caller's. */
int family_make_past(struct family *f, size_t n_past, const unsigned *session);
void family_done(struct family *f);
/* Size factors of the runs, with a mean of 1: *is_stable is whether functions that do not change
 * gave them, or nothing has to be adjusted. Looks at nothing but how runs of one side differ.
 * force_stable: the latter is not wanted. 0 or -1. */
int family_sizes(struct family *f, bool force_stable, double *size, bool *is_stable);
/* Fills results with given size factors; v[].margin is set by the caller. 0 or -1. */
int family_test(struct family *f, const double *size);
/* The same for one function with other counts, by the family's trend: v->margin is set. */
void family_test_one(const struct family *f, const double *counts, const double *size,
		     struct tested *v);

/* Degrees of freedom that the differences within sides give. */
double family_df(const struct family *f);
/* After family_test(): the dispersion that functions of a mean count have. */
double family_trend(const struct family *f, double mu);

/* ---- power.c: what could have been found with a power of 80 %, after family_test() */
/* The growths that a function certainly stays above and below, each wrong for a share of q. Beside
 * both what the test compares with and the reference without this function. */
void family_bounds(const struct tested *v, double q, double *lower, double *upper);
double family_upper(const struct tested *v, double q);
/* The smallest growth of a function, at q, if nothing else grew. */
double family_mde(const struct tested *v, double q);
/* The chance that some function of the family is flagged although nothing changed: at most q. */
double family_false_alarm(const struct family *f, double q);
/* The same for one test of a growth beyond a margin. */
double single_false_alarm(double margin, double se, double df, double q);
/* A function with a share of all samples that grows by so much: */
struct effect {
	double share, growth, margin, q;
};
/* How many samples each run needs, if there are as many runs; INFINITY: those do not help.
 * `samples`: of a run, as they are. */
double family_samples_needed(const struct family *f, const struct effect *e, double samples);
/* How many runs each side needs, of so many samples each; INFINITY: the growth is none to look for.
 */
double family_runs_needed(const struct family *f, const struct effect *e, double samples);

#endif
