/* verdict.c - turns test results into verdicts: which functions are slower by themselves, which
 * only because of their callees, and where time only moved to a neighbour. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "regress/code.h"
#include "regress/judge.h"
#include "regress/stats.h"

/* With three, runs of a function that has two speeds all too often agree on each side. */
enum { GATE_RUNS_MIN = 4 };

static void fill(const struct judge *j, struct finding *f, uint32_t key, enum finding_kind kind,
		 const struct tested *v)
{
	f->kind = kind;
	f->key = key;
	f->related = NONE;
	f->base = per_run(j, v, SIDE_BASE);
	f->new = per_run(j, v, SIDE_NEW);
	f->base_share = j->total[SIDE_BASE] > 0 ? f->base / j->total[SIDE_BASE] : 0;
	f->growth = v->a > 0 ? f->new / f->base - 1 : INFINITY;
	family_bounds(v, .025, &f->lo, &f->hi);
	f->impact = impact(j, v);
	f->p = v->p_up;
	f->p_adjusted = v->q_up;
	f->phi = v->phi_shrunk;
	f->mde = family_mde(v, j->g->opt.q);
}

static void set_moved(const struct judge *j, struct finding *f)
{
	f->verdict = VERDICT_MOVED;
	f->related = j->moved[f->key].to;
	f->how = j->moved[f->key].how;
}

/* The verdict of a growth: REGRESSED, or the reason why it does not count. */
static void judge_growth(const struct judge *j, struct finding *f, const struct tested *v)
{
	struct regress *g = j->g;
	const struct key_info *info = &g->info.v[f->key];
	bool incl = f->kind == FINDING_INCL;
	const struct rule *fn = budget_find(g, RULE_FN, f->key, incl),
			  *allow = budget_find(g, RULE_ALLOW, f->key, incl);
	const struct rule *class = budget_find(g, RULE_CLASS, f->key, incl);

	f->rule = fn ? fn->line : 0;
	f->verdict = is_new(v)		  ? VERDICT_NEW
		     : fn && fn->max >= 0 ? VERDICT_OVER_BUDGET
					  : VERDICT_REGRESSED;
	if (j->moved[f->key].to != NONE && !incl) {
		set_moved(j, f);
	} else if (info->is_async) {
		f->verdict = VERDICT_ENVIRONMENT;
		f->rule = class && class->is_ignored ? class->line : f->rule;
	} else if ((class && class->is_ignored) || (fn && fn->is_ignored)) {
		f->verdict = VERDICT_IGNORED;
		f->rule = fn && fn->is_ignored ? fn->line : class->line;
	} else if (allow && stats_t_tail((v->l - log1p(allow->max)) / v->se, v->df) > g->opt.q) {
		f->verdict = VERDICT_ALLOWED;
		f->rule = allow->line;
		f->why = allow->why;
	} else if (f->p_adjusted > g->opt.q || f->impact < g->opt.impact || !j->can_gate ||
		   info->is_unknown || (fn && fn->is_warning)) {
		f->verdict = VERDICT_SUSPECT;
	}
}

static int push(struct regress *g, const struct finding *f, struct err *err)
{
	return vec_push(&g->findings, *f) ? err_nomem(err) : 0;
}

/* The exact probability that none of this many events is in the base's runs, if phi of them come
 * together; adjusted: that this is so by chance for any of the functions tested (Bonferroni). */
static void test_new(const struct judge *j, struct finding *f, const struct tested *v)
{
	double share = j->s[SIDE_NEW] / (j->s[SIDE_BASE] + j->s[SIDE_NEW]);

	f->p = pow(share, v->b / v->phi_shrunk);
	f->p_adjusted = fmin(1, f->p * fmax(j->g->self.asked, 1));
}

static int judge_self(struct judge *j, struct err *err)
{
	struct regress *g = j->g;
	uint32_t i;

	for (i = 0; i < g->self.n; i++) {
		const struct tested *v = &g->self.v[i];
		struct finding f = {0};
		bool up = v->q_up <= g->opt.report_q, down = v->q_down <= g->opt.q && !is_gone(v);

		/* A growth that the budget permits explains that of the callers. */
		if (v->is_tested && v->margin > g->opt.margin &&
		    stats_t_tail((v->l - log1p(g->opt.margin)) / v->se, v->df) <= g->opt.report_q)
			j->flagged[i] = true;
		if (!v->is_tested || !(up || down || is_new(v) || is_gone(v)) ||
		    (v->is_left_out && !down))
			continue;
		fill(j, &f, i, FINDING_SELF, v);
		if (is_new(v))
			test_new(j, &f, v);
		if (up || is_new(v)) {
			if (f.impact < g->opt.impact / 2)
				continue;
			judge_growth(j, &f, v);
			j->flagged[i] |= f.verdict <= VERDICT_ALLOWED;
		} else if (fabs(f.impact) < g->opt.impact) {
			continue;
		} else {
			f.verdict = is_gone(v) ? VERDICT_GONE : VERDICT_IMPROVED;
			if (j->moved[i].to != NONE)
				set_moved(j, &f);
			f.p = v->p_down;
			f.p_adjusted = v->q_down;
		}
		if (add_paths(j, &f))
			return err_nomem(err);
		/* A call that was added has the kernel do it. */
		if (f.verdict == VERDICT_ENVIRONMENT && is_of_new_call(j, &f))
			f.verdict = VERDICT_SUSPECT;
		if (push(g, &f, err))
			return err_nomem(err);
	}
	return 0;
}

struct candidate {
	uint32_t key;
	double mu;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->mu != y->mu)
		return x->mu < y->mu ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* Is it slower even without the samples of functions that are slower by themselves? What the kernel
 * does by the way, as clearing pages, fails nothing, so not its callers in the kernel either; of
 * what it does beneath an interrupt, not the program's functions either. */
static int test_rest(struct judge *j, uint32_t key, struct tested *v, struct err *err)
{
	struct regress *g = j->g;
	double counts[RUNS_MAX];
	bool *skip = calloc(g->info.n + 1, sizeof *skip);
	size_t i, r;
	int rc = skip ? 0 : -1;

	for (i = 0; !rc && i < g->info.n; i++)
		skip[i] = j->flagged[i] || g->info.v[i].is_interrupt ||
			  (g->info.v[key].is_kernel && g->info.v[i].is_async);
	for (r = 0; !rc && r < g->runs.n; r++)
		rc = run_count_of(&g->trees.v[r], key, skip, j->accepted, &counts[r]);
	free(skip);
	if (rc)
		return err_nomem(err);
	family_test_one(&g->incl, counts, j->size, v);
	return 0;
}

static bool rest_grows(const struct judge *j, const struct tested *rest)
{
	return rest->is_tested && rest->p_up <= j->g->opt.q && impact(j, rest) >= j->g->opt.impact;
}

/* Did calls that wandered bring what it grew by? They explain no more of it than they lost
 * elsewhere. */
static bool is_wandered(const struct judge *j, const struct finding *f, const struct tested *rest,
			const struct net *net, const double *counts)
{
	struct tested v = {.margin = rest->margin};

	if (net->most == NONE || net->paid < TAKEN_MIN * change(j, rest))
		return false;
	family_test_one(&j->g->incl, counts, j->size, &v);
	return !rest_grows(j, &v) || v.p_up > j->g->opt.q * j->g->incl.v[f->key].first_share;
}

/* The verdict on a function that grew including its callees: their growth explains it, or calls
 * wandered to it, or it counts. */
static int judge_callees(struct judge *j, struct finding *f, struct err *err)
{
	struct tested rest = {.margin = j->g->incl.v[f->key].margin};
	double counts[RUNS_MAX];
	struct net net;

	if (test_rest(j, f->key, &rest, err))
		return -ERR_NOMEM;
	if (!rest_grows(j, &rest)) {
		f->verdict = VERDICT_EXPLAINED;
		return 0;
	}
	if (count_net(j, f->key, true, counts, &net))
		return err_nomem(err);
	if (is_wandered(j, f, &rest, &net, counts)) {
		/* What took another's place below it has a row that says so. */
		f->verdict = j->traded[net.most] ? VERDICT_EXPLAINED : VERDICT_MOVED;
		f->how = MOVED_CALLS;
		f->related = net.most;
	}
	j->accepted[f->key] = true;
	return 0;
}

/* From callees to callers: a function is reported only if its callees do not explain its growth. */
static int judge_incl(struct judge *j, struct err *err)
{
	struct regress *g = j->g;
	VEC(struct candidate) c = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < g->incl.n; i++) {
		const struct tested *v = &g->incl.v[i];
		bool has_callees = v->a + v->b > g->self.v[i].a + g->self.v[i].b + .5;

		/* Time that moved into the function, or that it took, also increased its inclusive
		 * time. */
		if ((j->moved[i].to != NONE || j->traded[i]) &&
		    fabs(change(j, v) - change(j, &g->self.v[i])) < MOVED_SHARE * change(j, v))
			continue;
		if (v->is_tested && has_callees && v->q_up <= g->opt.q && !is_new(v) &&
		    impact(j, v) >= g->opt.impact && !j->flagged[i] &&
		    vec_push(&c, (struct candidate){(uint32_t)i, v->mu}))
			rc = err_nomem(err);
	}
	if (c.n)
		qsort(c.v, c.n, sizeof *c.v, compare_candidates);
	for (i = 0; !rc && i < c.n; i++) {
		const struct tested *v = &g->incl.v[c.v[i].key];
		struct finding f = {0};

		fill(j, &f, c.v[i].key, FINDING_INCL, v);
		judge_growth(j, &f, v);
		rc = judge_callees(j, &f, err);
		if (rc)
			break;
		if (f.verdict != VERDICT_EXPLAINED && add_paths(j, &f))
			rc = err_nomem(err);
		if (!rc)
			rc = push(g, &f, err);
	}
	vec_done(&c);
	return rc;
}

/* Rules `share` need no base. */
static int judge_shares(struct judge *j, struct err *err)
{
	struct regress *g = j->g;
	uint32_t i;

	for (i = 0; i < g->self.n; i++) {
		const struct rule *r = budget_find(g, RULE_SHARE, i, false);
		const struct tested *v = &g->self.v[i];
		struct finding f = {0};
		double share, se;

		if (!r || r->limit < 0 || v->is_left_out || !(j->total[SIDE_NEW] > 0))
			continue;
		share = per_run(j, v, SIDE_NEW) / j->total[SIDE_NEW];
		se = share * sqrt(fmax(v->phi_shrunk, 1) / fmax(v->b, 1));
		if ((share - r->limit) / fmax(se, 1e-9) <
		    stats_t_quantile(g->opt.q, fmax(v->df, 1)))
			continue;
		fill(j, &f, i, FINDING_SELF, v);
		f.verdict = r->is_warning || !j->can_gate ? VERDICT_SUSPECT : VERDICT_OVER_BUDGET;
		f.rule = r->line;
		f.limit = r->limit;
		f.new_share = share;
		if (push(g, &f, err))
			return -ERR_NOMEM;
	}
	return 0;
}

/* Adds functions that an earlier comparison flagged and this one has no finding about. */
static int judge_unconfirmed(struct judge *j, struct err *err)
{
	struct regress *g = j->g;
	size_t i, k, n = g->findings.n;

	for (i = 0; i < g->only.n; i++) {
		const struct named_finding *o = &g->only.v[i];
		const struct family *family = o->kind == FINDING_INCL ? &g->incl : &g->self;
		struct finding f = {0};

		for (k = 0;
		     k < n && (g->findings.v[k].kind != o->kind || g->findings.v[k].key != o->key);
		     k++)
			;
		if (k < n || o->kind == FINDING_TOTAL)
			continue;
		fill(j, &f, o->key, o->kind, &family->v[o->key]);
		f.verdict = VERDICT_UNCONFIRMED;
		if (push(g, &f, err))
			return -ERR_NOMEM;
	}
	return 0;
}

/* Is the environment what makes it, if the program is the same? */
static bool is_by_chance_of_place(const struct finding *f)
{
	return f->verdict <= VERDICT_NEW || f->verdict == VERDICT_SUSPECT ||
	       f->verdict == VERDICT_IMPROVED || f->verdict == VERDICT_GONE;
}

/* May be judged with code, or without: the code is compared once. */
static int compare_code(struct regress *g, struct err *err)
{
	return g->code_state ? 0 : builds_compare(g, &g->design.is_same_code, err);
}

static bool needs_code(const struct regress *g)
{
	size_t i;

	for (i = 0; i < g->findings.n; i++)
		if (verdict_is_gated(g->findings.v[i].verdict) ||
		    is_by_chance_of_place(&g->findings.v[i]))
			return true;
	return false;
}

/* What the whole takes less is not excused, nor the places where it does; what grew in spite of
 * that is. */
static bool is_excused(const struct finding *total, const struct finding *f)
{
	bool is_less = f->verdict == VERDICT_IMPROVED || f->verdict == VERDICT_GONE;

	return !verdict_is_gated(total->verdict) && is_by_chance_of_place(f) &&
	       !(is_less && total->verdict == VERDICT_IMPROVED);
}

/* If the code of the program is the same except for its addresses, the change made it neither
 * slower nor faster. This is said only if no function of the program differs: a function that is
 * called more often has the same code, too. What the whole takes more is not excused, nor are the
 * places where it does. */
static int judge_code(struct judge *j, struct err *err)
{
	struct regress *g = j->g;
	const struct finding *total = &g->findings.v[0];
	size_t i;

	if (!needs_code(g))
		return 0;
	if (compare_code(g, err))
		return -(int)err->code;
	for (i = 0; i < g->findings.n; i++) {
		struct finding *f = &g->findings.v[i];

		if (f->kind == FINDING_TOTAL)
			continue;
		f->is_same_code = g->code_state[f->key] == CODE_SAME;
		if (g->design.is_same_code && is_excused(total, f))
			f->verdict = VERDICT_ENVIRONMENT;
	}
	return 0;
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

static int compare_findings(const void *a, const void *b, void *arg)
{
	const struct finding *x = a, *y = b;
	const struct regress *g = arg;

	if ((x->kind == FINDING_TOTAL) != (y->kind == FINDING_TOTAL))
		return x->kind == FINDING_TOTAL ? -1 : 1;
	if (x->verdict != y->verdict)
		return x->verdict < y->verdict ? -1 : 1;
	if (x->impact != y->impact)
		return fabs(x->impact) > fabs(y->impact) ? -1 : 1;
	return strcmp(regress_key(g, x->key), regress_key(g, y->key));
}

static void certify(struct judge *j)
{
	static const double limits[2] = {.05, .10};
	struct regress *g = j->g;
	double all = 0;
	size_t i;
	int k;

	for (i = 0; i < g->self.n; i++) {
		const struct tested *v = &g->self.v[i];
		double upper;

		all += v->a;
		if (!v->is_tested)
			continue;
		upper = family_upper(v, g->opt.q);
		for (k = 0; k < 2; k++)
			if (upper < limits[k])
				g->design.certified[k] += v->a;
		if (!is_new(v) && !is_gone(v) && j->moved[i].to == NONE &&
		    j->total[SIDE_BASE] > 0 &&
		    per_run(j, v, SIDE_BASE) >= .01 * j->total[SIDE_BASE])
			g->design.largest_mde =
				fmax(g->design.largest_mde, family_mde(v, g->opt.q));
	}
	for (k = 0; k < 2; k++)
		g->design.certified[k] = all > 0 ? g->design.certified[k] / all : 0;
}

/* Are there enough samples for the growth that should be found? */
static void measure_power(const struct judge *j)
{
	struct regress *g = j->g;
	struct regress_design *d = &g->design;
	const struct effect e = {.share = g->opt.detect_share,
				 .growth = g->opt.detect_growth,
				 .margin = g->opt.margin,
				 .q = g->opt.q};
	double samples = fmin(d->samples[SIDE_BASE], d->samples[SIDE_NEW]);

	d->detect_samples = family_samples_needed(&g->self, &e, samples);
	d->detect_runs = family_runs_needed(&g->self, &e, samples);
	/* The last: new functions, whose test is Bonferroni's. */
	d->false_alarm = j->can_gate ? family_false_alarm(&g->self, g->opt.q) +
					       family_false_alarm(&g->incl, g->opt.q) +
					       j->total_false + g->opt.q
				     : 0;
	d->can_detect = d->runs[SIDE_BASE] >= GATE_RUNS_MIN && d->runs[SIDE_NEW] >= GATE_RUNS_MIN &&
			d->detect_samples <= samples;
}

static void set_margins(struct regress *g, struct family *f, bool incl)
{
	size_t i;

	for (i = 0; i < f->n; i++) {
		const struct rule *r = budget_find(g, RULE_FN, (uint32_t)i, incl);

		f->v[i].margin = r && r->max >= 0      ? r->max
				 : r && r->margin >= 0 ? r->margin
						       : g->opt.margin;
	}
}

static int test_families(struct judge *j, bool force_stable, bool *stable, struct err *err)
{
	struct regress *g = j->g;
	size_t r;

	if (family_sizes(&g->self, force_stable, j->size, stable))
		return err_nomem(err);
	g->incl.floor = g->self.floor;
	memcpy(g->incl.past.size, g->self.past.size, g->past.n * sizeof *g->self.past.size);
	if (family_test(&g->self, j->size) || family_test(&g->incl, j->size))
		return err_nomem(err);
	j->s[0] = j->s[1] = j->total[0] = j->total[1] = 0;
	for (r = 0; r < g->runs.n; r++) {
		j->s[g->runs.v[r].side] += j->size[r];
		j->total[g->runs.v[r].side] += g->runs.v[r].samples;
	}
	for (r = 0; r < SIDE_N; r++)
		j->total[r] /= j->s[r];
	return 0;
}

static int judge_all(struct judge *j, struct err *err)
{
	struct regress *g = j->g;
	struct finding total = {.kind = FINDING_TOTAL, .related = NONE};
	bool stable;
	size_t i;

	g->design.is_few_runs = !j->can_gate;
	set_margins(g, &g->self, false);
	set_margins(g, &g->incl, true);
	if (test_families(j, false, &stable, err))
		return -ERR_NOMEM;
	if (!stable && all_changed_alike(g)) {
		if (test_families(j, true, &stable, err))
			return -ERR_NOMEM;
		g->design.is_uniform = stable;
	}
	g->design.is_adjusted = stable;
	g->design.normaliser = stable ? "functions that do not change" : "none: samples per run";
	if (runs_merge(g, j->size, err))
		return -ERR_NOMEM;
	for (i = 0; i < g->info.n; i++)
		j->moved[i].to = NONE;
	if (find_moved(j))
		return err_nomem(err);
	judge_total(j, &total);
	if (push(g, &total, err) || judge_self(j, err))
		return -ERR_NOMEM;
	if (needs_code(g) && compare_code(g, err))
		return -(int)err->code;
	if (judge_replaced(j))
		return err_nomem(err);
	judge_compilers(j);
	if (judge_incl(j, err))
		return -ERR_NOMEM;
	if (judge_outweighed(j))
		return err_nomem(err);
	if (judge_shares(j, err) || judge_unconfirmed(j, err))
		return -ERR_NOMEM;
	if (judge_code(j, err) || tell_namesakes(g, err))
		return -(int)err->code;
	certify(j);
	measure_power(j);
	for (i = 0; i < g->self.n; i++)
		g->design.tested += g->self.v[i].is_tested;
	g->design.history_is_quieter = g->self.past.is_quieter;
	g->design.keys = g->self.n;
	g->design.d0 = g->self.d0;
	memcpy(g->design.trend, g->self.trend, sizeof g->design.trend);
	qsort_r(g->findings.v, g->findings.n, sizeof *g->findings.v, compare_findings, g);
	return 0;
}

int verdict_all(struct regress *g, struct err *err)
{
	struct judge j = {
		.g = g,
		.size = calloc(g->runs.n + 1, sizeof *j.size),
		.flagged = calloc(g->info.n + 1, sizeof *j.flagged),
		.accepted = calloc(g->info.n + 1, sizeof *j.accepted),
		.moved = calloc(g->info.n + 1, sizeof *j.moved),
		.traded = calloc(g->info.n + 1, sizeof *j.traded),
		.none = calloc(g->info.n + 1, sizeof *j.none),
		.can_gate = g->design.runs[SIDE_BASE] >= GATE_RUNS_MIN &&
			    g->design.runs[SIDE_NEW] >= GATE_RUNS_MIN,
	};
	int rc = j.size && j.flagged && j.accepted && j.moved && j.traded && j.none
			 ? judge_all(&j, err)
			 : err_nomem(err);

	free(j.size);
	free(j.flagged);
	free(j.accepted);
	free(j.moved);
	free(j.traded);
	free(j.none);
	return rc;
}
