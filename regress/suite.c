/* suite.c - the reports of several benchmarks of one job: a table each, one verdict, one error
 * rate. */
#include "regress/report.h"

static bool is_one(const struct regress_suite *s)
{
	return s->n == 1 && !s->v[0]->opt.name;
}

bool regress_suite_failed(const struct regress_suite *s)
{
	size_t i;

	for (i = 0; i < s->n && !regress_failed(s->v[i]); i++)
		;
	return i < s->n;
}

static size_t count_failed(const struct regress_suite *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->n; i++)
		n += regress_failed(s->v[i]);
	return n;
}

/* "2 of 5 benchmarks slower: parse, sort" */
static void add_verdict(struct text *t, const struct regress_suite *s)
{
	size_t n = count_failed(s), i;
	bool any = false;
	char line[64];

	if (!n) {
		snprintf(line, sizeof line, "none of %zu benchmarks is slower", s->n);
		text_str(t, line);
		return;
	}
	snprintf(line, sizeof line, "%zu of %zu benchmarks slower: ", n, s->n);
	text_str(t, line);
	for (i = 0; i < s->n; i++)
		if (regress_failed(s->v[i])) {
			text_str(t, any ? ", " : "");
			text_str(t, s->v[i]->opt.name);
			any = true;
		}
}

static double false_alarm(const struct regress_suite *s)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < s->n; i++)
		sum += s->v[i]->design.false_alarm;
	return sum;
}

void regress_suite_text(const struct regress_suite *s, FILE *out)
{
	struct text t = {0};
	char line[128];
	size_t i;

	if (is_one(s)) {
		regress_write_text(s->v[0], out);
		return;
	}
	add_verdict(&t, s);
	text_char(&t, '\n');
	for (i = 0; i < s->n; i++) {
		text_str(&t, "\n== ");
		text_str(&t, s->v[i]->opt.name);
		text_str(&t, ": ");
		text_flush(&t, out);
		regress_write_text(s->v[i], out);
	}
	if (false_alarm(s) > 0) {
		snprintf(line, sizeof line,
			 "\nall %zu benchmarks: if nothing had changed the job would be red with a "
			 "chance of at most %.2g %%\n",
			 s->n, 100 * false_alarm(s));
		text_str(&t, line);
	}
	report_flush(&t, out);
}

/* ---- Markdown -----------------------------------------------------------------------------------
 */

static void add_title(struct text *t, const struct regress_suite *s)
{
	size_t i, n = count_failed(s);
	char line[64];

	for (i = 0; i < s->n && !regress_failed(s->v[i]); i++)
		;
	text_str(t, "### ");
	if (i == s->n) {
		add_verdict(t, s);
		return;
	}
	report_code_span(t, s->v[i]->opt.name, 80);
	text_str(t, ": ");
	report_only_title(t, s->v[i]);
	if (n > 1) {
		snprintf(line, sizeof line, "; %zu of %zu benchmarks are slower", n, s->n);
		text_str(t, line);
	}
}

static void add_quiet(struct text *t, const struct regress_suite *s, size_t most)
{
	struct text line = {0};
	size_t i, left = 0;

	for (i = 0; i < s->n; i++) {
		if (regress_failed(s->v[i]))
			continue;
		line.n = 0;
		text_str(&line, "- ");
		report_code_span(&line, s->v[i]->opt.name, 80);
		text_str(&line, ": ");
		report_only_title(&line, s->v[i]);
		text_char(&line, '\n');
		if (t->n + line.n > most)
			left++;
		else
			text_add(t, line.s, line.n);
	}
	if (left) {
		char more[64];

		snprintf(more, sizeof more, "- %zu more, which do not fail\n", left);
		text_str(t, more);
	}
	t->failed |= line.failed;
	text_done(&line);
}

void regress_suite_markdown(const struct regress_suite *s, FILE *out)
{
	enum { TAIL = 700 };
	size_t i, n = count_failed(s), left = 0, most;
	struct text t = {0}, name = {0};
	char line[160];

	if (is_one(s)) {
		regress_write_markdown(s->v[0], out);
		return;
	}
	most = s->v[0]->opt.is_long ? LONG_MAX_BYTES : COMMENT_MAX;
	add_title(&t, s);
	text_str(&t, "\n\n");
	for (i = 0; i < s->n; i++) {
		size_t part = n ? (most - TAIL - TAIL * (n < s->n)) / n : 0;

		if (!regress_failed(s->v[i]))
			continue;
		name.n = 0;
		text_str(&name, "#### ");
		report_code_span(&name, s->v[i]->opt.name, 80);
		text_str(&name, ": ");
		text_char(&name, '\0');
		/* Title and totals take some hundred bytes, a row as much. */
		if (part > TAIL && t.n + TAIL < most && !name.failed)
			report_section(&t, s->v[i], name.s, part - TAIL / 4);
		else
			left++;
	}
	if (left) {
		snprintf(line, sizeof line, "%zu more benchmarks are slower: see the page.\n\n",
			 left);
		text_str(&t, line);
	}
	add_quiet(&t, s, most - TAIL);
	report_compared(&t, s->v[0]);
	snprintf(line, sizeof line,
		 "This is said of the first of %zu benchmarks; all share one error rate: red "
		 "without any change in at most %.2g %% of jobs.\n",
		 s->n, 100 * false_alarm(s));
	text_str(&t, line);
	t.failed |= name.failed;
	text_done(&name);
	report_flush(&t, out);
}

/* ---- for programs -------------------------------------------------------------------------------
 */

void regress_suite_json(const struct regress_suite *s, FILE *out)
{
	struct text t = {0};
	char line[64];
	size_t i;

	if (is_one(s)) {
		regress_write_json(s->v[0], out);
		return;
	}
	text_str(&t, "{\"schema\":\"unspool-regress-suite/1\",\"tool\":\"unspool " UNSPOOL_VERSION
		     "\",\"failed\":");
	text_str(&t, regress_suite_failed(s) ? "true" : "false");
	snprintf(line, sizeof line, ",\"false_alarm\":%.17g,\"benchmarks\":[\n", false_alarm(s));
	text_str(&t, line);
	for (i = 0; i < s->n; i++) {
		text_str(&t, i ? ",\n{\"name\":" : "{\"name\":");
		text_json(&t, s->v[i]->opt.name, strlen(s->v[i]->opt.name));
		text_str(&t, ",\"report\":");
		text_flush(&t, out);
		regress_write_json(s->v[i], out);
		text_char(&t, '}');
	}
	text_str(&t, "]}\n");
	report_flush(&t, out);
}

void regress_suite_folded(const struct regress_suite *s, FILE *out)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		regress_write_folded(s->v[i], out);
}
