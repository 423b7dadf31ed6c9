/* trend_inside.h - a series of commits, one count per function and commit. Private to regress/. */
#ifndef REGRESS_TREND_INSIDE_H
#define REGRESS_TREND_INSIDE_H

#include "regress/inside.h"

/* A commit: the sum of its runs. */
struct trend_point {
	char *name; /* owned */
	uint64_t began_ns;
	struct run_facts facts; /* of its first run */
	double runs, samples;
	double size; /* of the counts: what they are divided by to be comparable */
};

struct trend_cell {
	uint32_t point, key;
	double count;
};

struct trend {
	struct regress *g; /* names and options */
	VEC(struct trend_point) points;
	VEC(struct trend_cell) cells;
	bool by_name;
	/* By trend_compare(): */
	double *counts; /* [key * points + point], points in their order */
	double *total;	/* by point, samples */
	VEC(struct trend_finding) findings;
	struct trend_design design;
};

/* What one series is tested with. */
struct trend_series {
	const double *n;    /* counts */
	const double *size; /* factors */
	size_t points;
	double phi0, d0; /* the usual dispersion, and how sure it is */
	double margin;
};

/* The best explanation of a series, or a part of it, other than "flat". */
struct trend_fit {
	bool is_creep; /* a steady growth; else a step */
	size_t at;     /* of a step: the first point behind it */
	size_t end;    /* of a step that was taken back: the first point behind that; else 0 */
	double l;      /* log ratio: across the step, or from the first point to the last */
	double p;      /* of a change beyond the margin, in either direction; of all shapes tried */
	double chi;    /* what it leaves unexplained */
};

/* At least so many points are on each side of a step, so that one bad commit is none. */
enum { TREND_SIDE_MIN = 3, TREND_POINTS_MIN = 2 * TREND_SIDE_MIN };

/* ---- trend_fit.c */
/* Tests points [from, to). */
void trend_fit(const struct trend_series *s, size_t from, size_t to, struct trend_fit *best);
/* Where a step with fewer points on one side than TREND_SIDE_MIN explains [from, to) certainly
 * better: there the first of the other side; 0: nowhere. */
size_t trend_edge(const struct trend_series *s, size_t from, size_t to,
		  const struct trend_fit *best);
/* The dispersion of a series around a steady change. */
double trend_phi(const struct trend_series *s);

/* ---- trend_moved.c */
/* Sets what the findings are related to. Returns 0 or -1. */
int trend_find_moved(struct trend *t);

#endif
