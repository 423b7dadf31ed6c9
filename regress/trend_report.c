/* trend_report.c - a trend as text, JSON, and a page with a line for each function. */
#include <math.h>

#include "regress/report.h"
#include "regress/trend_inside.h"

static const char *name_of(const struct trend *t, const struct trend_finding *f)
{
	return f->is_total ? "all of it" : regress_name(t->g, f->key);
}

/* "in all" or "at NAME", the first commit that has it. */
static void add_when(struct text *out, const struct trend *t, const struct trend_finding *f)
{
	const char *a = t->points.v[f->is_creep ? f->from : f->at].name;
	const char *b = t->points.v[f->to - 1].name;

	text_str(out, f->is_creep ? "from " : "at ");
	text_clean(out, a, strlen(a));
	if (f->is_creep) {
		text_str(out, " to ");
		text_clean(out, b, strlen(b));
	}
}

static size_t count(const struct trend *t, enum trend_verdict v)
{
	size_t i, n = 0;

	for (i = 0; i < t->findings.n; i++)
		n += trend_verdict_of(&t->findings.v[i]) == v;
	return n;
}

static void add_headline(struct text *out, const struct trend *t)
{
	char line[200];
	int v;

	if (!t->findings.n) {
		snprintf(line, sizeof line, "flat: no function changed over %zu commits",
			 t->design.points);
		text_str(out, line);
		return;
	}
	snprintf(line, sizeof line, "%zu commits: ", t->design.points);
	text_str(out, line);
	for (v = TREND_GREW; v <= TREND_MACHINE; v++) {
		size_t n = count(t, (enum trend_verdict)v);

		if (!n)
			continue;
		snprintf(line, sizeof line, "%s%zu %s", out->s[out->n - 2] == ':' ? "" : ", ", n,
			 trend_verdict_text((enum trend_verdict)v));
		text_str(out, line);
	}
}

static void add_method(struct text *out, const struct trend *t)
{
	const struct regress_options *o = &t->g->opt;
	char line[512];

	snprintf(
		line, sizeof line,
		"%zu functions tested, %s, commits by %s, dispersion %.2f; more than %+.3g %% (all "
		"of it %+.3g %%) and %.2g %% of the whole; if nothing had changed something "
		"would be reported with a chance of at most %.2g %%\n",
		t->design.tested,
		t->design.is_scaled ? "adjusted by functions that do not change" : "not adjusted",
		t->design.by_name ? "name" : "the time of recording", t->design.phi,
		100 * o->margin, 100 * o->total_max, 100 * o->impact, 200 * o->q);
	text_str(out, line);
}

static void add_row(struct text *out, const struct trend *t, const struct trend_finding *f)
{
	const char *name = name_of(t, f), *file;
	char line[160];
	uint32_t at;

	snprintf(line, sizeof line, "%-9s %10s  %9.1f -> %-9.1f %+7.2f  %8.2g  ",
		 trend_verdict_text(trend_verdict_of(f)), show_change(f->growth, !(f->after > 0)).s,
		 f->before, f->after, 100 * f->impact, f->p_adjusted);
	text_str(out, line);
	text_clean(out, name, strlen(name));
	if (!f->is_total && *(file = regress_file(t->g, f->key, &at))) {
		snprintf(line, sizeof line, ":%u)", at);
		text_str(out, " (");
		text_clean(out, base_name(file), strlen(base_name(file)));
		text_str(out, at ? line : ")");
	}
	text_str(out, ", ");
	add_when(out, t, f);
	if (f->related != UINT32_MAX) {
		text_str(out, " <-> ");
		text_clean(out, regress_name(t->g, f->related),
			   strlen(regress_name(t->g, f->related)));
	}
	text_char(out, '\n');
}

void trend_write_text(const struct trend *t, FILE *out)
{
	struct text text = {0};
	size_t i;

	add_headline(&text, t);
	text_str(&text, "\n\n");
	add_method(&text, t);
	if (t->findings.n)
		text_str(&text,
			 "\nverdict       growth     samples a run         impact    adj. p  "
			 "function, since\n");
	for (i = 0; i < t->findings.n; i++)
		add_row(&text, t, &t->findings.v[i]);
	report_flush(&text, out);
}

/* ---- JSON ---------------------------------------------------------------------------------------
 */

static void add_number(struct text *out, const char *key, double v)
{
	char line[80];

	snprintf(line, sizeof line, isfinite(v) ? ",\"%s\":%.17g" : ",\"%s\":null", key, v);
	text_str(out, line);
}

static void add_string(struct text *out, const char *key, const char *v)
{
	text_str(out, key);
	text_json(out, v, strlen(v));
}

static void add_json(struct text *out, const struct trend *t, const struct trend_finding *f)
{
	char line[48];
	uint32_t at = 0;
	size_t i;

	add_string(out, "{\"verdict\":", trend_verdict_text(trend_verdict_of(f)));
	add_string(out, ",\"key\":", f->is_total ? "total" : regress_key(t->g, f->key));
	add_string(out, ",\"name\":", name_of(t, f));
	if (!f->is_total) {
		add_string(out, ",\"dso\":", regress_dso(t->g, f->key));
		add_string(out, ",\"file\":", regress_file(t->g, f->key, &at));
		add_number(out, "line", at);
	}
	add_string(out, ",\"shape\":", f->is_creep ? "creep" : "step");
	add_string(out, ",\"from\":", t->points.v[f->from].name);
	add_string(out, ",\"to\":", t->points.v[f->to - 1].name);
	if (!f->is_creep)
		add_string(out, ",\"at\":", t->points.v[f->at].name);
	add_number(out, "before", f->before);
	add_number(out, "after", f->after);
	add_number(out, "growth", f->growth);
	add_number(out, "impact", f->impact);
	add_number(out, "p_adjusted", f->p_adjusted);
	if (f->related != UINT32_MAX)
		add_string(out, ",\"related\":", regress_key(t->g, f->related));
	text_str(out, ",\"series\":[");
	for (i = 0; i < t->points.n; i++) {
		snprintf(line, sizeof line, i ? ",%.6g" : "%.6g", f->series[i]);
		text_str(out, line);
	}
	text_str(out, "]}");
}

void trend_write_json(const struct trend *t, FILE *out)
{
	struct text text = {0};
	size_t i;

	text_str(&text, "{\"schema\":\"unspool-trend/1\",\"tool\":\"unspool " UNSPOOL_VERSION
			"\",\"failed\":");
	text_str(&text, trend_failed(t) ? "true" : "false");
	add_string(&text, ",\"order\":", t->design.by_name ? "name" : "time");
	text_str(&text, t->design.is_scaled ? ",\"adjusted\":true" : ",\"adjusted\":false");
	add_number(&text, "q", t->g->opt.q);
	add_number(&text, "margin", t->g->opt.margin);
	add_number(&text, "tested", (double)t->design.tested);
	add_number(&text, "dispersion", t->design.phi);
	text_str(&text, ",\"commits\":[\n");
	for (i = 0; i < t->points.n; i++) {
		const struct trend_point *p = &t->points.v[i];

		add_string(&text, i ? ",\n{\"name\":" : "{\"name\":", p->name);
		add_number(&text, "began", (double)(p->began_ns / 1000000000));
		add_number(&text, "runs", p->runs);
		add_number(&text, "samples", p->samples);
		text_char(&text, '}');
	}
	text_str(&text, "],\n\"findings\":[\n");
	for (i = 0; i < t->findings.n; i++) {
		text_str(&text, i ? ",\n" : "");
		add_json(&text, t, &t->findings.v[i]);
	}
	text_str(&text, "]}\n");
	report_flush(&text, out);
}

/* ---- the page -----------------------------------------------------------------------------------
 */

enum { LINE_WIDTH = 480, LINE_HEIGHT = 48 };

/* The series as a line from 0 to its largest value, and where it changed. */
static void add_line(struct text *out, const struct trend *t, const struct trend_finding *f)
{
	double most = 0, step = LINE_WIDTH / fmax((double)t->points.n - 1, 1);
	char line[160];
	size_t i;

	for (i = 0; i < t->points.n; i++)
		most = fmax(most, f->series[i]);
	snprintf(line, sizeof line,
		 "<svg role=\"img\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\"><title>",
		 LINE_WIDTH, LINE_HEIGHT + 2, LINE_WIDTH, LINE_HEIGHT + 2);
	text_str(out, line);
	snprintf(line, sizeof line, "%.1f samples a run at first, %.1f at last, %.1f at most",
		 f->series[0], f->series[t->points.n - 1], most);
	text_str(out, line);
	text_str(out, "</title>");
	if (!f->is_creep) {
		snprintf(line, sizeof line,
			 "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\" class=\"at\"/>",
			 step * ((double)f->at - .5), step * ((double)f->at - .5), LINE_HEIGHT + 2);
		text_str(out, line);
	}
	text_str(out, "<polyline points=\"");
	for (i = 0; i < t->points.n; i++) {
		snprintf(line, sizeof line, "%.1f,%.1f ", step * (double)i,
			 1 + LINE_HEIGHT * (most > 0 ? 1 - f->series[i] / most : 1));
		text_str(out, line);
	}
	text_str(out, "\"/></svg>");
}

static void add_html_row(struct text *out, const struct trend *t, const struct trend_finding *f)
{
	const char *name = name_of(t, f);
	struct text when = {0};
	char line[200];

	snprintf(line, sizeof line,
		 "<tr class=\"%s\"><td>%s</td><td class=\"n\">%s</td><td "
		 "class=\"n\">%+.2f</td>",
		 trend_verdict_of(f) <= TREND_CREPT ? "up" : "other",
		 trend_verdict_text(trend_verdict_of(f)), show_change(f->growth, !(f->after > 0)).s,
		 100 * f->impact);
	text_str(out, line);
	text_str(out, "<td>");
	add_line(out, t, f);
	text_str(out, "</td><td><code>");
	text_xml(out, name, strlen(name));
	text_str(out, "</code><br>");
	add_when(&when, t, f);
	text_xml(out, when.s ? when.s : "", when.n);
	text_str(out, "</td></tr>\n");
	out->failed |= when.failed;
	text_done(&when);
}

void trend_write_html(const struct trend *t, FILE *out)
{
	struct text text = {0}, words = {0};
	size_t i;

	text_str(&text,
		 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Trend of "
		 "a profile</title>\n<style>body{font:14px/1.4 sans-serif;margin:1.5em;color:#222;"
		 "background:#fff}table{border-collapse:collapse}td,th{padding:.3em .8em;"
		 "border-bottom:1px solid #ccc;text-align:left;vertical-align:middle}"
		 ".n{text-align:right}polyline{fill:none;stroke:#246;stroke-width:1.5}"
		 ".up polyline{stroke:#b00}.up td:first-child{font-weight:bold;color:#b00}"
		 ".at{stroke:#888;stroke-dasharray:3}code{word-break:break-all}</style></head>"
		 "<body>\n<h1>");
	add_headline(&words, t);
	text_xml(&text, words.s ? words.s : "", words.n);
	text_str(&text, "</h1>\n<p>");
	words.n = 0;
	add_method(&words, t);
	text_xml(&text, words.s ? words.s : "", words.n);
	text_str(&text, "</p>\n");
	if (t->findings.n)
		text_str(&text,
			 "<table><thead><tr><th>verdict</th><th>growth</th><th>points of the "
			 "whole</th><th>samples a run, by commit</th><th>function, "
			 "since</th></tr></thead><tbody>\n");
	for (i = 0; i < t->findings.n; i++)
		add_html_row(&text, t, &t->findings.v[i]);
	text_str(&text, t->findings.n ? "</tbody></table>\n</body></html>\n" : "</body></html>\n");
	text.failed |= words.failed;
	text_done(&words);
	report_flush(&text, out);
}
