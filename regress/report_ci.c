/* report_ci.c - reports for CI systems: JUnit, annotations, folded stacks of both sides.
 */
#include "base/hash.h"
#include "base/vec.h"
#include "regress/report.h"

enum { ANNOTATIONS_MAX = 10 };

static void xml(struct text *t, const char *s)
{
	text_xml(t, s, strlen(s));
}

static size_t count_gated(const struct regress *g)
{
	size_t i, n = 0;

	for (i = 0; i < g->findings.n; i++)
		n += verdict_is_gated(g->findings.v[i].verdict);
	return n;
}

static void add_case(struct text *t, const struct regress *g, const struct finding *f)
{
	char line[256];

	text_str(t, "<testcase classname=\"");
	xml(t, f->kind == FINDING_TOTAL ? "total" : regress_dso(g, f->key));
	text_str(t, "\" name=\"");
	xml(t, finding_name(g, f));
	snprintf(line, sizeof line, " (%s)\">", finding_kind_text(f->kind));
	text_str(t, line);
	if (verdict_is_gated(f->verdict)) {
		snprintf(line, sizeof line, ", %+.2f %% of the whole, adjusted p %.2g\">",
			 100 * f->impact, f->p_adjusted);
		text_str(t, "<failure message=\"");
		text_str(t, verdict_text(f->verdict));
		text_str(t, ": ");
		report_growth(t, f);
		text_str(t, f->limit > 0 ? "\">" : line);
		if (f->n_paths)
			xml(t, f->paths[0].stack);
		text_str(t, "</failure>");
	} else if (f->verdict == VERDICT_SUSPECT) {
		text_str(t, "<skipped message=\"suspect: not certain\"/>");
	}
	text_str(t, "</testcase>\n");
}

static void add_suite(struct text *t, const struct regress *g)
{
	char line[128];
	size_t i, tests = 0;

	for (i = 0; i < g->findings.n; i++)
		tests += finding_is_shown(&g->findings.v[i]);
	text_str(t, "<testsuite name=\"");
	xml(t, g->opt.name ? g->opt.name : "profile");
	snprintf(line, sizeof line, "\" tests=\"%zu\" failures=\"%zu\">\n", tests, count_gated(g));
	text_str(t, line);
	for (i = 0; i < g->findings.n; i++)
		if (finding_is_shown(&g->findings.v[i]))
			add_case(t, g, &g->findings.v[i]);
	text_str(t, "</testsuite>\n");
}

void regress_suite_junit(const struct regress_suite *s, FILE *out)
{
	struct text t = {0};
	size_t i;

	text_str(&t, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
	for (i = 0; i < s->n; i++)
		add_suite(&t, s->v[i]);
	text_str(&t, "</testsuites>\n");
	report_flush(&t, out);
}

/* Of a workflow command: '%', line ends, and in properties ',' and ':'
 * (docs.github.com/actions/reference/workflow-commands-for-github-actions). */
static void add_escaped(struct text *t, const char *s, bool is_property)
{
	for (; *s; s++)
		if (*s == '%' || *s == '\n' || *s == '\r' ||
		    (is_property && (*s == ',' || *s == ':'))) {
			text_char(t, '%');
			text_char(t, "0123456789ABCDEF"[(unsigned char)*s >> 4]);
			text_char(t, "0123456789ABCDEF"[*s & 15]);
		} else {
			text_char(t, *s);
		}
}

static void add_github(struct text *t, const struct regress *g, const struct finding *f,
		       const char *message)
{
	uint32_t line = 0;
	const char *file = finding_file(g, f, &line);

	text_str(t, f->verdict == VERDICT_SUSPECT ? "::warning " : "::error ");
	if (*file) {
		text_str(t, "file=");
		add_escaped(t, file, true);
		if (line) {
			text_str(t, ",line=");
			text_dec(t, line, 0);
		}
		text_char(t, ',');
	}
	text_str(t, "title=");
	add_escaped(t, verdict_text(f->verdict), true);
	text_str(t, "::");
	add_escaped(t, message, false);
	text_char(t, '\n');
}

/* GitLab's Code Quality report. */
static void add_gitlab(struct text *t, const struct regress *g, const struct finding *f,
		       const char *message, bool is_first)
{
	uint32_t line = 0;
	const char *file = finding_file(g, f, &line);
	const char *key = f->kind == FINDING_TOTAL ? "total" : regress_key(g, f->key);
	char id[32];

	snprintf(id, sizeof id, "%016llx", (unsigned long long)hash_bytes(key, strlen(key)));
	text_str(t, is_first ? "{\"description\":" : ",\n{\"description\":");
	text_json(t, message, strlen(message));
	text_str(t, ",\"check_name\":\"profile-regression\",\"fingerprint\":\"");
	text_str(t, id);
	text_str(t, f->verdict == VERDICT_SUSPECT ? "\",\"severity\":\"minor\""
						  : "\",\"severity\":\"major\"");
	text_str(t, ",\"location\":{\"path\":");
	text_json(t, *file ? file : "unknown", strlen(*file ? file : "unknown"));
	text_str(t, ",\"lines\":{\"begin\":");
	text_dec(t, line ? line : 1, 0);
	text_str(t, "}}}");
}

static bool is_annotated(const struct finding *f)
{
	return verdict_is_gated(f->verdict) || f->verdict == VERDICT_SUSPECT;
}

/* "parse: f self: +12.3 % (4.00 % of the base, adjusted p 0.001)", with a NUL behind it. */
static void make_message(struct text *t, const struct regress *g, const struct finding *f)
{
	const char *name = finding_name(g, f);
	char line[128];

	t->n = 0;
	if (g->opt.name) {
		text_str(t, g->opt.name);
		text_str(t, ": ");
	}
	text_clean(t, name, strlen(name));
	text_char(t, ' ');
	text_str(t, finding_kind_text(f->kind));
	text_str(t, ": ");
	report_growth(t, f);
	snprintf(line, sizeof line, " (%.2f %% of the base, adjusted p %.2g)", 100 * f->base_share,
		 f->p_adjusted);
	text_str(t, f->limit > 0 ? "" : line);
	text_char(t, '\0');
}

void regress_suite_annotations(const struct regress_suite *s, const char *kind, FILE *out)
{
	bool gitlab = !strcmp(kind, "gitlab");
	struct text t = {0}, message = {0};
	size_t i, k, n = 0;

	if (gitlab)
		text_char(&t, '[');
	for (k = 0; k < s->n; k++)
		for (i = 0; i < s->v[k]->findings.n && n < ANNOTATIONS_MAX; i++) {
			const struct regress *g = s->v[k];
			const struct finding *f = &g->findings.v[i];

			if (!is_annotated(f))
				continue;
			make_message(&message, g, f);
			if (message.failed)
				break;
			if (gitlab)
				add_gitlab(&t, g, f, message.s, !n);
			else
				add_github(&t, g, f, message.s);
			n++;
		}
	if (gitlab)
		text_str(&t, "]\n");
	t.failed |= message.failed;
	text_done(&message);
	report_flush(&t, out);
}

/* With three decimals: rounding to whole samples would lose small stacks. */
void regress_write_folded(const struct regress *g, FILE *out)
{
	struct text t = {0};
	VEC(uint32_t) way = {0};
	char line[96];
	size_t i, k, at;

	for (i = 1; i < g->both.n; i++) {
		const struct both_node *b = &g->both.v[i];

		if (!(b->self[SIDE_BASE] > 0) && !(b->self[SIDE_NEW] > 0))
			continue;
		for (way.n = 0, at = i; at; at = g->both.v[at].parent)
			if (vec_push(&way, g->both.v[at].key))
				t.failed = true;
		if (g->opt.name) {
			text_str(&t, g->opt.name);
			text_char(&t, ';');
		}
		for (k = way.n; k--;) {
			size_t start = t.n;
			const char *name = regress_name(g, way.v[k]);

			text_clean(&t, name, strlen(name));
			fold_finish(&t, start);
			if (k)
				text_char(&t, ';');
		}
		snprintf(line, sizeof line, " %.3f %.3f\n", b->self[SIDE_BASE], b->self[SIDE_NEW]);
		text_str(&t, line);
		if (t.n > 1 << 16)
			text_flush(&t, out);
	}
	vec_done(&way);
	report_flush(&t, out);
}
