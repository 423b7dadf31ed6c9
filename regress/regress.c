/* regress.c - the life of a comparison, and what is not comparable. */
#include "regress/regress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "regress/inside.h"

#define UNKNOWN_DELTA \
	.02 /* of a side's samples: code without names on one side only is seen as gone */
#define UNKNOWN_SE    4.0 /* standard errors that it may differ by, if those are more */
#define LOST_MAX .01

const char *verdict_text(enum verdict v)
{
	static const char *const texts[VERDICT_N] = {
		"REGRESSED", "NEW",  "OVER BUDGET", "suspect",	   "allowed",
		"improved",  "gone", "moved",	    "environment", "explained"};

	return texts[v];
}

bool verdict_is_gated(enum verdict v)
{
	return v < VERDICT_SUSPECT;
}

const char *finding_kind_text(enum finding_kind k)
{
	static const char *const texts[] = {"self", "incl", "total"};

	return texts[k];
}

struct regress *regress_new(const struct regress_options *opt)
{
	struct regress *g = calloc(1, sizeof *g);

	if (!g)
		return NULL;
	g->opt = *opt;
	g->opt.q = opt->q > 0 ? opt->q : .01;
	g->opt.report_q = opt->report_q > 0 ? opt->report_q : .05;
	g->opt.margin = opt->margin >= 0 ? opt->margin : .02;
	g->opt.impact = opt->impact >= 0 ? opt->impact : .001;
	g->opt.total_max = opt->total_max >= 0 ? opt->total_max : .03;
	return g;
}

void regress_free(struct regress *g)
{
	size_t i, k;

	if (!g)
		return;
	for (i = 0; i < g->runs.n; i++)
		free(g->runs.v[i].name);
	for (i = 0; i < g->trees.n; i++)
		vec_done(&g->trees.v[i].nodes);
	for (i = 0; i < g->findings.n; i++)
		for (k = 0; k < g->findings.v[i].n_paths; k++)
			free(g->findings.v[i].paths[k].stack);
	for (i = 0; i < g->notes.n; i++)
		free(g->notes.v[i]);
	vec_done(&g->notes);
	vec_done(&g->runs);
	vec_done(&g->trees);
	vec_done(&g->findings);
	vec_done(&g->both);
	vec_done(&g->info);
	budget_done(g);
	family_done(&g->self);
	family_done(&g->incl);
	strtab_done(&g->keys);
	strtab_done(&g->names);
	free(g);
}

/* ---- what is comparable ------------------------------------------------------------------------
 */

static int differ(const struct regress_run *a, const struct regress_run *b, const char *what,
		  const char *x, const char *y, struct err *err)
{
	if (!*x || !*y || !strcmp(x, y))
		return 0;
	return err_set(err, ERR_USAGE, b->name,
		       "not comparable: %s is %s, that of %s is %s (--force)", what, y, a->name, x);
}

static int check_facts(const struct regress *g, struct err *err)
{
	const struct regress_run *first = &g->runs.v[0];
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < g->runs.n; i++) {
		const struct regress_run *r = &g->runs.v[i];
		const struct run_facts *a = &first->facts, *b = &r->facts;

		rc = differ(first, r, "its processor", a->cpu, b->cpu, err);
		if (!rc)
			rc = differ(first, r, "its architecture", a->arch, b->arch, err);
		if (!rc)
			rc = differ(first, r, "its kernel", a->kernel, b->kernel, err);
		if (!rc && a->frequency && b->frequency && a->frequency != b->frequency)
			rc = err_set(err, ERR_USAGE, r->name,
				     "not comparable: sampled %llu times a second, %s %llu times "
				     "(--force)",
				     (unsigned long long)b->frequency, first->name,
				     (unsigned long long)a->frequency);
		if (!rc && b->damaged)
			rc = err_set(
				err, ERR_USAGE, r->name,
				"not comparable: the recording is damaged or cut short (--force)");
		if (!rc && (double)b->lost > LOST_MAX * (r->samples + (double)b->lost))
			rc = err_set(
				err, ERR_USAGE, r->name,
				"not comparable: %llu samples were lost while recording (--force)",
				(unsigned long long)b->lost);
	}
	return rc;
}

/* Mean share of samples in code without names of a side's runs, and the square of its error. */
static double unknown_share(const struct regress *g, enum side side, double *error2)
{
	double n = (double)g->design.runs[side], mean = 0, var = 0;
	size_t i;

	for (i = 0; i < g->runs.n; i++)
		mean += g->runs.v[i].side == side ? g->runs.v[i].unknown / n : 0;
	for (i = 0; i < g->runs.n; i++)
		if (g->runs.v[i].side == side)
			var += (g->runs.v[i].unknown - mean) * (g->runs.v[i].unknown - mean);
	/* Of one run, or of runs that agree by accident: chance, four times over. */
	*error2 = 4 * mean * (1 - mean) / fmax(1, g->design.samples[side]);
	if (n > 1)
		*error2 = fmax(*error2, var / (n - 1));
	*error2 /= n;
	return mean;
}

/* Code without names on one side would be seen as functions that are gone or new. */
static int check_names(struct regress *g, struct err *err)
{
	double base, new, base2, new2, delta = UNKNOWN_DELTA;
	size_t i;

	for (i = 0; i < g->rules.n; i++)
		if (g->rules.v[i].kind == RULE_UNKNOWN && g->rules.v[i].delta >= 0) {
			delta = g->rules.v[i].delta;
			g->rules.v[i].is_used = true;
		}
	base = unknown_share(g, SIDE_BASE, &base2);
	new = unknown_share(g, SIDE_NEW, &new2);
	if (fabs(new - base) <= fmax(delta, UNKNOWN_SE * sqrt(base2 + new2)))
		return 0;
	return err_set(err, ERR_USAGE, "",
		       "not comparable: %.1f %% of the base's samples are in code without a name, "
		       "%.1f %% of the new ones: "
		       "is one side stripped? (--force)",
		       100 * base, 100 * new);
}

static int check(struct regress *g, struct err *err)
{
	size_t i;
	int s, rc;

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
	if (g->opt.force)
		return 0;
	rc = check_facts(g, err);
	return rc ? rc : check_names(g, err);
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

static int count_all(struct regress *g, struct err *err)
{
	size_t n = g->info.n, runs = g->runs.n, r, i;
	double *self = calloc(n + 1, sizeof *self), *incl = calloc(n + 1, sizeof *incl);
	int rc = 0;

	if (!self || !incl || family_make(&g->self, n, runs, g->design.runs[SIDE_BASE]) ||
	    family_make(&g->incl, n, runs, g->design.runs[SIDE_BASE]))
		rc = err_nomem(err);
	for (r = 0; !rc && r < runs; r++) {
		memset(self, 0, n * sizeof *self);
		memset(incl, 0, n * sizeof *incl);
		if (run_count(g, r, NULL, NULL, self, incl))
			rc = err_nomem(err);
		for (i = 0; i < n; i++) {
			g->self.counts[i * runs + r] = self[i];
			g->incl.counts[i * runs + r] = incl[i];
		}
	}
	free(self);
	free(incl);
	return rc;
}

static int note_rules(struct regress *g, struct err *err)
{
	size_t i;

	for (i = 0; i < g->rules.n; i++) {
		const struct rule *r = &g->rules.v[i];
		char *note = NULL;
		int n = 0;

		if (r->until && r->until < budget_today())
			n = asprintf(&note, "line %u: the allowance for %s has ended", r->line,
				     r->pattern);
		else if (r->pattern && !r->is_used)
			n = asprintf(&note, "line %u: no function is called %s", r->line,
				     r->pattern);
		if (n < 0 || (note && vec_push(&g->notes, note)))
			return err_nomem(err);
	}
	return 0;
}

int regress_compare(struct regress *g, struct err *err)
{
	int rc;

	runs_sort(g);
	g->design.opt = &g->opt;
	g->design.event = g->event;
	g->design.unit = g->unit;
	rc = check(g, err);
	if (!rc)
		rc = count_all(g, err);
	if (!rc)
		rc = verdict_all(g, err);
	return rc ? rc : note_rules(g, err);
}

/* ---- reading -----------------------------------------------------------------------------------
 */

const struct regress_design *regress_design(const struct regress *g)
{
	return &g->design;
}

const struct regress_run *regress_runs(const struct regress *g, size_t *n)
{
	*n = g->runs.n;
	return g->runs.v;
}

const struct finding *regress_findings(const struct regress *g, size_t *n)
{
	*n = g->findings.n;
	return g->findings.v;
}

const char *regress_key(const struct regress *g, uint32_t key)
{
	return strtab_get(&g->keys, key);
}

const char *regress_name(const struct regress *g, uint32_t key)
{
	const char *name = strtab_get(&g->names, g->info.v[key].name);

	return *name ? name : regress_key(g, key);
}

const char *regress_dso(const struct regress *g, uint32_t key)
{
	return strtab_get(&g->names, g->info.v[key].dso);
}

const char *regress_file(const struct regress *g, uint32_t key, uint32_t *line)
{
	*line = g->info.v[key].line;
	return strtab_get(&g->names, g->info.v[key].file);
}

bool regress_failed(const struct regress *g)
{
	size_t i;

	for (i = 0; i < g->findings.n; i++)
		if (verdict_is_gated(g->findings.v[i].verdict))
			return true;
	return false;
}
