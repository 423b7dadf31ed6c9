/* report_ci.c - reports for CI systems: Markdown, JUnit, annotations, folded stacks of both sides.
 */
#include "regress/report.h"

#include <limits.h>
#include <unistd.h>

/* GitHub limits comments to 65,536 bytes. */
enum { MARKDOWN_MAX = 60000, ANNOTATIONS_MAX = 10 };

static void xml(struct text *t, const char *s)
{
	text_xml(t, s, strlen(s));
}

/* Appends a name as a code span in a table cell: no name may end the span, or become a link or a
 * mention. */
static void add_code(struct text *t, const char *s)
{
	struct text clean = {0};
	size_t i;

	text_clean(&clean, s, strlen(s));
	text_char(t, '`');
	for (i = 0; i < clean.n && i < 200; i++)
		if (clean.s[i] == '|')
			text_str(t, "\\|");
		else
			text_char(t, clean.s[i] == '`' ? '\'' : clean.s[i]);
	text_str(t, clean.n > 200 ? "..`" : "`");
	t->failed |= clean.failed;
	text_done(&clean);
}

static void add_markdown_row(struct text *t, const struct regress *g, const struct finding *f)
{
	char line[256];

	snprintf(line, sizeof line, "| %s | ", verdict_text(f->verdict));
	text_str(t, line);
	if (f->kind == FINDING_TOTAL)
		text_str(t, "all on-CPU time");
	else
		add_code(t, regress_name(g, f->key));
	snprintf(line, sizeof line, " | %s | %.2f %% | **%s** | %+.2f pp | %.2g | ",
		 finding_kind_text(f->kind), 100 * f->base_share, show_growth(f).s, 100 * f->impact,
		 f->p_adjusted);
	text_str(t, line);
	if (f->n_paths)
		add_code(t, f->paths[0].stack);
	if (f->related != UINT32_MAX) {
		text_str(t, " ");
		text_str(t, f->verdict == VERDICT_MOVED	       ? moved_how_text(f->how)
			    : f->verdict == VERDICT_REPLACED   ? "instead of"
			    : f->verdict == VERDICT_OUTWEIGHED ? "faster all the same"
							       : "took or lost a part");
		text_str(t, ": ");
		add_code(t, regress_name(g, f->related));
	}
	text_str(t, " |\n");
}

/* Appends as many rows as there is room for; returns how many were left out. */
static size_t add_markdown_table(struct text *t, const struct regress *g)
{
	struct text row = {0};
	size_t i, left = 0;
	bool any = false;

	for (i = 0; i < g->findings.n; i++) {
		const struct finding *f = &g->findings.v[i];

		if (!finding_is_shown(f) ||
		    (f->kind == FINDING_TOTAL && f->verdict == VERDICT_EXPLAINED))
			continue;
		if (!any)
			text_str(t, "| | function | of | base | growth | impact | adj. p | where "
				    "|\n|---|---|---|---|---|---|---|---|\n");
		any = true;
		row.n = 0;
		add_markdown_row(&row, g, f);
		if (t->n + row.n > MARKDOWN_MAX)
			left++;
		else
			text_add(t, row.s, row.n);
	}
	text_done(&row);
	return left;
}

void regress_write_markdown(const struct regress *g, FILE *out)
{
	const struct regress_design *d = &g->design;
	struct text t = {0};
	char line[512];
	size_t i, left;

	text_str(&t, regress_failed(g) ? "### Slower: " : "### Profile comparison: ");
	report_headline(g, &t);
	snprintf(line, sizeof line,
		 "\n\n%zu + %zu runs, %.0f samples each, event `%s`; slower means more than %+.1f "
		 "%% at q %.3g.\n\n",
		 d->runs[SIDE_BASE], d->runs[SIDE_NEW], (d->samples[0] + d->samples[1]) / 2,
		 d->event, 100 * g->opt.margin, g->opt.q);
	text_str(&t, line);
	for (i = 0; regress_warning(g, i); i++) {
		text_str(&t, "Note: ");
		add_code(&t, regress_warning(g, i));
		text_str(&t, "\n\n");
	}
	if (d->only)
		text_str(&t,
			 "Only what an earlier comparison flagged is judged, by fresh runs.\n\n");
	left = add_markdown_table(&t, g);
	if (left) {
		snprintf(line, sizeof line, "\n%zu more are in the JSON report.\n", left);
		text_str(&t, line);
	}
	snprintf(line, sizeof line,
		 "\nCertainly less than 5 %% slower: %.0f %% of the on-CPU time; less than 10 %%: "
		 "%.0f %%; ",
		 100 * d->certified[0], 100 * d->certified[1]);
	text_str(&t, line);
	report_power(g, &t);
	text_str(&t, ".\n");
	report_flush(&t, out);
}

static size_t count_gated(const struct regress *g)
{
	size_t i, n = 0;

	for (i = 0; i < g->findings.n; i++)
		n += verdict_is_gated(g->findings.v[i].verdict);
	return n;
}

void regress_write_junit(const struct regress *g, FILE *out)
{
	struct text t = {0};
	char line[256];
	size_t i, tests = 0;

	for (i = 0; i < g->findings.n; i++)
		tests += finding_is_shown(&g->findings.v[i]);
	snprintf(line, sizeof line,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite "
		 "name=\"profile\" tests=\"%zu\" failures=\"%zu\">\n",
		 tests, count_gated(g));
	text_str(&t, line);
	for (i = 0; i < g->findings.n; i++) {
		const struct finding *f = &g->findings.v[i];

		if (!finding_is_shown(f))
			continue;
		text_str(&t, "<testcase classname=\"");
		xml(&t, f->kind == FINDING_TOTAL ? "total" : regress_dso(g, f->key));
		text_str(&t, "\" name=\"");
		xml(&t, finding_name(g, f));
		snprintf(line, sizeof line, " (%s)\">", finding_kind_text(f->kind));
		text_str(&t, line);
		if (verdict_is_gated(f->verdict)) {
			snprintf(line, sizeof line,
				 "<failure message=\"%s: %s, %+.2f %% of the whole, adjusted p "
				 "%.2g\">",
				 verdict_text(f->verdict), show_growth(f).s, 100 * f->impact,
				 f->p_adjusted);
			text_str(&t, line);
			if (f->n_paths)
				xml(&t, f->paths[0].stack);
			text_str(&t, "</failure>");
		} else if (f->verdict == VERDICT_SUSPECT) {
			text_str(&t, "<skipped message=\"suspect: not certain\"/>");
		}
		text_str(&t, "</testcase>\n");
	}
	text_str(&t, "</testsuite>\n</testsuites>\n");
	report_flush(&t, out);
}

/* CI systems expect paths relative to the root of the repository, where they run commands. */
static const char *source_file(const struct regress *g, const struct finding *f, uint32_t *line)
{
	const char *file = f->kind == FINDING_TOTAL ? "" : regress_file(g, f->key, line);
	char here[PATH_MAX];
	size_t n;

	if (!getcwd(here, sizeof here))
		return file;
	n = strlen(here);
	return !strncmp(file, here, n) && file[n] == '/' ? file + n + 1 : file;
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
	const char *file = source_file(g, f, &line);

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
	const char *file = source_file(g, f, &line);
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

void regress_write_annotations(const struct regress *g, const char *kind, FILE *out)
{
	bool gitlab = !strcmp(kind, "gitlab");
	struct text t = {0}, message = {0};
	size_t i, n = 0;
	char line[128];

	if (gitlab)
		text_char(&t, '[');
	for (i = 0; i < g->findings.n && n < ANNOTATIONS_MAX; i++) {
		const struct finding *f = &g->findings.v[i];
		const char *name = finding_name(g, f);

		if (!verdict_is_gated(f->verdict) && f->verdict != VERDICT_SUSPECT)
			continue;
		message.n = 0;
		text_clean(&message, name, strlen(name));
		snprintf(line, sizeof line, " %s: %s (%.2f %% of the base, adjusted p %.2g)",
			 finding_kind_text(f->kind), show_growth(f).s, 100 * f->base_share,
			 f->p_adjusted);
		text_str(&message, line);
		text_char(&message, '\0');
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
