/* diff.c - measures how much the shares of functions vary between the runs of a side. */
#include "output/diff.h"

#include <math.h>
#include <stdlib.h>

#include "base/vec.h"
#include "profile/profile.h"

/* Supposed if only sums are known: the number of samples of a run of ten seconds. */
#define SAMPLES_SUPPOSED 10000

/* 0.995 quantiles of Student's t, from 1 degree of freedom on; the last is that of the normal
 * distribution. */
static const double t_995[] = {
	63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106,
	3.055,	3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819,
	2.807,	2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750, 2.576,
};
enum { N_T = sizeof t_995 / sizeof *t_995 };
#define NORMAL_995 t_995[N_T - 1]

int output_add_run(struct output_diff *d, struct profile *both, const struct profile *run,
		   const struct event_set *events, bool is_new, struct err *err)
{
	struct diff_side *s = &d->sides[is_new];
	const struct profile_event *e = &run->events.v[event_set_main(events, run)];
	int rc = profile_absorb_side(both, run, events, is_new, s->runs, err);

	if (rc)
		return rc;
	/* If the number of samples of one run is unknown, so is the sum. */
	s->samples = e->is_sum || (s->runs && !s->samples) ? 0 : s->samples + e->samples;
	s->runs++;
	d->is_diff = true;
	return 0;
}

/* Of one run. */
static double samples_of(const struct diff_side *s)
{
	return s->samples && s->runs ? (double)s->samples / s->runs : SAMPLES_SUPPOSED;
}

double diff_variance(const struct output_diff *d)
{
	double v = 0;
	size_t k;

	for (k = 0; k < 2; k++)
		v += 1 / (samples_of(&d->sides[k]) * (d->sides[k].runs ? d->sides[k].runs : 1));
	return v;
}

bool diff_is_noise(const struct output_diff *d, double base, double new, double limit)
{
	double mean = (base + new) / 2;

	return fabs(new - base) <= limit * sqrt(mean * (1 - mean) * diff_variance(d));
}

/* ---- the spread ----------------------------------------------------------------------------- */

struct spread {
	const struct profile *p;
	const struct tree *t;
	size_t n_symbols;
	bool *is_outermost;	 /* by node: no frame below it is of the same function */
	double *totals;		 /* by node: of one run */
	double *share;		 /* by symbol: of one run */
	double *sum, *squares;	 /* by symbol: of the runs of one side */
	double *seen, *expected; /* by symbol: variances times degrees of freedom */
	uint32_t *ids;		 /* samples by run */
};

/* A recursive function counts once, at its outermost frame. */
static int mark_outermost(struct spread *s, uint32_t root)
{
	struct tree_order order = {0};
	uint32_t *on_path = calloc(s->n_symbols + 1, sizeof *on_path), i;
	VEC(uint32_t) todo = {0}; /* nodes to enter; ~node: to leave */
	int rc = on_path ? tree_order_make(&order, s->t, NULL, s->n_symbols + 1, NULL) : -1;

	if (!rc)
		rc = vec_push(&todo, 0);
	while (!rc && todo.n) {
		uint32_t id = todo.v[--todo.n], node = id >> 31 ? ~id : id;
		uint32_t *n = &on_path[s->t->nodes.v[node].symbol];
		bool counts = node && node != root;

		if (id >> 31) {
			--*n;
			continue;
		}
		s->is_outermost[node] = counts && !*n;
		if (counts) {
			++*n;
			rc = vec_push(&todo, ~node);
		}
		for (i = order.first[node]; !rc && i < order.first[node + 1]; i++)
			rc = vec_push(&todo, order.ids[i]);
	}
	vec_done(&todo);
	free(on_path);
	tree_order_done(&order);
	return rc;
}

/* Computes the functions' shares in one run from its n samples. */
static void weigh_run(struct spread *s, const uint32_t *ids, size_t n)
{
	const struct tree_node *nodes = s->t->nodes.v;
	size_t i;

	for (i = 0; i < s->t->nodes.n; i++)
		s->totals[i] = 0;
	for (i = 0; i < n; i++) {
		const struct profile_sample *sample = &s->p->samples.v[ids[i]];

		s->totals[sample->node ? s->t->seen[sample->node].node : 0] +=
			(double)sample->count + (double)sample->period;
	}
	for (i = s->t->nodes.n - 1; i; i--)
		s->totals[nodes[i].parent] += s->totals[i];
	for (i = 0; i < s->n_symbols; i++)
		s->share[i] = 0;
	for (i = 1; i < s->t->nodes.n && s->totals[0] > 0; i++)
		if (s->is_outermost[i])
			s->share[nodes[i].symbol] += s->totals[i] / s->totals[0];
}

static bool is_of_run(const struct profile_sample *s, size_t side, uint32_t run)
{
	return !s->event && s->tid == run && (side ? s->period : s->count);
}

/* Handles one run after the other, so that memory does not grow with their number. */
static void weigh_side(struct spread *s, const struct output_diff *d, size_t side)
{
	const struct diff_side *of = &d->sides[side];
	uint32_t run;
	size_t i, n;

	for (i = 0; i < s->n_symbols; i++)
		s->sum[i] = s->squares[i] = 0;
	for (run = 0; run < of->runs; run++) {
		for (i = n = 0; i < s->p->samples.n; i++)
			if (is_of_run(&s->p->samples.v[i], side, run))
				s->ids[n++] = (uint32_t)i;
		weigh_run(s, s->ids, n);
		for (i = 0; i < s->n_symbols; i++) {
			s->sum[i] += s->share[i];
			s->squares[i] += s->share[i] * s->share[i];
		}
	}
	for (i = 0; i < s->n_symbols && of->runs; i++) {
		double mean = s->sum[i] / of->runs;

		s->seen[i] += fmax(0, s->squares[i] - mean * s->sum[i]);
		s->expected[i] += (of->runs - 1) * mean * (1 - mean) / samples_of(of);
	}
}

static void set_limits(const struct spread *s, unsigned freedom, double *limits)
{
	double t = t_995[freedom < N_T ? freedom - 1 : N_T - 1];
	size_t i;

	for (i = 0; i < s->n_symbols; i++)
		if (s->expected[i] > 0)
			limits[i] = fmax(limits[i], t * sqrt(s->seen[i] / s->expected[i]));
}

double *diff_limits(const struct profile *p, const struct output_diff *d, const struct tree *t,
		    uint32_t root, size_t n_symbols)
{
	unsigned freedom = (d->sides[0].runs ? d->sides[0].runs - 1 : 0) +
			   (d->sides[1].runs ? d->sides[1].runs - 1 : 0);
	struct spread s = {.p = p, .t = t, .n_symbols = n_symbols};
	double *limits = malloc((n_symbols + 1) * sizeof *limits), *sums = NULL;
	size_t i;

	for (i = 0; limits && i < n_symbols; i++)
		limits[i] = NORMAL_995;
	if (!freedom || !limits)
		return limits;
	s.is_outermost = calloc(t->nodes.n, sizeof *s.is_outermost);
	s.totals = malloc(t->nodes.n * sizeof *s.totals);
	s.ids = malloc((p->samples.n + 1) * sizeof *s.ids);
	sums = calloc(5 * n_symbols + 1, sizeof *sums);
	if (s.is_outermost && s.totals && s.ids && sums && !mark_outermost(&s, root)) {
		s.share = sums;
		s.sum = sums + n_symbols;
		s.squares = sums + 2 * n_symbols;
		s.seen = sums + 3 * n_symbols;
		s.expected = sums + 4 * n_symbols;
		weigh_side(&s, d, 0);
		weigh_side(&s, d, 1);
		set_limits(&s, freedom, limits);
	} else {
		free(limits);
		limits = NULL;
	}
	free(s.is_outermost);
	free(s.totals);
	free(s.ids);
	free(sums);
	return limits;
}
