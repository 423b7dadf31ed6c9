/* regress_confirm.c - reads a report again. */
#include "cmd/regress_confirm.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define SCHEMA "unspool-regress/1"

char *regress_read_text(const char *path, struct err *err)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t n = 0;

	if (!f) {
		err_errno(err, errno, path, "open");
		return NULL;
	}
	if (getdelim(&text, &n, '\0', f) < 0 && !ferror(f)) {
		free(text);
		text = strdup("");
	}
	if (ferror(f)) {
		err_errno(err, errno, path, "read");
		free(text);
		text = NULL;
	} else if (!text) {
		err_nomem(err);
	}
	fclose(f);
	return text;
}

static int add_flagged(struct earlier *e, enum finding_kind kind, const char *key, struct err *err)
{
	struct flagged f = {kind, strdup(key)};

	if (f.key && !vec_push(&e->flagged, f))
		return 0;
	free(f.key);
	return err_nomem(err);
}

/* ---- from a report ------------------------------------------------------------------------------
 */

struct reading {
	struct earlier *e;
	struct err *err;
	char *key;
	int kind; /* enum finding_kind; -1: none that is known */
	bool is_flagged, has_schema, is_suite;
	struct seen_run run;
};

static int keep_text(char **to, const struct json_value *v, struct err *err)
{
	free(*to);
	*to = strdup(v->string);
	return *to ? 0 : err_nomem(err);
}

static int end_finding(struct reading *r)
{
	int rc = 0;

	if (r->is_flagged && r->key && r->kind >= 0)
		rc = add_flagged(r->e, (enum finding_kind)r->kind, r->key, r->err);
	free(r->key);
	r->key = NULL;
	r->kind = -1;
	r->is_flagged = false;
	return rc;
}

static int see_finding(struct reading *r, const char *field, const struct json_value *v)
{
	int k;

	if (!*field && v->kind == JSON_END)
		return end_finding(r);
	if (!strcmp(field, ".gated"))
		r->is_flagged |= v->kind == JSON_TRUE;
	if (v->kind != JSON_STRING)
		return 0;
	if (!strcmp(field, ".key"))
		return keep_text(&r->key, v, r->err);
	if (!strcmp(field, ".verdict"))
		r->is_flagged |= !strcmp(v->string, verdict_text(VERDICT_SUSPECT)) ||
				 !strcmp(v->string, verdict_text(VERDICT_APART));
	for (k = 0; !strcmp(field, ".kind") && k <= FINDING_TOTAL; k++)
		if (!strcmp(v->string, finding_kind_text((enum finding_kind)k)))
			r->kind = k;
	return 0;
}

static void seen_run_done(struct seen_run *r)
{
	free(r->file);
	free(r->host);
	free(r->began);
	*r = (struct seen_run){0};
}

/* field: of an element of sides.base.runs or sides.new.runs. */
static int see_run(struct reading *r, const char *field, const struct json_value *v)
{
	struct seen_run *run = &r->run;

	if (!*field && v->kind == JSON_END) {
		if (run->file && vec_push(&r->e->seen, *run))
			return err_nomem(r->err);
		if (run->file)
			*run = (struct seen_run){0};
		seen_run_done(run);
	}
	if (v->kind == JSON_NUMBER && !strcmp(field, ".samples"))
		run->samples = v->number;
	if (v->kind == JSON_NUMBER && !strcmp(field, ".weight"))
		run->weight = v->number;
	if (v->kind != JSON_STRING)
		return 0;
	if (!strcmp(field, ".file"))
		return keep_text(&run->file, v, r->err);
	if (!strcmp(field, ".host"))
		return keep_text(&run->host, v, r->err);
	return strcmp(field, ".began_ns") ? 0 : keep_text(&run->began, v, r->err);
}

static int see_word(struct reading *r, enum side side, const struct json_value *v)
{
	char *word = strdup(v->string);

	if (word && !vec_push(&r->e->commands[side], word))
		return 0;
	free(word);
	return err_nomem(r->err);
}

static void see_number(struct earlier *e, const struct json_value *v)
{
	const struct {
		const char *path;
		unsigned *to;
	} rows[] = {{"run.runs", &e->runs},
		    {"run.frequency", &e->frequency},
		    {"run.count", &e->count},
		    {"run.warmup", &e->warmup}};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(v->path, rows[i].path) && v->number >= 0 && v->number <= 2e9)
			*rows[i].to = (unsigned)v->number;
}

static int see(void *arg, const struct json_value *v)
{
	static const char findings[] = "findings[]";
	static const char *const runs[] = {"sides.base.runs[]", "sides.new.runs[]"};
	struct reading *r = arg;
	size_t i;

	if (!strncmp(v->path, findings, sizeof findings - 1))
		return see_finding(r, v->path + sizeof findings - 1, v);
	for (i = 0; i < sizeof runs / sizeof *runs; i++)
		if (!strncmp(v->path, runs[i], strlen(runs[i])))
			return see_run(r, v->path + strlen(runs[i]), v);
	if (v->kind == JSON_NUMBER)
		see_number(r->e, v);
	if (!strcmp(v->path, "run.ignore_status"))
		r->e->ignore_status = v->kind == JSON_TRUE;
	if (v->kind != JSON_STRING)
		return 0;
	if (!strcmp(v->path, "run.prepare"))
		return keep_text(&r->e->prepare, v, r->err);
	if (!strcmp(v->path, "run.event"))
		return keep_text(&r->e->event, v, r->err);
	if (!strcmp(v->path, "schema"))
		r->has_schema = !strcmp(v->string, SCHEMA);
	if (!strcmp(v->path, "schema"))
		r->is_suite = !strcmp(v->string, "unspool-regress-suite/1");
	if (!strcmp(v->path, "run.base[]"))
		return see_word(r, SIDE_BASE, v);
	return strcmp(v->path, "run.new[]") ? 0 : see_word(r, SIDE_NEW, v);
}

int earlier_read(struct earlier *e, const char *path, struct err *err)
{
	struct reading r = {.e = e, .err = err, .kind = -1};
	char *text = regress_read_text(path, err);
	int rc = text ? json_read(text, strlen(text), path, see, &r, err) : -(int)err->code, s;

	free(r.key);
	seen_run_done(&r.run);
	free(text);
	if (!rc && !r.has_schema)
		rc = err_set(err, ERR_FORMAT, path, "no report of regress --json (%s)%s", SCHEMA,
			     r.is_suite ? ": it is one of --suite, which --confirm confirms at "
					  "once"
					: "");
	for (s = 0; !rc && s < SIDE_N; s++)
		if (e->commands[s].n && vec_push(&e->commands[s], NULL))
			rc = err_nomem(err);
	return rc;
}

/* ---- from this process --------------------------------------------------------------------------
 */

int earlier_take(struct earlier *e, const struct regress *g, struct err *err)
{
	size_t n, i;
	const struct finding *f = regress_findings(g, &n);
	int rc = 0;

	for (i = 0; !rc && i < n; i++)
		if (verdict_is_gated(f[i].verdict) || f[i].verdict == VERDICT_SUSPECT ||
		    f[i].verdict == VERDICT_APART)
			rc = add_flagged(e, f[i].kind,
					 f[i].kind == FINDING_TOTAL ? "total"
								    : regress_key(g, f[i].key),
					 err);
	return rc;
}

int earlier_restrict(const struct earlier *e, struct regress *g, struct err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < e->flagged.n; i++)
		rc = regress_only(g, e->flagged.v[i].kind, e->flagged.v[i].key, err);
	return rc;
}

/* Two runs with the same beginning are one; if that is not known, those of one file with the same
 * sums. The report rounds these. */
static bool is_seen(const struct seen_run *a, const struct regress_run *b)
{
	char began[24];

	if (a->began || b->facts.began_ns) {
		snprintf(began, sizeof began, "%" PRIu64, b->facts.began_ns);
		return a->began && !strcmp(a->began, began) &&
		       (!a->host || !strcmp(a->host, b->facts.host));
	}
	return !strcmp(a->file, b->name) && fabs(a->samples - b->samples) <= 1e-6 * b->samples &&
	       fabs(a->weight - b->weight) <= 1e-6 * b->weight;
}

int earlier_check_fresh(const struct earlier *e, const struct regress *g, struct err *err)
{
	size_t n, i, k;
	const struct regress_run *runs = regress_runs(g, &n);

	for (i = 0; i < n; i++)
		for (k = 0; k < e->seen.n; k++)
			if (is_seen(&e->seen.v[k], &runs[i]))
				return err_set(err, ERR_USAGE, runs[i].name,
					       "not comparable: the first look has flagged by this "
					       "run, which cannot confirm itself: record again "
					       "(--force)");
	return 0;
}

void earlier_done(struct earlier *e)
{
	size_t i;
	int s;

	for (i = 0; i < e->seen.n; i++)
		seen_run_done(&e->seen.v[i]);
	vec_done(&e->seen);

	for (i = 0; i < e->flagged.n; i++)
		free(e->flagged.v[i].key);
	vec_done(&e->flagged);
	free(e->prepare);
	free(e->event);
	for (s = 0; s < SIDE_N; s++) {
		for (i = 0; i < e->commands[s].n; i++)
			free(e->commands[s].v[i]);
		vec_done(&e->commands[s]);
	}
}
