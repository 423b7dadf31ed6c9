/* report.c - the table for terminals, and the texts that all reports use. */
#include "regress/report.h"

#include <math.h>

struct shown show_growth(const struct finding *f)
{
	struct shown r;

	if (!isfinite(f->growth))
		snprintf(r.s, sizeof r.s, "new");
	else if (f->growth > 10)
		snprintf(r.s, sizeof r.s, "x %.0f", f->growth + 1);
	else
		snprintf(r.s, sizeof r.s, "%+.1f %%", 100 * f->growth);
	return r;
}

const char *finding_name(const struct regress *g, const struct finding *f)
{
	return f->kind == FINDING_TOTAL ? "all on-CPU time" : regress_name(g, f->key);
}

bool finding_is_shown(const struct finding *f)
{
	return f->kind == FINDING_TOTAL || f->verdict != VERDICT_EXPLAINED;
}

void report_flush(struct text *t, FILE *out)
{
	text_flush(t, out);
	text_done(t);
}

void report_summary(const struct regress *g, struct text *t)
{
	size_t counts[VERDICT_N] = {0}, i, gated = 0;
	char line[256];

	for (i = 0; i < g->findings.n; i++) {
		counts[g->findings.v[i].verdict] += g->findings.v[i].kind != FINDING_TOTAL ||
						    verdict_is_gated(g->findings.v[i].verdict);
		gated += verdict_is_gated(g->findings.v[i].verdict);
	}
	snprintf(line, sizeof line, "%zu slower, %zu suspect, %zu improved, %zu moved", gated,
		 counts[VERDICT_SUSPECT], counts[VERDICT_IMPROVED], counts[VERDICT_MOVED]);
	if (g->design.only) {
		snprintf(line, sizeof line, "%zu of %zu confirmed", gated, g->design.only);
		text_str(t, line);
		return;
	}
	text_str(t, gated						  ? line
		    : counts[VERDICT_SUSPECT] || counts[VERDICT_IMPROVED] ? line
									  : "no change found");
}

void regress_summary(const struct regress *g, char *line, size_t size)
{
	struct text t = {0};

	report_summary(g, &t);
	snprintf(line, size, "%.*s", (int)t.n, t.s ? t.s : "");
	text_done(&t);
}

void regress_details(const struct finding *f, char *line, size_t size)
{
	snprintf(line, size, "%s %s [%+.1f, %+.1f], %+.2f %% of the whole, adjusted p %.2g%s",
		 finding_kind_text(f->kind), show_growth(f).s, 100 * f->lo, 100 * f->hi,
		 100 * f->impact, f->p_adjusted, f->is_same_code ? ", same code" : "");
}

static void add_row(struct text *t, const struct regress *g, const struct finding *f)
{
	const char *name = finding_name(g, f);
	char line[512], range[48] = "";
	uint32_t at;
	const char *file;

	if (isfinite(f->growth) && f->growth <= 10)
		snprintf(range, sizeof range, "[%+.1f, %+.1f]", 100 * f->lo, 100 * f->hi);
	snprintf(line, sizeof line, "%-13s %6.2f %%  %9s %-16s %+7.2f  %8.2g  %s  ",
		 f->kind == FINDING_TOTAL && f->verdict == VERDICT_EXPLAINED
			 ? "-"
			 : verdict_text(f->verdict),
		 100 * f->base_share, show_growth(f).s, range, 100 * f->impact, f->p_adjusted,
		 f->kind == FINDING_TOTAL ? "    " : finding_kind_text(f->kind));
	text_str(t, line);
	text_clean(t, name, strlen(name));
	if (f->kind != FINDING_TOTAL) {
		text_str(t, " (");
		text_clean(t, regress_dso(g, f->key), strlen(regress_dso(g, f->key)));
		file = regress_file(g, f->key, &at);
		if (*file) {
			text_str(t, ", ");
			text_clean(t, file, strlen(file));
			if (at) {
				text_char(t, ':');
				text_dec(t, at, 0);
			}
		}
		text_char(t, ')');
	}
	if (f->related != UINT32_MAX && f->verdict == VERDICT_MOVED) {
		text_str(t, " <-> ");
		text_clean(t, regress_name(g, f->related), strlen(regress_name(g, f->related)));
		text_str(t, ": ");
		text_str(t, moved_how_text(f->how));
	}
	if (f->is_same_code)
		text_str(t, " [same code]");
	if (f->why) {
		text_str(t, ": ");
		text_clean(t, f->why, strlen(f->why));
	}
	text_char(t, '\n');
}

/* Appends lines, if they are known, and callers, if there are several. */
static void add_places(struct text *t, const struct regress *g, const struct finding *f)
{
	double sum = f->new - f->base;
	char line[96];
	size_t i;

	for (i = 0; i < f->n_lines && (f->lines[i].new - f->lines[i].base) / sum > .1; i++) {
		const struct finding_line *l = &f->lines[i];

		snprintf(line, sizeof line, "%14.0f %% of it at line %u\n",
			 100 * (l->new - l->base) / sum,
			 l->line[SIDE_NEW] ? l->line[SIDE_NEW] : l->line[SIDE_BASE]);
		text_str(t, line);
	}
	for (i = 0; f->n_callers > 1 && i < f->n_callers; i++) {
		const struct finding_caller *c = &f->callers[i];

		snprintf(line, sizeof line, "%14.0f -> %.0f samples a run from ", c->base, c->new);
		text_str(t, line);
		text_clean(t, regress_name(g, c->key), strlen(regress_name(g, c->key)));
		text_char(t, '\n');
	}
}

static void add_paths(struct text *t, const struct regress *g, const struct finding *f)
{
	char share[32];
	size_t i;

	if (!verdict_is_gated(f->verdict) && f->verdict != VERDICT_SUSPECT)
		return;
	for (i = 0; i < f->n_paths; i++) {
		snprintf(share, sizeof share, "%14.0f %% of it in ", 100 * f->paths[i].share);
		text_str(t, share);
		text_str(t, f->paths[i].stack);
		text_char(t, '\n');
	}
	add_places(t, g, f);
}

/* Appends what was compared, and how. */
static void add_head(struct text *t, const struct regress *g)
{
	const struct regress_design *d = &g->design;
	char line[512];
	const char *note;
	size_t i;

	snprintf(line, sizeof line,
		 "%zu runs of the base with %.0f samples each, %zu of the new side with %.0f, of "
		 "%s\n"
		 "adjusted by: %s; %zu functions tested, dispersion %.2f\n"
		 "slower: more than %+.1f %% at q %.3g, and %.2g %% of the whole; all on-CPU time "
		 "more than %+.1f %%\n",
		 d->runs[SIDE_BASE], d->samples[SIDE_BASE], d->runs[SIDE_NEW], d->samples[SIDE_NEW],
		 d->event, d->normaliser, d->tested, d->trend[0], 100 * g->opt.margin, g->opt.q,
		 100 * g->opt.impact, 100 * g->opt.total_max);
	text_str(t, line);
	if (d->history + d->history_left_out) {
		snprintf(
			line, sizeof line,
			"history: %zu earlier runs%s; %zu are left out, which are not comparable\n",
			d->history,
			d->history_is_quieter ? " are not used: today functions vary more"
					      : " show how much functions vary",
			d->history_left_out);
		text_str(t, line);
	}
	if (d->only)
		text_str(t, "only what an earlier comparison flagged is judged, by these runs\n");
	for (i = 0; (note = regress_warning(g, i)); i++) {
		text_str(t, "note: ");
		text_clean(t, note, strlen(note));
		text_char(t, '\n');
	}
	if (d->is_same_code)
		text_str(t, "the program is the same code on both sides, laid out otherwise: what "
			    "differs is the environment\n");
	if (d->is_uniform)
		text_str(t, "everything changed alike: that is said of all on-CPU time, not of "
			    "the functions\n");
	if (d->runs[SIDE_BASE] < 3 || d->runs[SIDE_NEW] < 3)
		text_str(t, "fewer than 3 runs a side: nothing is certain, nothing fails\n");
}

/* Rounds up to two digits: 12,345 becomes 13,000, as it is an estimate. */
static double two_digits(double v)
{
	double unit = pow(10, fmax(floor(log10(v)) - 1, 0));

	return ceil(v / unit) * unit;
}

/* Appends what these runs can detect, and what helps if that is not enough. */
void report_power(const struct regress *g, struct text *t)
{
	const struct regress_design *d = &g->design;
	double samples = fmin(d->samples[SIDE_BASE], d->samples[SIDE_NEW]);
	char line[512];

	snprintf(line, sizeof line, "a growth of %.3g %% in a function of %.3g %% ",
		 100 * g->opt.detect_growth, 100 * g->opt.detect_share);
	text_str(t, line);
	if (d->can_detect) {
		text_str(t, "would be found");
		return;
	}
	text_str(t, "may be missed: ");
	if (!isfinite(d->detect_runs))
		snprintf(line, sizeof line, "it is not more than the margin");
	else if (!isfinite(d->detect_samples))
		snprintf(line, sizeof line, "runs differ by more than chance; -n %.0f would do",
			 fmax(d->detect_runs, 3));
	else
		snprintf(line, sizeof line,
			 "it takes about %.0f samples a run, here are %.0f: longer runs, a higher "
			 "-F, "
			 "or -n %.0f",
			 two_digits(fmax(d->detect_samples, samples)), samples,
			 fmax(d->detect_runs, 3));
	text_str(t, line);
}

void regress_write_text(const struct regress *g, FILE *out)
{
	const struct regress_design *d = &g->design;
	struct text t = {0};
	char line[512];
	const char *note;
	size_t i;

	add_head(&t, g);
	text_str(&t,
		 "\nverdict        of base     growth  95 % interval     impact    adj. p  of    "
		 "function\n");
	for (i = 0; i < g->findings.n; i++)
		if (finding_is_shown(&g->findings.v[i])) {
			add_row(&t, g, &g->findings.v[i]);
			add_paths(&t, g, &g->findings.v[i]);
		}
	snprintf(line, sizeof line,
		 "\ncertainly less than 5 %% slower: %.0f %% of the on-CPU time, less than 10 %%: "
		 "%.0f %%; "
		 "of functions with 1 %% or more a growth of %.0f %% would be found\n",
		 100 * d->certified[0], 100 * d->certified[1], 100 * d->largest_mde);
	text_str(&t, line);
	report_power(g, &t);
	text_char(&t, '\n');
	for (i = 0; (note = regress_budget_note(g, i)); i++) {
		text_str(&t, "budget: ");
		text_clean(&t, note, strlen(note));
		text_char(&t, '\n');
	}
	report_summary(g, &t);
	text_char(&t, '\n');
	report_flush(&t, out);
}
