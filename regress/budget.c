/* budget.c - .profbudget: what is allowed, and until when. One rule a line, the first that matches
 * counts.
 *
 *	version 1
 *	default                margin 2%  impact 0.1%  q 0.01
 *	total                  max +3%
 *	fn parse_json   incl   max +10%
 *	fn zstd::*      self   warn
 *	share malloc*          limit 8%
 *	class async-kernel     ignore
 *	rename old_name        new_name
 *	allow fn new_hash      max +40%  until 2026-12-31  why "PR 123: safer hash"
 *	unknown limit 5%  delta 2pp
 */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "regress/inside.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS_MAX = 16, GRACE_DAYS = 14 };

struct words {
	char *v[WORDS_MAX];
	size_t n;
};

int budget_today(void)
{
	/* A fixed day makes reports reproducible (reproducible-builds.org). */
	const char *fixed = getenv("SOURCE_DATE_EPOCH");
	time_t now = fixed && *fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	return (tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday;
}

/* Words, or texts in quotes; '#' begins a comment. NULL: fine. */
static const char *split(char *s, struct words *w)
{
	for (w->n = 0;;) {
		while (isspace((unsigned char)*s))
			s++;
		if (!*s || *s == '#')
			return NULL;
		if (w->n == WORDS_MAX)
			return "too many words";
		if (*s == '"') {
			w->v[w->n++] = ++s;
			s = strchr(s, '"');
			if (!s)
				return "a quote that is not closed";
		} else {
			w->v[w->n++] = s;
			while (*s && !isspace((unsigned char)*s))
				s++;
			if (!*s)
				return NULL;
		}
		*s++ = '\0';
	}
}

/* "+10%", "0.1%", "2pp", "0.01" */
static bool to_share(const char *s, double *ret)
{
	char *end;

	*ret = strtod(*s == '+' ? s + 1 : s, &end);
	if (end == s || !(*ret >= 0))
		return false;
	if (!strcmp(end, "%") || !strcmp(end, "pp"))
		*ret /= 100;
	else if (*end)
		return false;
	return true;
}

static bool to_date(const char *s, int *ret)
{
	int y, m, d, used = 0;

	if (sscanf(s, "%4d-%2d-%2d%n", &y, &m, &d, &used) != 3 || s[used] || m < 1 || m > 12 ||
	    d < 1 || d > 31)
		return false;
	*ret = y * 10000 + m * 100 + d;
	return true;
}

static const char *parse_settings(struct rule *r, const struct words *w, size_t i)
{
	for (; i < w->n; i++) {
		const char *key = w->v[i], *value = i + 1 < w->n ? w->v[i + 1] : "";
		const struct {
			const char *name;
			double *to;
		} numbers[] = {{"max", &r->max},       {"limit", &r->limit}, {"margin", &r->margin},
			       {"impact", &r->impact}, {"q", &r->q},	     {"delta", &r->delta}};
		size_t n;

		if (!strcmp(key, "self") || !strcmp(key, "incl") || !strcmp(key, "cpu")) {
			r->has_kind = *key != 'c';
			r->is_incl = *key == 'i';
			continue;
		}
		if (!strcmp(key, "warn") || !strcmp(key, "ignore")) {
			*(*key == 'w' ? &r->is_warning : &r->is_ignored) = true;
			continue;
		}
		for (n = 0; n < sizeof numbers / sizeof *numbers && strcmp(key, numbers[n].name);
		     n++)
			;
		i++;
		if (n < sizeof numbers / sizeof *numbers) {
			if (!to_share(value, numbers[n].to))
				return "a number like +10% or 0.01 is wanted";
		} else if (!strcmp(key, "until")) {
			if (!to_date(value, &r->until))
				return "a date like 2026-12-31 is wanted";
		} else if (!strcmp(key, "why")) {
			r->why = strdup(value);
		} else {
			return "an unknown word";
		}
	}
	return NULL;
}

static const struct {
	const char *name;
	enum rule_kind kind;
	bool has_pattern;
} kinds[] = {{"fn", RULE_FN, true},
	     {"total", RULE_TOTAL, false},
	     {"default", RULE_DEFAULT, false},
	     {"share", RULE_SHARE, true},
	     {"class", RULE_CLASS, true},
	     {"rename", RULE_RENAME, true},
	     {"allow", RULE_ALLOW, true},
	     {"unknown", RULE_UNKNOWN, false}};

static const char *parse_rule(struct rule *r, struct words *w)
{
	size_t k, i = 1;
	const char *why;

	for (k = 0; k < sizeof kinds / sizeof *kinds && strcmp(w->v[0], kinds[k].name); k++)
		;
	if (k == sizeof kinds / sizeof *kinds)
		return "no such rule; there are fn, total, default, share, class, rename, allow, "
		       "unknown";
	r->kind = kinds[k].kind;
	/* "allow fn NAME": of a rule that would be fn NAME */
	if (r->kind == RULE_ALLOW && w->n > 1 && !strcmp(w->v[1], "fn"))
		i++;
	if (kinds[k].has_pattern) {
		if (i >= w->n)
			return "a name is missing";
		r->pattern = strdup(w->v[i++]);
		if (!r->pattern)
			return "out of memory";
	}
	if (r->kind == RULE_RENAME) {
		if (i + 1 != w->n)
			return "rename takes an old and a new name";
		r->to = strdup(w->v[i]);
		return r->to ? NULL : "out of memory";
	}
	why = parse_settings(r, w, i);
	if (!why && r->kind == RULE_ALLOW && (!r->until || !r->why || r->max < 0))
		return "allow wants a max, an until DATE and a why \"..\"";
	return why;
}

static void rule_done(struct rule *r)
{
	free(r->pattern);
	free(r->to);
	free(r->why);
}

int regress_budget(struct regress *g, const char *path, const char *text, struct err *err)
{
	char *copy = strdup(text), *line, *next;
	unsigned number = 0;
	int rc = 0;

	if (!copy)
		return err_nomem(err);
	for (line = copy; line && !rc; line = next) {
		struct rule r = {
			.max = -1, .limit = -1, .margin = -1, .impact = -1, .q = -1, .delta = -1};
		struct words w;
		const char *why;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		r.line = ++number;
		why = split(line, &w);
		if (!why && !w.n)
			continue;
		if (!why && !strcmp(w.v[0], "version")) {
			if (w.n != 2 || strcmp(w.v[1], "1"))
				rc = err_set(err, ERR_FORMAT, path,
					     "line %u: only version 1 is known", number);
			continue;
		}
		if (!why)
			why = parse_rule(&r, &w);
		if (why)
			rc = err_set(err, ERR_FORMAT, path, "line %u: %s", number, why);
		else if (vec_push(&g->rules, r))
			rc = err_nomem(err);
		if (rc)
			rule_done(&r);
		if (!rc && r.kind == RULE_DEFAULT) {
			g->opt.margin = r.margin >= 0 ? r.margin : g->opt.margin;
			g->opt.impact = r.impact >= 0 ? r.impact : g->opt.impact;
			g->opt.q = r.q >= 0 ? r.q : g->opt.q;
		}
		if (!rc && r.kind == RULE_TOTAL && r.max >= 0)
			g->opt.total_max = r.max;
	}
	free(copy);
	return rc;
}

static bool matches(const struct regress *g, const struct rule *r, uint32_t key)
{
	const struct key_info *info = &g->info.v[key];

	if (r->kind == RULE_CLASS)
		return !strcmp(r->pattern, "async-kernel") ? info->is_async
		       : !strcmp(r->pattern, "kernel")	   ? info->is_kernel
		       : !strcmp(r->pattern, "unknown")	   ? info->is_unknown
							   : false;
	return !fnmatch(r->pattern, strtab_get(&g->keys, key), 0) ||
	       (info->whole && !fnmatch(r->pattern, strtab_get(&g->keys, info->whole), 0)) ||
	       !fnmatch(r->pattern, strtab_get(&g->names, info->name), 0);
}

struct rule *budget_find(struct regress *g, enum rule_kind kind, uint32_t key, bool is_incl)
{
	size_t i;

	for (i = 0; i < g->rules.n; i++) {
		struct rule *r = &g->rules.v[i];

		if (r->kind != kind || (r->has_kind && r->is_incl != is_incl) ||
		    !matches(g, r, key))
			continue;
		r->is_used = true;
		if (r->until && r->until < budget_today())
			continue;
		return r;
	}
	return NULL;
}

const char *budget_rename(struct regress *g, const char *key)
{
	size_t i;

	for (i = 0; i < g->rules.n; i++)
		if (g->rules.v[i].kind == RULE_RENAME && !strcmp(g->rules.v[i].pattern, key)) {
			g->rules.v[i].is_used = true;
			return g->rules.v[i].to;
		}
	return NULL;
}

void budget_done(struct regress *g)
{
	size_t i;

	for (i = 0; i < g->rules.n; i++)
		rule_done(&g->rules.v[i]);
	vec_done(&g->rules);
}

/* A name of a rule that no function has is a rule that does nothing. */
const char *regress_budget_note(const struct regress *g, size_t i)
{
	return i < g->notes.n ? g->notes.v[i] : NULL;
}
