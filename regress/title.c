/* title.c - what counts, in one line: made of the rows that the reader sees below it. */
#include "regress/report.h"

#include <math.h>

enum { NAME_MAX_BYTES = 80 };

/* "CPU", or the event. */
static const char *whole_word(const struct regress *g)
{
	return strcmp(report_whole(g), WHOLE_TIME) ? g->event : "CPU";
}

/* "+4.1 % CPU", if it is certain that all on-CPU time changed. */
static bool add_total(struct text *t, const struct regress *g, const struct finding *total)
{
	char line[48];

	if (!(total->lo > 0 || total->hi < 0))
		return false;
	snprintf(line, sizeof line, "%s ", show_growth(total).s);
	text_str(t, line);
	text_str(t, whole_word(g));
	return true;
}

/* Of next to nothing a growth says little: its part of the whole says more. Of what took a part of
 * another's time: what is left of it; of what only changed its place: the other. */
static void add_growth(struct text *t, const struct regress *g, const struct finding *f)
{
	char line[96];

	if (f->limit > 0) {
		report_growth(t, f);
		return;
	}
	if (finding_is_elsewhere(g, f) && f->related != UINT32_MAX) {
		if (f->verdict == VERDICT_MOVED && f->how != MOVED_RENAMED)
			text_str(t, f->new > f->base ? "from " : "to ");
		else
			text_str(t, f->new > f->base ? "instead of " : "now ");
		report_code_span(t, regress_name(g, f->related), NAME_MAX_BYTES / 2);
		return;
	}
	if (f->verdict <= VERDICT_NEW && f->related != UINT32_MAX && f->taken > 0) {
		text_str(t, isfinite(f->growth) ? "" : "new, ");
		text_str(t, "in part instead of ");
		report_code_span(t, regress_name(g, f->related), NAME_MAX_BYTES / 2);
		snprintf(line, sizeof line, ", net %+.2f points of the whole",
			 100 * f->impact * (1 - f->taken / (f->new - f->base)));
		text_str(t, line);
		return;
	}
	if (isfinite(f->growth) && f->growth <= 10) {
		text_str(t, show_growth(f).s);
		return;
	}
	snprintf(line, sizeof line, "%s%+.2f points of the whole",
		 isfinite(f->growth) ? "" : "new, ", 100 * f->impact);
	text_str(t, line);
}

static void add_function(struct text *t, const struct regress *g, const struct finding *f)
{
	uint32_t line = 0;
	const char *file = base_name(finding_file(g, f, &line));

	report_code_span(t, regress_name(g, f->key), NAME_MAX_BYTES);
	if (*file && strlen(file) < NAME_MAX_BYTES && !strpbrk(file, "`|<>[]*_@\\")) {
		text_str(t, " (");
		text_clean(t, file, strlen(file));
		if (line) {
			text_char(t, ':');
			text_dec(t, line, 0);
		}
		text_char(t, ')');
	} else if (*file && strlen(file) < NAME_MAX_BYTES) {
		text_str(t, " (");
		report_code_span(t, file, NAME_MAX_BYTES);
		text_char(t, ')');
	}
	text_char(t, ' ');
	add_growth(t, g, f);
}

/* The rows below the title: those shown, and what there was no room for or is folded away. */
struct rows {
	const struct finding *const *v;
	size_t shown, n;
};

/* The first row shown that a predicate picks, and how many it picks of all. */
typedef bool row_kind(const struct regress *g, const struct finding *f);

static const struct finding *first_of(const struct regress *g, const struct rows *rows,
				      row_kind *is_meant, size_t *count)
{
	const struct finding *f = NULL;
	size_t i;

	*count = 0;
	for (i = 0; i < rows->n; i++)
		if (is_meant(g, rows->v[i])) {
			f = f || i >= rows->shown ? f : rows->v[i];
			++*count;
		}
	return f;
}

static bool is_gated(const struct regress *g, const struct finding *f)
{
	(void)g;
	return verdict_is_gated(f->verdict);
}

static bool is_suspect(const struct regress *g, const struct finding *f)
{
	(void)g;
	return f->verdict == VERDICT_SUSPECT;
}

static bool is_outweighed(const struct regress *g, const struct finding *f)
{
	(void)g;
	return f->verdict == VERDICT_OUTWEIGHED;
}

static bool is_allowed(const struct regress *g, const struct finding *f)
{
	(void)g;
	return f->verdict == VERDICT_ALLOWED;
}

/* Also what was replaced: by what is faster, if the whole is. */
static bool is_smaller(const struct regress *g, const struct finding *f)
{
	(void)g;
	return f->verdict == VERDICT_IMPROVED || f->verdict == VERDICT_GONE;
}

/* What is said if nothing fails, by the first kind that there is a row of. */
static const struct {
	row_kind *is_meant;
	const char *words; /* NULL: those of add_less() */
} quiet[] = {
	{is_suspect, "Perhaps slower, not certain: "},
	{is_allowed, "Slower, as allowed: "},
	{finding_is_less, NULL},
	{is_outweighed, "Outweighed by what got faster: "},
	{finding_is_elsewhere, "Only moved or replaced: "},
};

static void add_first(struct text *t, const struct regress *g, const struct finding *f,
		      size_t count)
{
	char line[48];

	add_function(t, g, f);
	if (count > 1) {
		snprintf(line, sizeof line, ", and %zu more", count - 1);
		text_str(t, line);
	}
}

static void add_failed(struct text *t, const struct regress *g, const struct finding *f,
		       size_t count)
{
	const struct finding *total = &g->findings.v[0];

	text_str(t, f && f->verdict == VERDICT_OVER_BUDGET ? "Over budget: " : "Slower: ");
	if (!f) {
		add_total(t, g, total);
		text_str(t, ", of no single function");
		return;
	}
	if (total->hi < 0) {
		add_first(t, g, f, count);
		text_str(t, ", although the whole takes ");
		text_str(t, show_growth(total).s);
		return;
	}
	if (add_total(t, g, total))
		text_str(t, ": ");
	add_first(t, g, f, count);
}

/* What got faster: of the whole, or only here. */
static void add_less(struct text *t, const struct regress *g, const struct rows *rows,
		     const struct finding *f, size_t count)
{
	const struct finding *slower;

	if (g->findings.v[0].hi < 0) {
		text_str(t, "Faster: ");
		add_total(t, g, &g->findings.v[0]);
		text_str(t, ": ");
	} else {
		text_str(t, "Faster in part, not shown of the whole: ");
	}
	add_first(t, g, f, count);
	slower = first_of(g, rows, is_outweighed, &count);
	if (!slower)
		return;
	text_str(t, "; outweighed: ");
	add_first(t, g, slower, count);
}

static void add_quiet(struct text *t, const struct regress *g, const struct rows *rows)
{
	const struct finding *total = &g->findings.v[0], *f;
	bool is_faster = total->verdict == VERDICT_IMPROVED;
	size_t i, count;

	if (total->verdict == VERDICT_APART) {
		add_total(t, g, total);
		text_str(t, ", which the machine may explain: the sides were not recorded in turn");
		return;
	}
	for (i = 0; i < sizeof quiet / sizeof *quiet; i++) {
		row_kind *is_meant = quiet[i].is_meant;

		/* The whole counts more than a part of it. */
		if (is_faster && quiet[i].words)
			continue;
		f = first_of(g, rows, is_faster ? is_smaller : is_meant, &count);
		if (!f)
			continue;
		if (!quiet[i].words) {
			add_less(t, g, rows, f, count);
			return;
		}
		text_str(t, quiet[i].words);
		add_first(t, g, f, count);
		return;
	}
	if (total->verdict == VERDICT_SUSPECT)
		text_str(t, "Perhaps slower, not certain: ");
	else if (is_faster)
		text_str(t, "Faster: ");
	if (total->verdict == VERDICT_SUSPECT || is_faster) {
		text_str(t, show_growth(total).s);
		text_char(t, ' ');
		text_str(t, whole_word(g));
		text_str(t, ", of no single function");
	} else if (g->design.is_same_code) {
		text_str(t, "No change found: the program is the same");
	} else {
		text_str(t, "No change found");
	}
}

/* Of what an earlier look flagged. The total may be one of them. */
static void add_confirmed(struct text *t, const struct regress *g)
{
	char line[64];
	size_t i, n = 0;

	if (!g->design.only)
		return;
	for (i = 0; i < g->findings.n; i++)
		n += verdict_is_gated(g->findings.v[i].verdict);
	if (n)
		snprintf(line, sizeof line, "%zu of %zu flagged confirmed", n, g->design.only);
	else
		snprintf(line, sizeof line, "%zu flagged, none confirmed", g->design.only);
	text_str(t, line);
}

static void add_compilers(struct text *t, const struct regress *g)
{
	if (!regress_failed(g))
		report_compilers(g, t, "");
}

/* What a green result may have missed. */
static void add_missed(struct text *t, const struct regress *g)
{
	const struct regress_design *d = &g->design;
	char line[96];

	if (regress_failed(g))
		return;
	if (d->is_few_runs) {
		text_str(t, "fewer than 4 runs a side: nothing can fail");
	} else if (!d->can_detect) {
		snprintf(line, sizeof line,
			 "too few samples to see %+.3g %% of a function of %.3g %%",
			 100 * g->opt.detect_growth, 100 * g->opt.detect_share);
		text_str(t, line);
	} else if (report_total_is_vague(g)) {
		snprintf(line, sizeof line, "runs differ: the whole may be up to %+.0f %% slower",
			 100 * g->findings.v[0].hi);
		text_str(t, line);
	}
}

/* All that limits the title is in one pair of brackets. */
static void add_limits(struct text *t, const struct regress *g)
{
	static void (*const parts[])(struct text *, const struct regress *) = {
		add_confirmed, add_compilers, add_missed};
	struct text part = {0};
	bool is_open = false;
	size_t i;

	for (i = 0; i < sizeof parts / sizeof *parts; i++) {
		part.n = 0;
		parts[i](&part, g);
		if (!part.n)
			continue;
		text_str(t, is_open ? "; " : " (");
		text_add(t, part.s, part.n);
		is_open = true;
	}
	if (is_open)
		text_char(t, ')');
	t->failed |= part.failed;
	text_done(&part);
}

void report_title(const struct regress *g, const struct finding *const *v, size_t shown, size_t n,
		  struct text *t)
{
	const struct rows rows = {v, shown, n};
	const struct finding *f;
	size_t count;

	f = first_of(g, &rows, is_gated, &count);
	if (regress_failed(g))
		add_failed(t, g, f, count);
	else
		add_quiet(t, g, &rows);
	add_limits(t, g);
}
