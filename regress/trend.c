/* trend.c - counts functions in the stored profiles of many commits, and finds those that grew. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "regress/stats.h"
#include "regress/trend_inside.h"

#define D0 8.0 /* what the usual dispersion counts for, if there are enough functions */
enum { USUAL_MIN = 10, COUNT_MIN = 5, DEPTH_MAX = 12, POINTS_MAX = 4096 };

struct trend *trend_new(const struct regress_options *opt, bool by_name)
{
	struct trend *t = calloc(1, sizeof *t);

	if (t) {
		t->g = regress_new(opt);
		t->by_name = by_name;
	}
	/* The files of a commit may be others than those of the next. */
	if (t && t->g)
		t->g->is_by_name = true;
	if (t && !t->g) {
		free(t);
		return NULL;
	}
	return t;
}

void trend_free(struct trend *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->points.n; i++)
		free(t->points.v[i].name);
	for (i = 0; i < t->findings.n; i++)
		free(t->findings.v[i].series);
	vec_done(&t->points);
	vec_done(&t->cells);
	vec_done(&t->findings);
	free(t->counts);
	free(t->total);
	regress_free(t->g);
	free(t);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static int point_of(struct trend *t, const char *name, const struct run_facts *facts,
		    struct err *err)
{
	struct trend_point p = {.began_ns = facts->began_ns, .facts = *facts};

	if (t->points.n && !strcmp(t->points.v[t->points.n - 1].name, name))
		return 0;
	if (t->points.n >= POINTS_MAX)
		return err_set(err, ERR_LIMIT, name, "more than %d commits", POINTS_MAX);
	p.name = strdup(name);
	if (p.name && !vec_push(&t->points, p))
		return 0;
	free(p.name);
	return err_nomem(err);
}

/* Adds what the last run of g has, and forgets its tree. */
static int take_run(struct trend *t, struct err *err)
{
	struct regress *g = t->g;
	struct run_tree *tree = &g->trees.v[g->trees.n - 1];
	struct trend_point *p = &t->points.v[t->points.n - 1];
	double *self = calloc(2 * g->info.n + 1, sizeof *self);
	size_t i;
	int rc = self && !run_count(tree, self, self + g->info.n) ? 0 : err_nomem(err);

	for (i = 0; !rc && i < g->info.n; i++)
		if (self[i] > 0 &&
		    vec_push(&t->cells,
			     (struct trend_cell){(uint32_t)t->points.n - 1, (uint32_t)i, self[i]}))
			rc = err_nomem(err);
	p->runs++;
	p->samples += g->runs.v[g->runs.n - 1].samples;
	free(self);
	vec_done(&tree->nodes);
	memset(tree, 0, sizeof *tree);
	/* The first stays: it says which event the others must have. */
	if (g->runs.n > 1) {
		free(g->runs.v[--g->runs.n].name);
		g->trees.n--;
	}
	return rc;
}

int trend_add(struct trend *t, const char *commit, const char *run, const struct profile *p,
	      const struct run_facts *facts, struct err *err)
{
	int rc = point_of(t, commit, facts, err);

	if (!rc)
		rc = regress_add_run(t->g, SIDE_NEW, run, p, facts, err);
	return rc ? rc : take_run(t, err);
}

/* ---- order --------------------------------------------------------------------------------------
 */

struct ordered {
	const struct trend *t;
	uint32_t point;
};

static int compare_points(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	const struct trend_point *p = &x->t->points.v[x->point], *q = &y->t->points.v[y->point];

	if (!x->t->by_name && p->began_ns != q->began_ns)
		return p->began_ns < q->began_ns ? -1 : 1;
	if (strcmp(p->name, q->name))
		return strcmp(p->name, q->name);
	return x->point < y->point ? -1 : x->point > y->point;
}

/* Sorts the points by time, if all tell it, else by name; fills counts. */
static int make_series(struct trend *t)
{
	size_t n = t->points.n, keys = t->g->info.n, i;
	struct ordered *order = calloc(n + 1, sizeof *order);
	struct trend_point *sorted = calloc(n + 1, sizeof *sorted);
	uint32_t *place = calloc(n + 1, sizeof *place);
	bool good;

	t->counts = calloc(keys * n + 1, sizeof *t->counts);
	t->total = calloc(n + 1, sizeof *t->total);
	good = order && sorted && place && t->counts && t->total;
	for (i = 0; good && i < n; i++) {
		t->by_name |= !t->points.v[i].began_ns;
		order[i] = (struct ordered){t, (uint32_t)i};
	}
	if (good && n)
		qsort(order, n, sizeof *order, compare_points);
	for (i = 0; good && i < n; i++) {
		sorted[i] = t->points.v[order[i].point];
		place[order[i].point] = (uint32_t)i;
	}
	for (i = 0; good && i < n; i++)
		t->points.v[i] = sorted[i];
	for (i = 0; good && i < t->cells.n; i++) {
		const struct trend_cell *c = &t->cells.v[i];

		t->counts[c->key * n + place[c->point]] += c->count;
		t->total[place[c->point]] += c->count;
	}
	t->design.by_name = t->by_name;
	free(order);
	free(sorted);
	free(place);
	return good ? 0 : -1;
}

/* ---- size factors -------------------------------------------------------------------------------
 */

struct ratio {
	double r, weight;
};

static int compare_ratios(const void *a, const void *b)
{
	double x = ((const struct ratio *)a)->r, y = ((const struct ratio *)b)->r;

	return (x > y) - (x < y);
}

static double mean_of(const struct trend *t, size_t key)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < t->points.n; i++)
		sum += t->counts[key * t->points.n + i];
	return sum / (double)t->points.n;
}

/* The weighted median of what functions have at this point beside their means: functions that
 * change do not move it. */
static double median_ratio(const struct trend *t, const double *mean, size_t point, struct ratio *v)
{
	size_t keys = t->g->info.n, n = 0, i;
	double all = 0, below = 0;

	for (i = 0; i < keys; i++)
		if (mean[i] >= COUNT_MIN) {
			v[n++] = (struct ratio){t->counts[i * t->points.n + point] / mean[i],
						sqrt(mean[i])};
			all += sqrt(mean[i]);
		}
	if (!n)
		return t->points.v[point].runs;
	qsort(v, n, sizeof *v, compare_ratios);
	for (i = 0; i + 1 < n && below + v[i].weight < all / 2; i++)
		below += v[i].weight;
	return fmax(v[i].r, 1e-3);
}

/* How much functions differ from point to point with these factors. */
static double roughness(const struct trend *t, const double *mean, const double *size)
{
	double sum = 0, weight = 0;
	size_t k, i, n = t->points.n;

	for (k = 0; k < t->g->info.n; k++) {
		double chi = 0;

		if (mean[k] < COUNT_MIN)
			continue;
		for (i = 1; i < n; i++) {
			double d = t->counts[k * n + i] / size[i] -
				   t->counts[k * n + i - 1] / size[i - 1];

			chi += d * d / (2 * mean[k]);
		}
		sum += mean[k] * log(fmax(chi / (double)(n - 1), .05));
		weight += mean[k];
	}
	return weight > 0 ? sum / weight : 0;
}

/* Either the number of runs, or what the functions that do not change have: with which counts vary
 * less from commit to commit. */
static int set_sizes(struct trend *t, double *mean)
{
	size_t keys = t->g->info.n, n = t->points.n, i;
	struct ratio *v = calloc(keys + 1, sizeof *v);
	double *size[2] = {calloc(n + 1, sizeof **size), calloc(n + 1, sizeof **size)};
	double sum[2] = {0};
	bool good = v && size[0] && size[1];
	int s;

	for (i = 0; i < keys; i++)
		mean[i] = mean_of(t, i);
	for (i = 0; good && i < n; i++) {
		size[0][i] = t->points.v[i].runs;
		size[1][i] = median_ratio(t, mean, i, v);
		sum[0] += size[0][i];
		sum[1] += size[1][i];
	}
	for (s = 0; good && s < 2; s++)
		for (i = 0; i < n; i++)
			size[s][i] *= (double)n / sum[s];
	if (good)
		t->design.is_scaled = roughness(t, mean, size[1]) < roughness(t, mean, size[0]);
	for (i = 0; good && i < n; i++)
		t->points.v[i].size = size[t->design.is_scaled][i];
	free(v);
	free(size[0]);
	free(size[1]);
	return good ? 0 : -1;
}

/* ---- findings -----------------------------------------------------------------------------------
 */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median dispersion of all functions. */
static int set_usual(const struct trend *t, const double *mean, struct trend_series *s)
{
	double *phi = calloc(t->g->info.n + 1, sizeof *phi);
	size_t i, n = 0;

	for (i = 0; phi && i < t->g->info.n; i++)
		if (mean[i] >= COUNT_MIN) {
			s->n = t->counts + i * t->points.n;
			phi[n++] = trend_phi(s);
		}
	if (n >= USUAL_MIN) {
		qsort(phi, n, sizeof *phi, compare_doubles);
		s->phi0 = fmax(phi[n / 2], 1);
		s->d0 = D0;
	}
	free(phi);
	return phi ? 0 : -1;
}

static bool same_machine(const struct run_facts *a, const struct run_facts *b)
{
	return !strcmp(a->cpu, b->cpu) && !strcmp(a->kernel, b->kernel) && a->cpus == b->cpus;
}

static double rate(const struct trend_series *s, size_t from, size_t to)
{
	double n = 0, size = 0;

	for (; from < to; from++) {
		n += s->n[from];
		size += s->size[from];
	}
	return size > 0 ? n / size : 0;
}

/* What was not there has no growth. */
static void set_rates(struct trend_finding *f, double before, double after)
{
	f->before = before;
	f->after = after;
	if (!(before > 0))
		f->growth = INFINITY;
}

/* A step, and the one that took it back. */
static int add_both(struct trend *t, struct trend_finding *f, size_t end)
{
	struct trend_finding back = *f;

	back.at = end;
	back.before = f->after;
	back.after = f->before;
	back.growth = back.before > 0 ? 1 / (1 + f->growth) - 1 : INFINITY;
	f->is_machine = !same_machine(&t->points.v[f->at - 1].facts, &t->points.v[f->at].facts);
	back.is_machine = !same_machine(&t->points.v[end - 1].facts, &t->points.v[end].facts);
	return vec_push(&t->findings, *f) || vec_push(&t->findings, back) ? -1 : 0;
}

/* Finds the changes of one series: where a step is found its halves are searched, too. Points at an
 * end that differ, but are too few to be believed, are left to later commits. */
static int search(struct trend *t, const struct trend_series *s, uint32_t key, bool is_total,
		  size_t from, size_t to, double tests, int depth)
{
	struct trend_finding f = {.key = key, .is_total = is_total, .related = UINT32_MAX};
	struct trend_fit fit;
	size_t edge;

	trend_fit(s, from, to, &fit);
	f.p_adjusted = fmin(1, fit.p * tests);
	if (f.p_adjusted > t->g->opt.q || depth > DEPTH_MAX)
		return 0;
	edge = trend_edge(s, from, to, &fit);
	if (edge)
		return edge - from < TREND_SIDE_MIN
			       ? search(t, s, key, is_total, edge, to, tests, depth + 1)
			       : search(t, s, key, is_total, from, edge, tests, depth + 1);
	f.is_creep = fit.is_creep;
	f.at = fit.at;
	f.from = from;
	f.to = to;
	f.growth = expm1(fit.l);
	if (fit.end) {
		set_rates(&f, (rate(s, from, fit.at) + rate(s, fit.end, to)) / 2,
			  rate(s, fit.at, fit.end));
		return add_both(t, &f, fit.end) ||
				       search(t, s, key, is_total, from, fit.at, tests,
					      depth + 1) ||
				       search(t, s, key, is_total, fit.at, fit.end, tests,
					      depth + 1) ||
				       search(t, s, key, is_total, fit.end, to, tests, depth + 1)
			       ? -1
			       : 0;
	}
	if (fit.is_creep) {
		double middle = rate(s, from, to);

		f.before = middle * exp(-fit.l / 2);
		f.after = middle * exp(fit.l / 2);
	} else {
		set_rates(&f, rate(s, from, fit.at), rate(s, fit.at, to));
		f.is_machine =
			!same_machine(&t->points.v[fit.at - 1].facts, &t->points.v[fit.at].facts);
	}
	if (vec_push(&t->findings, f))
		return -1;
	if (fit.is_creep)
		return 0;
	return search(t, s, key, is_total, from, fit.at, tests, depth + 1) ||
			       search(t, s, key, is_total, fit.at, to, tests, depth + 1)
		       ? -1
		       : 0;
}

static int search_all(struct trend *t, struct trend_series *s, const double *mean)
{
	size_t i, n = t->points.n, tested = 1;

	for (i = 0; i < t->g->info.n; i++)
		tested += mean[i] >= COUNT_MIN;
	t->design.tested = tested - 1;
	for (i = 0; i < t->g->info.n; i++) {
		s->n = t->counts + i * n;
		if (mean[i] >= COUNT_MIN &&
		    search(t, s, (uint32_t)i, false, 0, n, (double)tested, 0))
			return -1;
	}
	return 0;
}

/* All on-CPU time is never adjusted, so that its noise is its own. */
static int search_total(struct trend *t)
{
	size_t n = t->points.n, i;
	double *runs = calloc(n + 1, sizeof *runs), sum = 0;
	struct trend_series s = {.n = t->total, .size = runs, .points = n};
	int rc = runs ? 0 : -1;

	for (i = 0; !rc && i < n; i++)
		sum += t->points.v[i].runs;
	for (i = 0; !rc && i < n; i++)
		runs[i] = t->points.v[i].runs * (double)n / sum;
	s.margin = log1p(t->g->opt.total_max);
	rc = rc ? rc : search(t, &s, 0, true, 0, n, (double)t->design.tested + 1, 0);
	free(runs);
	return rc;
}

static int keep_series(struct trend *t)
{
	size_t i, k, n = t->points.n;

	for (i = 0; i < t->findings.n; i++) {
		struct trend_finding *f = &t->findings.v[i];

		f->series = calloc(n + 1, sizeof *f->series);
		if (!f->series)
			return -1;
		for (k = 0; k < n; k++)
			f->series[k] = f->is_total
					       ? t->total[k] / t->points.v[k].runs
					       : t->counts[f->key * n + k] / t->points.v[k].size;
	}
	return 0;
}

/* Drops what is too small to matter; impact: share of the whole. */
static void weigh(struct trend *t)
{
	size_t i, to = 0;
	double whole = 0, runs = 0;

	for (i = 0; i < t->points.n; i++) {
		whole += t->total[i];
		runs += t->points.v[i].size;
	}
	whole = runs > 0 ? whole / runs : 1;
	for (i = 0; i < t->findings.n; i++) {
		struct trend_finding f = t->findings.v[i];

		f.impact = f.is_total ? f.growth : (f.after - f.before) / fmax(whole, 1e-9);
		if (f.is_total || fabs(f.impact) >= t->g->opt.impact)
			t->findings.v[to++] = f;
	}
	t->findings.n = to;
}

/* Is the end of the series back where it was before? */
static void see_end(struct trend *t)
{
	size_t i, k, n = t->points.n;

	for (i = 0; i < t->findings.n; i++) {
		struct trend_finding *f = &t->findings.v[i];
		double end = 0;

		for (k = n - TREND_SIDE_MIN; k < n; k++)
			end += f->series[k] / TREND_SIDE_MIN;
		f->is_over = f->growth > 0 && end < f->before * (1 + t->g->opt.margin);
	}
}

static int compare_findings(const void *a, const void *b)
{
	const struct trend_finding *x = a, *y = b;
	int p = (int)trend_verdict_of(x), q = (int)trend_verdict_of(y);

	if (x->is_total != y->is_total)
		return x->is_total ? -1 : 1;
	if (p != q)
		return p - q;
	if (x->impact != y->impact)
		return fabs(x->impact) > fabs(y->impact) ? -1 : 1;
	return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

int trend_compare(struct trend *t, struct err *err)
{
	size_t n = t->points.n, i;
	double *mean = calloc(t->g->info.n + 1, sizeof *mean), *size = calloc(n + 1, sizeof *size);
	struct trend_series s = {.size = size, .points = n, .margin = log1p(t->g->opt.margin)};
	int rc = mean && size ? 0 : err_nomem(err);

	if (!rc && n < TREND_POINTS_MIN)
		rc = err_set(err, ERR_USAGE, NULL,
			     "a trend takes at least %d commits, here are %zu", TREND_POINTS_MIN,
			     n);
	if (!rc && (make_series(t) || set_sizes(t, mean)))
		rc = err_nomem(err);
	for (i = 0; !rc && i < n; i++)
		size[i] = t->points.v[i].size;
	if (!rc && (set_usual(t, mean, &s) || search_total(t) || search_all(t, &s, mean)))
		rc = err_nomem(err);
	if (!rc) {
		weigh(t);
		rc = trend_find_moved(t) || keep_series(t) ? err_nomem(err) : 0;
	}
	if (!rc && t->findings.n) {
		see_end(t);
		qsort(t->findings.v, t->findings.n, sizeof *t->findings.v, compare_findings);
	}
	t->design.points = n;
	t->design.phi = s.phi0;
	free(mean);
	free(size);
	return rc;
}

/* ---- results ------------------------------------------------------------------------------------
 */

enum trend_verdict trend_verdict_of(const struct trend_finding *f)
{
	if (f->is_machine)
		return TREND_MACHINE;
	if (f->related != UINT32_MAX)
		return TREND_MOVED;
	if (f->growth > 0 && f->is_over)
		return TREND_OVER;
	if (f->growth > 0)
		return f->is_creep ? TREND_CREPT : TREND_GREW;
	return TREND_FELL;
}

const char *trend_verdict_text(enum trend_verdict v)
{
	static const char *const texts[] = {"GREW", "CREPT", "recovered",
					    "fell", "moved", "machine"};

	return texts[v];
}

bool trend_failed(const struct trend *t)
{
	size_t i;

	for (i = 0; i < t->findings.n; i++)
		if (trend_verdict_of(&t->findings.v[i]) <= TREND_CREPT)
			return true;
	return false;
}
