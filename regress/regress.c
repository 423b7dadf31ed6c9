/* regress.c - the life of a comparison. */
#include "regress/regress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "regress/inside.h"
#include "regress/key.h"

const char *verdict_text(enum verdict v)
{
	static const char *const texts[VERDICT_N] = {
		"REGRESSED",  "NEW",	     "OVER BUDGET", "apart",	     "suspect",
		"outweighed", "allowed",     "improved",    "gone",	     "moved",
		"replaced",   "environment", "ignored",	    "not confirmed", "explained"};

	return texts[v];
}

const char *moved_how_text(enum moved_how h)
{
	static const char *const texts[MOVED_N] = {"shifted",	      "inlined",       "outlined",
						   "renamed",	      "folded",	       "calls",
						   "perhaps inlined", "other compiler"};

	return texts[h];
}

bool verdict_is_gated(enum verdict v)
{
	return v < VERDICT_APART;
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
	g->opt.q = opt->q > 0 ? opt->q : REGRESS_Q;
	g->opt.report_q = opt->report_q > 0 ? opt->report_q : REGRESS_REPORT_Q;
	g->opt.margin = opt->margin >= 0 ? opt->margin : .02;
	g->opt.impact = opt->impact >= 0 ? opt->impact : .001;
	g->opt.total_max = opt->total_max >= 0 ? opt->total_max : .03;
	g->opt.detect_growth = opt->detect_growth > 0 ? opt->detect_growth : .1;
	g->opt.detect_share = opt->detect_share > 0 ? opt->detect_share : .1;
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
	for (i = 0; i < g->warnings.n; i++)
		free(g->warnings.v[i]);
	vec_done(&g->warnings);
	vec_done(&g->lines);
	hash_index_done(&g->lines_known);
	vec_done(&g->notes);
	for (i = 0; i < g->past.n; i++)
		past_run_done(&g->past.v[i]);
	vec_done(&g->past);
	vec_done(&g->sessions);
	vec_done(&g->only);
	vec_done(&g->splits);
	vec_done(&g->runs);
	vec_done(&g->trees);
	vec_done(&g->findings);
	vec_done(&g->both);
	vec_done(&g->info);
	budget_done(g);
	builds_done(&g->code[SIDE_BASE]);
	builds_done(&g->code[SIDE_NEW]);
	free(g->code_state);
	free(g->code_sizes);
	family_done(&g->self);
	family_done(&g->incl);
	strtab_done(&g->keys);
	strtab_done(&g->names);
	free(g);
}

int regress_only(struct regress *g, enum finding_kind kind, const char *key, struct err *err)
{
	struct named_finding f = {.kind = kind};

	if (kind != FINDING_TOTAL)
		f.key = key_intern(g, key);
	if (f.key == STRTAB_FAILED || vec_push(&g->only, f))
		return err_nomem(err);
	return 0;
}

const char *whole_of_waits(const char *event)
{
	static const char *const names[][2] = {
		{"off-cpu", "all time off the processor"},
		{"runnable", "all time waiting for a processor"},
		{"wall", "all wall-clock time"},
		{"wall-clock", "all wall-clock time"},
		{"waker", "all time until woken"},
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(event, names[i][0]))
			return names[i][1];
	return NULL;
}

/* Names what all samples together are. Profiles without an event ("weight") are of time. */
static void name_whole(struct regress *g)
{
	static const char *const times[] = {"cycles", "cpu-cycles", "weight", "cpu", "samples"};
	bool is_time = !strcmp(g->unit, "nanoseconds");
	size_t i;

	for (i = 0; i < sizeof times / sizeof *times; i++)
		is_time |= !strncmp(g->event, times[i], strlen(times[i])) &&
			   !strchr("-_",
				   g->event[strlen(times[i])] ? g->event[strlen(times[i])] : ' ');
	if (whole_of_waits(g->event))
		snprintf(g->whole, sizeof g->whole, "%s", whole_of_waits(g->event));
	else if (is_time)
		snprintf(g->whole, sizeof g->whole, WHOLE_TIME);
	else
		snprintf(g->whole, sizeof g->whole, "all %s", g->event);
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

/* When another comparison is confirmed, all counts are used for the dispersion and the size
 * factors, but only the functions that were flagged are tested. */
static void leave_out(struct regress *g)
{
	size_t i;

	for (i = 0; g->only.n && i < g->info.n; i++)
		g->self.v[i].is_left_out = g->incl.v[i].is_left_out = true;
	for (i = 0; i < g->only.n; i++)
		if (g->only.v[i].kind != FINDING_TOTAL)
			(g->only.v[i].kind == FINDING_SELF ? &g->self : &g->incl)
				->v[g->only.v[i].key]
				.is_left_out = false;
	g->design.only = g->only.n;
}

static int make_past(struct regress *g)
{
	size_t i;

	for (i = 0; i < g->past.n; i++)
		if (vec_push(&g->sessions, g->past.v[i].session))
			return -1;
	return family_make_past(&g->self, g->past.n, g->sessions.v) ||
			       family_make_past(&g->incl, g->past.n, g->sessions.v)
		       ? -1
		       : 0;
}

static int count_all(struct regress *g, struct err *err)
{
	size_t n = g->info.n, runs = g->runs.n, past = g->past.n, r, i;
	double *self = calloc(n + 1, sizeof *self), *incl = calloc(n + 1, sizeof *incl);
	int rc = 0;

	if (!self || !incl || family_make(&g->self, n, runs, g->design.runs[SIDE_BASE]) ||
	    family_make(&g->incl, n, runs, g->design.runs[SIDE_BASE]) || make_past(g))
		rc = err_nomem(err);
	for (r = 0; !rc && r < runs + past; r++) {
		const struct run_tree *t = r < runs ? &g->trees.v[r] : &g->past.v[r - runs].tree;
		size_t row = r < runs ? runs : past, at = r < runs ? r : r - runs;

		memset(self, 0, n * sizeof *self);
		memset(incl, 0, n * sizeof *incl);
		if (run_count(t, self, incl))
			rc = err_nomem(err);
		for (i = 0; i < n; i++) {
			(r < runs ? g->self.counts : g->self.past.counts)[i * row + at] = self[i];
			(r < runs ? g->incl.counts : g->incl.past.counts)[i * row + at] = incl[i];
		}
	}
	free(self);
	free(incl);
	if (!rc)
		leave_out(g);
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

	if (split_all(g))
		return err_nomem(err);
	runs_sort(g);
	runs_share_unit(g);
	g->design.event = g->event;
	g->design.unit = g->unit;
	name_whole(g);
	rc = check_comparable(g, err);
	g->design.together = runs_together(g);
	if (!rc)
		rc = builds_describe(g, err);
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

const struct finding *regress_findings(const struct regress *g, size_t *n)
{
	*n = g->findings.n;
	return g->findings.v;
}

const char *regress_key(const struct regress *g, uint32_t key)
{
	return strtab_get(&g->keys, key);
}

const struct regress_run *regress_runs(const struct regress *g, size_t *n)
{
	*n = g->runs.n;
	return g->runs.v;
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
	const struct key_info *info = &g->info.v[key];
	enum side side = info->file[SIDE_NEW] ? SIDE_NEW : SIDE_BASE;

	*line = info->line[side];
	return strtab_get(&g->names, info->file[side]);
}

/* The key of a name's function in a file: `key` itself, or that of a part. */
static const char *key_in_file(const struct regress *g, const char *key, const char *file)
{
	size_t i;

	for (i = 0; i < g->splits.n; i++) {
		const struct split_part *p = &g->splits.v[i];

		if (!strcmp(strtab_get(&g->names, p->path), file) &&
		    !strcmp(regress_key(g, p->whole), key))
			return regress_key(g, p->key);
	}
	return key;
}

static const struct finding *find_finding(const struct regress *g, enum finding_kind kind,
					  const char *key)
{
	size_t i;

	for (i = 0; i < g->findings.n; i++)
		if (g->findings.v[i].kind == kind &&
		    !strcmp(regress_key(g, g->findings.v[i].key), key))
			return &g->findings.v[i];
	return NULL;
}

const struct finding *regress_finding_of(const struct regress *g, const char *name, size_t n,
					 const char *file)
{
	const struct finding *f = NULL;
	struct text key = {0};
	int kind, what;

	for (what = FINDING_SELF; !f && what <= FINDING_INCL; what++)
		for (kind = KEY_USER; !f && kind <= KEY_JIT; kind++) {
			key.n = 0;
			key_function(&key, name, n, (enum key_kind)kind);
			text_char(&key, '\0');
			if (!key.failed)
				f = find_finding(g, (enum finding_kind)what,
						 key_in_file(g, key.s, file));
		}
	text_done(&key);
	return f;
}

bool regress_failed(const struct regress *g)
{
	size_t i;

	for (i = 0; i < g->findings.n; i++)
		if (verdict_is_gated(g->findings.v[i].verdict))
			return true;
	return false;
}

bool regress_is_apart(const struct regress *g)
{
	return !regress_failed(g) && g->findings.n && g->findings.v[0].verdict == VERDICT_APART;
}
