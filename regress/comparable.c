/* comparable.c - the environment of the runs, and reasons why they cannot be compared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/processor.h"
#include "regress/inside.h"

/* Limit on the difference between the sides' shares of samples in code without names: functions
 * that have no name on one side only would look like functions that were removed or added. */
#define UNKNOWN_DELTA .02
#define UNKNOWN_SE    4.0 /* or by so many standard errors, if those are more */
#define LOST_MAX      .01
/* So many times the weight of another run is no slower program, but another unit: samples are
 * microseconds by some hundred, nanoseconds by some hundred thousand. */
#define UNIT_RATIO 80

static bool equal(const char *a, const char *b)
{
	return !strcmp(a, b);
}

/* What both must have, if both have it. */
static const struct {
	const char *name;
	size_t offset;
	bool (*is_same)(const char *a, const char *b);
} same[] = {{"its processor", offsetof(struct run_facts, cpu), equal},
	    {"its architecture", offsetof(struct run_facts, arch), processor_same},
	    {"its kernel", offsetof(struct run_facts, kernel), equal}};

/* i: of same[] */
static int differ(const struct regress_run *a, const struct regress_run *b, size_t i,
		  struct err *err)
{
	const char *x = (const char *)&a->facts + same[i].offset;
	const char *y = (const char *)&b->facts + same[i].offset;

	if (!*x || !*y || same[i].is_same(x, y))
		return 0;
	return err_set(err, ERR_USAGE, b->name,
		       "not comparable: %s is %s, that of %s is %s (--force)", same[i].name, y,
		       a->name, x);
}

bool regress_is_whole(double samples, double lost)
{
	return lost <= LOST_MAX * (samples + lost);
}

static int check_whole(const struct regress_run *r, struct err *err)
{
	double lost = (double)r->facts.lost;

	if (r->facts.damaged)
		return err_set(err, ERR_USAGE, r->name,
			       "not comparable: the recording is damaged or cut short (--force)");
	if (regress_is_whole(r->samples, lost))
		return 0;
	return err_set(err, ERR_USAGE, r->name,
		       "not comparable: %.0f samples were lost while recording (--force)", lost);
}

/* Folded stacks do not tell what their weights are. */
static int check_unit(const struct regress_run *a, const struct regress_run *b, struct err *err)
{
	double x = a->weight, y = b->weight;

	if ((!a->lacks_unit && !b->lacks_unit) || fmax(x, y) < UNIT_RATIO * fmin(x, y))
		return 0;
	return err_set(err, ERR_USAGE, b->name,
		       "not comparable: its weights sum up to %.3g, those of %s to %.3g: are they "
		       "samples here and a time there? (--force)",
		       y, a->name, x);
}

static int check_run(const struct regress_run *first, const struct regress_run *r, struct err *err)
{
	const struct run_facts *a = &first->facts, *b = &r->facts;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < sizeof same / sizeof *same; i++)
		rc = differ(first, r, i, err);
	if (!rc && a->cpus && b->cpus && a->cpus != b->cpus)
		rc = err_set(err, ERR_USAGE, r->name,
			     "not comparable: on %u processors, %s on %u (--force)", b->cpus,
			     first->name, a->cpus);
	if (!rc && a->frequency && b->frequency && a->frequency != b->frequency)
		rc = err_set(err, ERR_USAGE, r->name,
			     "not comparable: sampled %llu times a second, %s %llu times (--force)",
			     (unsigned long long)b->frequency, first->name,
			     (unsigned long long)a->frequency);
	if (!rc && a->period && b->period && a->period != b->period)
		rc = err_set(err, ERR_USAGE, r->name,
			     "not comparable: a sample every %llu, %s every %llu (--force)",
			     (unsigned long long)b->period, first->name,
			     (unsigned long long)a->period);
	rc = rc ? rc : check_unit(first, r, err);
	return rc ? rc : check_whole(r, err);
}

/* Does every file of a side that has nameless code of a key exist on the other side, too? */
static bool other_has_files(const struct regress *g, enum side side, uint32_t key, bool *any)
{
	const struct side_code *mine = &g->code[side], *its = &g->code[!side];
	size_t i, k;

	for (i = 0; i < mine->ran.n; i++) {
		const struct build_id *id = &mine->builds.v[mine->ran.v[i].build].id;

		if (mine->ran.v[i].key != key)
			continue;
		*any = true;
		for (k = 0; k < its->builds.n && !build_id_identical(&its->builds.v[k].id, id); k++)
			;
		if (!id->size || k == its->builds.n)
			return false;
	}
	return true;
}

/* Code without names of the very same files on both sides does not look like functions that were
 * removed or added. It must be nameless on both: symbols may have been found for one side only. */
static bool is_alike(const struct regress *g, uint32_t key)
{
	bool any[SIDE_N] = {false};

	return other_has_files(g, SIDE_BASE, key, &any[SIDE_BASE]) &&
	       other_has_files(g, SIDE_NEW, key, &any[SIDE_NEW]) && any[SIDE_BASE] && any[SIDE_NEW];
}

/* A run's share of samples in code without names, but for that of is_left_out (by key). */
static double unknown_of(const struct regress *g, size_t run, const bool *is_left_out)
{
	const struct run_tree *t = &g->trees.v[run];
	double out = 0, weight = g->runs.v[run].weight;
	size_t i;

	for (i = 1; i < t->nodes.n; i++)
		if (is_left_out[t->nodes.v[i].symbol])
			out += node_weight(&t->nodes.v[i]);
	return fmax(0, g->runs.v[run].unknown - (weight > 0 ? out / weight : 0));
}

/* Mean share of samples in code without names over a side's runs; *error2: the square of its error.
 */
static double unknown_share(const struct regress *g, enum side side, const double *unknown,
			    double *error2)
{
	double n = (double)g->design.runs[side], mean = 0, var = 0;
	size_t i;

	for (i = 0; i < g->runs.n; i++)
		mean += g->runs.v[i].side == side ? unknown[i] / n : 0;
	for (i = 0; i < g->runs.n; i++)
		if (g->runs.v[i].side == side)
			var += (unknown[i] - mean) * (unknown[i] - mean);
	/* Of one run, or of runs that agree by accident: chance, four times over. */
	*error2 = 4 * mean * (1 - mean) / fmax(1, g->design.samples[side]);
	if (n > 1)
		*error2 = fmax(*error2, var / (n - 1));
	*error2 /= n;
	return mean;
}

static double unknown_delta(struct regress *g)
{
	double delta = UNKNOWN_DELTA;
	size_t i;

	for (i = 0; i < g->rules.n; i++)
		if (g->rules.v[i].kind == RULE_UNKNOWN && g->rules.v[i].delta >= 0) {
			delta = g->rules.v[i].delta;
			g->rules.v[i].is_used = true;
		}
	return delta;
}

/* Code without names on one side would look like functions that were removed or added. */
static int check_names(struct regress *g, struct err *err)
{
	double base, new, base2, new2, unknown[RUNS_MAX], delta = unknown_delta(g);
	bool *is_left_out = calloc(g->info.n + 1, sizeof *is_left_out);
	size_t i;

	if (!is_left_out)
		return err_nomem(err);
	for (i = 0; i < g->info.n; i++)
		is_left_out[i] = g->info.v[i].is_unknown && is_alike(g, (uint32_t)i);
	for (i = 0; i < g->runs.n; i++)
		unknown[i] = unknown_of(g, i, is_left_out);
	free(is_left_out);
	base = unknown_share(g, SIDE_BASE, unknown, &base2);
	new = unknown_share(g, SIDE_NEW, unknown, &new2);
	if (fabs(new - base) <= fmax(delta, UNKNOWN_SE * sqrt(base2 + new2)))
		return 0;
	return err_set(err, ERR_USAGE, "",
		       "not comparable: %.1f %% of the base's samples are in code without a name, "
		       "%.1f %% of the new ones: "
		       "is one side stripped? (--force)",
		       100 * base, 100 * new);
}

static int check_sides(struct regress *g, struct err *err)
{
	size_t i;
	int s;

	for (i = 0; i < g->runs.n; i++) {
		const struct regress_run *r = &g->runs.v[i];

		g->design.runs[r->side]++;
		g->design.samples[r->side] += r->samples;
		if (!(r->samples > 0))
			return err_set(err, ERR_USAGE, r->name, "no samples");
	}
	for (s = 0; s < SIDE_N; s++) {
		if (!g->design.runs[s])
			return err_set(err, ERR_USAGE, "", "no run of the %s",
				       s ? "new side" : "base");
		g->design.samples[s] /= (double)g->design.runs[s];
	}
	return 0;
}

static bool same_samples(const struct run_tree *a, const struct run_tree *b)
{
	size_t i;

	if (a->nodes.n != b->nodes.n)
		return false;
	for (i = 0; i < a->nodes.n; i++) {
		const struct tree_node *x = &a->nodes.v[i], *y = &b->nodes.v[i];

		if (x->symbol != y->symbol || x->count != y->count || x->period != y->period)
			return false;
	}
	return true;
}

/* One run under two names is told by when it was recorded. */
static bool same_run(const struct regress *g, size_t i, size_t k)
{
	const struct regress_run *a = &g->runs.v[i], *b = &g->runs.v[k];

	return !strcmp(a->name, b->name) ||
	       (a->facts.began_ns && a->facts.began_ns == b->facts.began_ns &&
		!strcmp(a->facts.host, b->facts.host) &&
		same_samples(&g->trees.v[i], &g->trees.v[k]));
}

/* A run that counts twice on a side looks like two that agree, so that anything is certain. */
static int check_once(struct regress *g, struct err *err)
{
	bool is_told = false;
	size_t i, k;

	for (i = 0; i < g->runs.n; i++)
		for (k = 0; k < i; k++) {
			if (!same_run(g, k, i))
				continue;
			if (g->runs.v[i].side == g->runs.v[k].side)
				return err_set(err, ERR_USAGE, g->runs.v[i].name,
					       "the same run as %s: a run counts once (--force)",
					       g->runs.v[k].name);
			if (!is_told && regress_warn(g, "the same run is on both sides", err))
				return -(int)err->code;
			is_told = true;
		}
	return 0;
}

/* Earlier runs on another machine say nothing about this one. */
static void check_history(struct regress *g)
{
	size_t i, n = 0;

	for (i = 0; i < g->past.n; i++)
		if (!(g->past.v[i].run.samples > 0) ||
		    (!g->opt.force && check_run(&g->runs.v[0], &g->past.v[i].run, NULL))) {
			past_run_done(&g->past.v[i]);
			g->design.history_left_out++;
		} else {
			g->past.v[n++] = g->past.v[i];
		}
	g->past.n = n;
	g->design.history = n;
}

int check_comparable(struct regress *g, struct err *err)
{
	size_t i;
	int rc = check_sides(g, err);

	for (i = 0; !rc && !g->opt.force && i < g->runs.n; i++)
		rc = check_run(&g->runs.v[0], &g->runs.v[i], err);
	if (!rc && !g->opt.force)
		rc = check_names(g, err);
	if (!rc && !g->opt.force)
		rc = check_once(g, err);
	if (!rc)
		check_history(g);
	return rc;
}
