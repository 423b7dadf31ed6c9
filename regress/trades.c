/* trades.c - functions that took the place of others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "regress/judge.h"

enum { PAIRS_MAX = 4096, ANYWHERE = UINT32_MAX };

#define GONE_SHARE .05
#define NODE_SHARE .2 /* of a function's change: smaller parts do not tell where it happened */

/* Something that grew, and something that became less: how far up their common caller is. */
struct trade {
	size_t finding;
	uint32_t lost;	/* key */
	uint32_t level; /* callers above the one that grew; 0: what became less was beneath it */
	double apart;	/* difference of their changes */
	double taken;	/* of what was lost */
	bool is_new;	/* new functions take first */
	bool is_unseen; /* only because it may be inlined elsewhere */
	bool is_counted;
};

struct trades {
	struct judge *j;
	uint32_t *level;   /* by node of the tree: above the function that grew, and 1; 0: not above
			    */
	uint32_t *above;   /* by key: the same of functions, also where the base called them from
			      elsewhere */
	double *left;	   /* by key: what it lost and nothing has taken yet */
	double *need;	   /* by finding: what nothing explains yet */
	double *weight;	   /* by key: share of its samples that a finding, or a group, has taken */
	bool *member;	   /* by finding: of the group */
	uint32_t *beneath; /* by finding: what took a place and calls it, a finding; NONE */
	VEC(struct trade) v;
};

static bool grows(const struct finding *f)
{
	return f->verdict == VERDICT_REGRESSED || f->verdict == VERDICT_NEW;
}

/* ---- finding them -------------------------------------------------------------------------- */

static uint32_t key_at(const struct regress *g, uint32_t node)
{
	return g->both.v[node].key;
}

/* Marks the callers of a function where it grew. Returns the level of the nearest one that the base
 * has. */
static uint32_t mark_callers(const struct trades *t, const struct finding *f)
{
	const struct regress *g = t->j->g;
	uint32_t old = UINT32_MAX;
	size_t i;

	memset(t->level, 0, g->both.n * sizeof *t->level);
	memset(t->above, 0, g->self.n * sizeof *t->above);
	for (i = 1; i < g->both.n; i++) {
		uint32_t at = (uint32_t)i, level = 1;
		bool is_old = false;

		if (g->both.v[i].key != f->key ||
		    self_change(&g->both.v[i]) < NODE_SHARE * (f->new - f->base))
			continue;
		for (;; at = g->both.v[at].parent, level++) {
			if (!t->level[at] || level < t->level[at])
				t->level[at] = level;
			if (level > 1 &&
			    (!t->above[key_at(g, at)] || level < t->above[key_at(g, at)]))
				t->above[key_at(g, at)] = level;
			if (level > 1 && !is_old && (!at || g->both.v[at].incl[SIDE_BASE] > 0)) {
				is_old = true;
				old = level < old ? level : old;
			}
			if (!at)
				break;
		}
	}
	return old;
}

/* The level of the nearest common caller; ANYWHERE: there is none. What calls it gave it its time
 * itself, also if it was called from elsewhere before. */
static uint32_t level_of(const struct trades *t, uint32_t lost)
{
	const struct regress *g = t->j->g;
	uint32_t best = t->above[lost] ? t->above[lost] - 1 : ANYWHERE;
	size_t i;

	for (i = 1; i < g->both.n; i++) {
		uint32_t at = (uint32_t)i;

		if (g->both.v[i].key != lost || self_change(&g->both.v[i]) >= 0)
			continue;
		while (at && !t->level[at])
			at = g->both.v[at].parent;
		if (t->level[at] && t->level[at] < best)
			best = t->level[at];
	}
	return best;
}

/* What is left of it may be what calls the function that took its place. */
static bool is_all_but_gone(const struct tested *v)
{
	return v->b < GONE_SHARE * v->a && v->a >= SAMPLES_MIN;
}

/* A new function may take the place of whatever is gone, wherever it was, and of what became less
 * beneath its nearest caller; one that grew, of what is gone there. Where inlined functions are not
 * known either may have what was inlined into any other of its module. */
static int offer(struct trades *t, size_t finding, uint32_t lost, uint32_t old)
{
	const struct finding *f = &t->j->g->findings.v[finding];
	const struct tested *v = &t->j->g->self.v[lost], *mine = &t->j->g->self.v[f->key];
	struct trade trade = {.finding = finding,
			      .lost = lost,
			      .level = level_of(t, lost),
			      .apart = fabs(t->need[finding] - t->left[lost]),
			      .is_new = is_new(mine)};

	trade.is_unseen = trade.level == ANYWHERE ||
			  (trade.level > old && !(is_new(mine) && is_all_but_gone(v))) ||
			  (!is_new(mine) && !is_gone(v));
	if ((trade.is_unseen && !may_be_inlined_unseen(t->j, f->key, lost)) || t->v.n >= PAIRS_MAX)
		return 0;
	return vec_push(&t->v, trade);
}

/* What neighbours have taken already. */
static double moved_away(const struct judge *j, uint32_t lost)
{
	uint32_t to = j->moved[lost].to, k;
	double all = 0;

	for (k = 0; to != NONE && k < j->g->self.n; k++)
		if (j->moved[k].to == lost)
			all += fmax(change(j, &j->g->self.v[k]), 0);
	return to == NONE ? 0 : fmax(all, fabs(change(j, &j->g->self.v[to])));
}

static int offer_all(struct trades *t)
{
	struct regress *g = t->j->g;
	size_t i;
	uint32_t k;

	for (k = 0; k < g->self.n; k++) {
		const struct tested *v = &g->self.v[k];

		if (v->is_tested && change(t->j, v) < 0 &&
		    (is_gone(v) || v->q_down <= g->opt.report_q))
			t->left[k] = fmax(-change(t->j, v) - moved_away(t->j, k), 0);
	}
	for (i = 0; i < g->findings.n; i++) {
		const struct finding *f = &g->findings.v[i];
		uint32_t old;

		if (f->kind != FINDING_SELF || !grows(f))
			continue;
		t->need[i] = f->new - f->base;
		old = mark_callers(t, f);
		for (k = 0; k < g->self.n; k++)
			if (t->left[k] > 0 && k != f->key && offer(t, i, k, old))
				return -1;
	}
	return 0;
}

static int compare_trades(const void *a, const void *b)
{
	const struct trade *x = a, *y = b;

	if (x->is_unseen != y->is_unseen)
		return x->is_unseen ? 1 : -1;
	if (x->is_new != y->is_new)
		return x->is_new ? -1 : 1;
	if (!x->is_unseen && x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->apart != y->apart)
		return x->apart < y->apart ? -1 : 1;
	if (x->finding != y->finding)
		return x->finding < y->finding ? -1 : 1;
	return x->lost < y->lost ? -1 : x->lost > y->lost;
}

/* A neighbour has taken some of a loss before all others: it grew at its cost, too. */
static void mark_neighbour(struct trades *t, uint32_t lost)
{
	const struct judge *j = t->j;
	uint32_t to = j->moved[lost].to;
	size_t i;

	for (i = 0; to != NONE && i < j->g->findings.n; i++) {
		const struct finding *f = &j->g->findings.v[i];

		if (f->kind != FINDING_SELF || f->key != to || f->new <= f->base || t->member[i])
			continue;
		t->member[i] = true;
		t->weight[lost] = fmin(
			t->weight[lost] + moved_away(j, lost) / -change(j, &j->g->self.v[lost]), 1);
	}
}

/* Marks what grew together at the cost of the same functions. */
static void mark_group(struct trades *t, size_t finding)
{
	const struct judge *j = t->j;
	bool more = true;
	size_t i;

	memset(t->weight, 0, j->g->self.n * sizeof *t->weight);
	memset(t->member, 0, j->g->findings.n * sizeof *t->member);
	t->member[finding] = true;
	while (more)
		for (i = 0, more = false; i < t->v.n; i++) {
			struct trade *d = &t->v.v[i];

			if (!(d->taken > 0) || d->is_counted ||
			    (!t->member[d->finding] && !(t->weight[d->lost] > 0)))
				continue;
			t->member[d->finding] = true;
			t->weight[d->lost] += d->taken / -change(j, &j->g->self.v[d->lost]);
			d->is_counted = more = true;
		}
	for (i = 0; i < t->v.n; i++)
		t->v.v[i].is_counted = false;
	for (i = 0; i < j->g->self.n; i++)
		if (t->weight[i] > 0)
			mark_neighbour(t, (uint32_t)i);
	for (i = 0; i < j->g->findings.n; i++)
		if (t->beneath[i] != NONE && t->member[t->beneath[i]])
			t->member[i] = true;
}

/* Do the members of a group still grow if what they took is counted with them? */
static bool still_grows(const struct trades *t, const struct finding *f)
{
	const struct regress *g = t->j->g;
	const struct tested *v = &g->self.v[f->key];
	struct tested rest = {.margin = v->margin};
	double counts[RUNS_MAX];
	size_t r, k;

	for (r = 0; r < g->runs.n; r++) {
		counts[r] = 0;
		for (k = 0; k < g->findings.n; k++)
			if (t->member[k])
				counts[r] += g->self.counts[g->findings.v[k].key * g->runs.n + r];
		for (k = 0; k < g->self.n; k++)
			if (t->weight[k] > 0)
				counts[r] += t->weight[k] * g->self.counts[k * g->runs.n + r];
	}
	family_test_one(&g->self, counts, t->j->size, &rest);
	return rest.is_tested && rest.p_up <= g->opt.q * v->first_share &&
	       impact(t->j, &rest) >= g->opt.impact;
}

/* Only what a finding took itself. */
static void mark_alone(struct trades *t, size_t finding)
{
	size_t i;

	memset(t->weight, 0, t->j->g->self.n * sizeof *t->weight);
	memset(t->member, 0, t->j->g->findings.n * sizeof *t->member);
	t->member[finding] = true;
	for (i = 0; i < t->v.n; i++)
		if (t->v.v[i].finding == finding && t->v.v[i].taken > 0)
			t->weight[t->v.v[i].lost] =
				t->v.v[i].taken / -change(t->j, &t->j->g->self.v[t->v.v[i].lost]);
}

/* What was inlined elsewhere went there as a whole: a loss of which much is left is another one.
 * Takes such losses back from a finding. Returns whether there was one. */
static bool drop_leftovers(struct trades *t, size_t finding)
{
	const struct judge *j = t->j;
	const struct finding *f = &j->g->findings.v[finding];
	bool is_left = false;
	size_t i;

	for (i = 0; i < t->v.n; i++) {
		const struct trade *d = &t->v.v[i];

		is_left |= d->finding == finding && d->is_unseen &&
			   d->taken >= TAKEN_MIN * (f->new - f->base) &&
			   t->left[d->lost] > MOVED_SHARE * -change(j, &j->g->self.v[d->lost]);
	}
	for (i = 0; is_left && i < t->v.n; i++) {
		struct trade *d = &t->v.v[i];

		if (d->finding != finding || !d->is_unseen)
			continue;
		t->left[d->lost] += d->taken;
		d->taken = 0;
	}
	return is_left;
}

static void drop_all_leftovers(struct trades *t)
{
	bool more = true;
	size_t i;

	while (more)
		for (i = 0, more = false; i < t->j->g->findings.n; i++)
			more |= drop_leftovers(t, i);
}

/* It has what was inlined into another function: perhaps. */
static void set_unseen(struct judge *j, struct finding *f)
{
	f->verdict = VERDICT_MOVED;
	f->how = MOVED_UNSEEN;
	j->moved[f->key] = (struct move){f->related, MOVED_UNSEEN};
}

/* Judges a finding anew, with what it has taken. */
static void settle(struct trades *t, size_t finding)
{
	struct judge *j = t->j;
	struct finding *f = &j->g->findings.v[finding];
	bool is_unseen = false;
	double most = 0;
	size_t i;

	for (i = 0; i < t->v.n; i++) {
		const struct trade *d = &t->v.v[i];

		if (d->finding != finding || !(d->taken > 0))
			continue;
		f->taken += d->taken;
		is_unseen |= d->is_unseen && d->taken >= TAKEN_MIN * (f->new - f->base);
		if (d->taken > most) {
			most = d->taken;
			f->related = d->lost;
		}
	}
	if (f->taken < TAKEN_MIN * (f->new - f->base)) {
		f->related = NONE;
		return;
	}
	mark_group(t, finding);
	if (still_grows(t, f)) {
		mark_alone(t, finding);
		if (still_grows(t, f))
			return;
	}
	f->verdict = VERDICT_REPLACED;
	if (is_unseen)
		set_unseen(j, f);
	j->flagged[f->key] = false;
	j->traded[f->key] = true;
	for (i = 0; i < j->g->self.n; i++)
		j->traded[i] |= t->weight[i] > 0;
}

/* ---- what a function calls that took another's place: a part of it ---- */

/* Does a function grow beneath another one, all but for a rest? */
static bool grows_beneath(const struct regress *g, const struct finding *f, uint32_t caller)
{
	double all = 0, beneath = 0;
	size_t i;

	for (i = 1; i < g->both.n; i++) {
		double d = self_change(&g->both.v[i]);
		uint32_t at = g->both.v[i].parent;

		if (g->both.v[i].key != f->key || d <= 0)
			continue;
		while (at && g->both.v[at].key != caller)
			at = g->both.v[at].parent;
		all += d;
		beneath += at ? d : 0;
	}
	return all > 0 && beneath >= BELOW * all;
}

static void settle_beneath(struct trades *t, size_t finding)
{
	struct judge *j = t->j;
	struct finding *f = &j->g->findings.v[finding];
	size_t i;

	for (i = 0; i < j->g->findings.n && grows(f); i++) {
		const struct finding *r = &j->g->findings.v[i];

		if (r->kind != FINDING_SELF || r->verdict != VERDICT_REPLACED ||
		    t->beneath[i] != NONE || !grows_beneath(j->g, f, r->key))
			continue;
		t->beneath[finding] = (uint32_t)i;
		mark_group(t, i);
		if (still_grows(t, f)) {
			t->beneath[finding] = NONE;
			continue;
		}
		f->verdict = VERDICT_REPLACED;
		f->related = r->related;
		j->flagged[f->key] = false;
		j->traded[f->key] = true;
	}
}

/* What is gone or less names what took its place. */
static void name_successors(const struct trades *t)
{
	struct regress *g = t->j->g;
	size_t i, k;

	for (k = 0; k < g->findings.n; k++) {
		struct finding *f = &g->findings.v[k];
		bool is_unseen = false;
		double most = 0;

		if (f->kind != FINDING_SELF || f->new >= f->base || f->verdict == VERDICT_MOVED)
			continue;
		for (i = 0; i < t->v.n; i++) {
			const struct trade *d = &t->v.v[i];
			const struct finding *to = &g->findings.v[d->finding];

			if (d->lost == f->key && d->taken > most &&
			    (to->verdict == VERDICT_REPLACED || to->verdict == VERDICT_MOVED)) {
				most = d->taken;
				f->related = to->key;
				is_unseen = d->is_unseen;
			}
		}
		if (is_unseen)
			set_unseen(t->j, f);
	}
}

/* What a neighbour left is mostly chance: of another growth it must explain a part. */
static bool is_chance(const struct trades *t, const struct trade *d)
{
	const struct finding *f = &t->j->g->findings.v[d->finding];

	return t->j->moved[d->lost].to != NONE && d->taken < TAKEN_MIN * (f->new - f->base);
}

static void settle_all(struct trades *t)
{
	struct regress *g = t->j->g;
	size_t i;

	qsort(t->v.v, t->v.n, sizeof *t->v.v, compare_trades);
	for (i = 0; i < t->v.n; i++) {
		struct trade *d = &t->v.v[i];

		d->taken = fmin(t->need[d->finding], t->left[d->lost]);
		if (is_chance(t, d))
			d->taken = 0;
		t->need[d->finding] -= d->taken;
		t->left[d->lost] -= d->taken;
	}
	drop_all_leftovers(t);
	for (i = 0; i < g->findings.n; i++)
		if (g->findings.v[i].kind == FINDING_SELF && grows(&g->findings.v[i]))
			settle(t, i);
	for (i = 0; i < g->findings.n; i++)
		if (g->findings.v[i].kind == FINDING_SELF && grows(&g->findings.v[i]))
			settle_beneath(t, i);
	name_successors(t);
}

int judge_replaced(struct judge *j)
{
	struct regress *g = j->g;
	struct trades t = {.j = j,
			   .level = calloc(g->both.n + 1, sizeof *t.level),
			   .above = calloc(g->self.n + 1, sizeof *t.above),
			   .left = calloc(g->self.n + 1, sizeof *t.left),
			   .need = calloc(g->findings.n + 1, sizeof *t.need),
			   .weight = calloc(g->self.n + 1, sizeof *t.weight),
			   .member = calloc(g->findings.n + 1, sizeof *t.member),
			   .beneath = malloc((g->findings.n + 1) * sizeof *t.beneath)};
	int rc = -1;

	if (t.beneath)
		memset(t.beneath, 0xff, (g->findings.n + 1) * sizeof *t.beneath);
	if (t.level && t.above && t.left && t.need && t.weight && t.member && t.beneath)
		rc = offer_all(&t);
	if (!rc && t.v.n)
		settle_all(&t);
	free(t.level);
	free(t.above);
	free(t.left);
	free(t.need);
	free(t.weight);
	free(t.member);
	free(t.beneath);
	vec_done(&t.v);
	return rc;
}
