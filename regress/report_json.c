/* report_json.c - everything that is known, for programs. Schema: doc/regress.schema.json. Numbers
 * have enough digits to give the same double when they are read again. */
#include "base/hash.h"
#include "regress/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void add_number(struct text *t, double v)
{
	char s[40];

	if (isfinite(v))
		snprintf(s, sizeof s, "%.17g", v);
	else
		snprintf(s, sizeof s, "null");
	text_str(t, s);
}

static void add_key(struct text *t, const char *key)
{
	if (t->n && !strchr("{[", t->s[t->n - 1]))
		text_char(t, ',');
	text_char(t, '"');
	text_str(t, key);
	text_str(t, "\":");
}

static void add_field(struct text *t, const char *key, double v)
{
	add_key(t, key);
	add_number(t, v);
}

static void add_text(struct text *t, const char *key, const char *s)
{
	add_key(t, key);
	text_json(t, s, strlen(s));
}

static void add_run(struct text *t, const struct regress_run *r)
{
	char began[24];

	text_str(t, "{");
	add_text(t, "file", r->name);
	add_field(t, "samples", r->samples);
	add_field(t, "weight", r->weight);
	add_field(t, "unknown", r->unknown);
	add_field(t, "lost", (double)r->facts.lost);
	add_text(t, "cpu", r->facts.cpu);
	add_text(t, "kernel", r->facts.kernel);
	add_field(t, "processors", r->facts.cpus);
	add_text(t, "host", r->facts.host);
	add_field(t, "frequency", (double)r->facts.frequency);
	/* No double holds it. */
	if (r->facts.began_ns) {
		snprintf(began, sizeof began, "%" PRIu64, r->facts.began_ns);
		add_text(t, "began_ns", began);
	}
	text_str(t, "}");
}

static void add_builds(struct text *t, const struct side_code *c)
{
	bool any = false;
	size_t i;

	add_key(t, "builds");
	text_char(t, '[');
	for (i = 0; i < c->builds.n; i++) {
		const struct build *b = &c->builds.v[i];

		if (!b->is_described)
			continue;
		text_str(t, any ? ",{" : "{");
		any = true;
		add_text(t, "file", b->path);
		add_key(t, "build_id");
		text_char(t, '"');
		text_build_id(t, &b->id);
		text_char(t, '"');
		add_key(t, "program");
		text_str(t, b->is_program ? "true" : "false");
		add_text(t, "compiler", b->compiler);
		add_field(t, "built", (double)(b->built_ns / 1000000000));
		text_char(t, '}');
	}
	text_char(t, ']');
}

static void add_sides(struct text *t, const struct regress *g)
{
	static const char *const names[SIDE_N] = {"base", "new"};
	size_t i;
	int s;

	add_key(t, "sides");
	text_str(t, "{");
	for (s = 0; s < SIDE_N; s++) {
		bool any = false;

		add_key(t, names[s]);
		text_str(t, "{\"runs\":[");
		for (i = 0; i < g->runs.n; i++)
			if ((int)g->runs.v[i].side == s) {
				text_str(t, any ? ",\n" : "");
				any = true;
				add_run(t, &g->runs.v[i]);
			}
		text_char(t, ']');
		add_builds(t, &g->code[s]);
		text_char(t, '}');
	}
	text_str(t, "}");
}

static void add_design(struct text *t, const struct regress *g)
{
	const struct regress_design *d = &g->design;

	add_key(t, "design");
	text_str(t, "{");
	add_text(t, "event", d->event);
	add_text(t, "unit", d->unit);
	add_text(t, "normaliser", d->normaliser);
	add_key(t, "uniform");
	text_str(t, d->is_uniform ? "true" : "false");
	add_key(t, "same_code");
	text_str(t, d->is_same_code ? "true" : "false");
	add_field(t, "false_alarm", d->false_alarm);
	add_key(t, "same_code_not_shown");
	text_str(t, d->is_not_shown ? "true" : "false");
	add_text(t, "together",
		 d->together == TOGETHER_YES  ? "yes"
		 : d->together == TOGETHER_NO ? "no"
					      : "unknown");
	add_field(t, "q", g->opt.q);
	add_field(t, "report_q", g->opt.report_q);
	add_field(t, "margin", g->opt.margin);
	add_field(t, "impact", g->opt.impact);
	add_field(t, "total_max", g->opt.total_max);
	add_field(t, "tested", (double)d->tested);
	add_field(t, "functions", (double)d->keys);
	add_field(t, "history", (double)d->history);
	add_field(t, "history_left_out", (double)d->history_left_out);
	add_key(t, "history_is_quieter");
	text_str(t, d->history_is_quieter ? "true" : "false");
	add_field(t, "confirms", (double)d->only);
	add_key(t, "detect");
	text_char(t, '{');
	add_field(t, "growth", g->opt.detect_growth);
	add_field(t, "share", g->opt.detect_share);
	add_field(t, "samples", d->detect_samples);
	add_field(t, "runs", d->detect_runs);
	add_key(t, "enough");
	text_str(t, d->can_detect ? "true" : "false");
	text_char(t, '}');
	add_field(t, "d0", d->d0);
	add_key(t, "trend");
	text_char(t, '[');
	add_number(t, d->trend[0]);
	text_char(t, ',');
	add_number(t, d->trend[1]);
	text_str(t, "]}");
}

static void add_recipe(struct text *t, const struct regress_recipe *r)
{
	static const char *const names[SIDE_N] = {"base", "new"};
	int s;
	size_t i;

	add_key(t, "run");
	text_str(t, "{");
	add_field(t, "runs", r->runs);
	add_field(t, "frequency", r->frequency);
	if (r->count)
		add_field(t, "count", r->count);
	if (r->warmup)
		add_field(t, "warmup", r->warmup);
	if (r->event)
		add_text(t, "event", r->event);
	if (r->prepare)
		add_text(t, "prepare", r->prepare);
	if (r->ignore_status) {
		add_key(t, "ignore_status");
		text_str(t, "true");
	}
	for (s = 0; s < SIDE_N; s++) {
		add_key(t, names[s]);
		text_char(t, '[');
		for (i = 0; r->commands[s][i]; i++) {
			text_str(t, i ? "," : "");
			text_json(t, r->commands[s][i], strlen(r->commands[s][i]));
		}
		text_char(t, ']');
	}
	text_char(t, '}');
}

static void add_places(struct text *t, const struct regress *g, const struct finding *f)
{
	size_t i;

	add_key(t, "lines");
	text_char(t, '[');
	for (i = 0; i < f->n_lines; i++) {
		text_str(t, i ? ",{" : "{");
		add_field(t, "line", f->lines[i].line[SIDE_NEW]);
		add_field(t, "base_line", f->lines[i].line[SIDE_BASE]);
		add_field(t, "base", f->lines[i].base);
		add_field(t, "new", f->lines[i].new);
		text_char(t, '}');
	}
	text_char(t, ']');
	add_key(t, "callers");
	text_char(t, '[');
	for (i = 0; i < f->n_callers; i++) {
		text_str(t, i ? ",{" : "{");
		add_text(t, "key", regress_key(g, f->callers[i].key));
		add_field(t, "base", f->callers[i].base);
		add_field(t, "new", f->callers[i].new);
		text_char(t, '}');
	}
	text_char(t, ']');
}

static void add_figures(struct text *t, const struct finding *f)
{
	add_field(t, "base", f->base);
	add_field(t, "new", f->new);
	add_field(t, "base_share", f->base_share);
	add_field(t, "growth", f->growth);
	add_key(t, "ci95");
	text_char(t, '[');
	add_number(t, f->lo);
	text_char(t, ',');
	add_number(t, f->hi);
	text_char(t, ']');
	add_field(t, "impact", f->impact);
	add_field(t, "p", f->p);
	add_field(t, "p_adjusted", f->p_adjusted);
	add_field(t, "phi", f->phi);
	add_field(t, "mde", f->mde);
}

static void add_finding(struct text *t, const struct regress *g, const struct finding *f)
{
	const char *key = f->kind == FINDING_TOTAL ? "total" : regress_key(g, f->key);
	uint32_t line = 0;
	char id[32];
	size_t i;

	snprintf(id, sizeof id, "%016llx", (unsigned long long)hash_bytes(key, strlen(key)));
	text_str(t, "{");
	add_text(t, "id", id);
	add_text(t, "kind", finding_kind_text(f->kind));
	add_text(t, "verdict", verdict_text(f->verdict));
	add_key(t, "gated");
	text_str(t, verdict_is_gated(f->verdict) ? "true" : "false");
	add_text(t, "key", key);
	if (f->kind != FINDING_TOTAL) {
		const char *file = regress_file(g, f->key, &line);

		add_text(t, "name", regress_name(g, f->key));
		add_text(t, "dso", regress_dso(g, f->key));
		add_text(t, "file", file);
		add_field(t, "line", line);
	}
	add_figures(t, f);
	if (f->related != UINT32_MAX)
		add_text(t, "related", regress_key(g, f->related));
	if (f->taken > 0)
		add_field(t, "taken", f->taken);
	if (f->verdict == VERDICT_MOVED)
		add_text(t, "moved", moved_how_text(f->how));
	if (f->rule)
		add_field(t, "budget_line", f->rule);
	if (f->limit > 0) {
		add_field(t, "new_share", f->new_share);
		add_field(t, "limit", f->limit);
	}
	if (f->is_same_code) {
		add_key(t, "same_code");
		text_str(t, "true");
	}
	if (f->why)
		add_text(t, "why", f->why);
	add_key(t, "paths");
	text_char(t, '[');
	for (i = 0; i < f->n_paths; i++) {
		text_str(t, i ? ",{" : "{");
		add_text(t, "stack", f->paths[i].stack);
		add_field(t, "share_of_change", f->paths[i].share);
		text_char(t, '}');
	}
	text_char(t, ']');
	add_places(t, g, f);
	text_char(t, '}');
}

static int compare_shares(const void *a, const void *b, void *arg)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct regress *g = arg;

	if (g->self.v[x].a != g->self.v[y].a)
		return g->self.v[x].a > g->self.v[y].a ? -1 : 1;
	return strcmp(regress_key(g, x), regress_key(g, y));
}

/* Also functions without a finding: how much they may have grown, and what growth would have been
 * found. */
static void add_functions(struct text *t, const struct regress *g)
{
	uint32_t *ids = calloc(g->self.n + 1, sizeof *ids), i, n = 0;
	double all = 0;

	for (i = 0; ids && i < g->self.n; i++) {
		all += g->self.v[i].a;
		if (g->self.v[i].is_tested && g->self.v[i].a > 0)
			ids[n++] = i;
	}
	if (n)
		qsort_r(ids, n, sizeof *ids, compare_shares, (void *)(uintptr_t)g);
	add_key(t, "functions");
	text_str(t, "[\n");
	for (i = 0; i < n && g->self.v[ids[i]].a >= g->opt.impact * all; i++) {
		const struct tested *v = &g->self.v[ids[i]];

		text_str(t, i ? ",\n{" : "{");
		add_text(t, "key", regress_key(g, ids[i]));
		add_field(t, "base_share", v->a / all);
		add_field(t, "growth", expm1(v->l));
		add_field(t, "upper", family_upper(v, g->opt.q));
		add_field(t, "mde", family_mde(v, g->opt.q));
		text_char(t, '}');
	}
	text_char(t, ']');
	t->failed |= !ids;
	free(ids);
}

void regress_write_json(const struct regress *g, FILE *out)
{
	const struct regress_design *d = &g->design;
	struct text t = {0};
	size_t i;

	text_str(&t, "{\"schema\":\"unspool-regress/1\"");
	add_text(&t, "tool", "unspool " UNSPOOL_VERSION);
	add_key(&t, "failed");
	text_str(&t, regress_failed(g) ? "true" : "false");
	if (g->opt.recipe)
		add_recipe(&t, g->opt.recipe);
	add_sides(&t, g);
	add_design(&t, g);
	add_key(&t, "warnings");
	text_char(&t, '[');
	for (i = 0; regress_warning(g, i); i++) {
		text_str(&t, i ? "," : "");
		text_json(&t, regress_warning(g, i), strlen(regress_warning(g, i)));
	}
	text_char(&t, ']');
	add_key(&t, "findings");
	text_str(&t, "[\n");
	for (i = 0; i < g->findings.n; i++) {
		text_str(&t, i ? ",\n" : "");
		add_finding(&t, g, &g->findings.v[i]);
	}
	text_str(&t, "]");
	add_functions(&t, g);
	add_key(&t, "certified");
	text_str(&t, "{");
	add_field(&t, "0.05", d->certified[0]);
	add_field(&t, "0.10", d->certified[1]);
	text_str(&t, "}}\n");
	report_flush(&t, out);
}
