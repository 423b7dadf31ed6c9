/* report.c - the table for terminals, and the texts that all reports use. */
#include "regress/report.h"

#include <math.h>

struct shown show_change(double growth, bool is_gone)
{
	struct shown r;

	if (!isfinite(growth))
		snprintf(r.s, sizeof r.s, "new");
	else if (is_gone)
		snprintf(r.s, sizeof r.s, "gone");
	else if (growth > 10)
		snprintf(r.s, sizeof r.s, "x %.0f", growth + 1);
	else
		snprintf(r.s, sizeof r.s, "%+.1f %%", 100 * growth);
	return r;
}

struct shown show_growth(const struct finding *f)
{
	return show_change(f->growth, f->kind == FINDING_SELF && !(f->new > 0));
}

void report_growth(struct text *t, const struct finding *f)
{
	char line[96];

	if (!(f->limit > 0)) {
		text_str(t, show_growth(f).s);
		return;
	}
	snprintf(line, sizeof line, "has %.1f %% of the whole, the limit is %.3g %%",
		 100 * f->new_share, 100 * f->limit);
	text_str(t, line);
}

const char *report_whole(const struct regress *g)
{
	return g->whole;
}

const char *finding_name(const struct regress *g, const struct finding *f)
{
	return f->kind == FINDING_TOTAL ? report_whole(g) : regress_name(g, f->key);
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

void regress_details(const struct finding *f, char *line, size_t size)
{
	snprintf(line, size, "%s %s [%+.1f, %+.1f], %+.2f %% of the whole, adjusted p %.2g%s",
		 finding_kind_text(f->kind), show_growth(f).s, 100 * f->lo, 100 * f->hi,
		 100 * f->impact, f->p_adjusted, f->is_same_code ? ", same code" : "");
}

/* Appends to a row about a finding which other function it has to do with, and how. */
static void report_related(const struct regress *g, const struct finding *f, struct text *t)
{
	static const char *const words[VERDICT_N] = {
		[VERDICT_REGRESSED] = " in part instead of ",
		[VERDICT_NEW] = " in part instead of ",
		[VERDICT_OUTWEIGHED] = " beneath ",
		[VERDICT_IMPROVED] = ", replaced by ",
		[VERDICT_GONE] = ", replaced by ",
		[VERDICT_MOVED] = " <-> ",
		[VERDICT_REPLACED] = " instead of ",
	};

	if (f->verdict == VERDICT_OUTWEIGHED && f->related == UINT32_MAX) {
		text_str(t, ", but the whole is faster");
		return;
	}
	if (f->related == UINT32_MAX || !words[f->verdict])
		return;
	text_str(t, words[f->verdict]);
	text_clean(t, regress_name(g, f->related), strlen(regress_name(g, f->related)));
	if (f->verdict == VERDICT_OUTWEIGHED)
		text_str(t, ", which got faster");
	if (f->verdict == VERDICT_MOVED) {
		text_str(t, ": ");
		text_str(t, moved_how_text(f->how));
	}
}

static void add_row(struct text *t, const struct regress *g, const struct finding *f)
{
	const char *name = finding_name(g, f);
	char line[512], range[48] = "";
	uint32_t at;
	const char *file;

	/* Of what is not there any more no interval is known. */
	if (isfinite(f->growth) && f->growth <= 10 && (f->new > 0 || f->kind != FINDING_SELF))
		snprintf(range, sizeof range, "[%+.1f, %+.1f]", 100 * f->lo, 100 * f->hi);
	snprintf(line, sizeof line, "%-13s %6.2f %%  %9s %-16s %+7.2f  %8.2g  %s  ",
		 f->kind == FINDING_TOTAL && f->verdict == VERDICT_EXPLAINED
			 ? "-"
			 : verdict_text(f->verdict),
		 100 * f->base_share, show_growth(f).s, range, 100 * f->impact, f->p_adjusted,
		 f->kind == FINDING_TOTAL ? "    " : finding_kind_text(f->kind));
	text_str(t, line);
	if (g->opt.is_absolute) {
		snprintf(line, sizeof line, "%9.0f -> %-9.0f  ", f->base, f->new);
		text_str(t, line);
	}
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
	report_related(g, f, t);
	if (f->limit > 0) {
		text_str(t, ": ");
		report_growth(t, f);
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

		if (c->base < .5 && c->new < .5)
			continue;
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

/* "the on-CPU time" */
static const char *whole_part(const struct regress *g)
{
	return !strcmp(g->whole, WHOLE_TIME) ? "the on-CPU time" : g->whole;
}

/* Appends which part is certainly not much slower. Beside functions that do not change: if all of
 * them may be slower alike, that is said. */
static void add_certified(struct text *t, const struct regress *g)
{
	const struct regress_design *d = &g->design;
	const struct finding *total = &g->findings.v[0];
	char line[320];

	text_char(t, '\n');
	if (d->is_adjusted && total->hi > g->opt.margin) {
		snprintf(line, sizeof line,
			 "beside the functions taken as unchanged, which is not to say that the "
			 "whole is not slower (%+.1f %%, up to %+.1f %%):\n",
			 100 * total->growth, 100 * total->hi);
		text_str(t, line);
	}
	snprintf(line, sizeof line,
		 "certainly less than 5 %% slower: %.0f %% of %s, less than 10 %%: %.0f %%; ",
		 100 * d->certified[0], whole_part(g), 100 * d->certified[1]);
	text_str(t, line);
}

/* Appends what was compared, and how. */
static void add_head(struct text *t, const struct regress *g)
{
	const struct regress_design *d = &g->design;
	char line[512];
	const char *note;
	size_t i;

	snprintf(line, sizeof line,
		 "%zu run%s of the base with %.0f samples each, %zu of the new side with %.0f, of "
		 "%s\n"
		 "adjusted by: %s; %zu functions tested, dispersion %.2f\n"
		 "slower: more than %+.1f %% at q %.3g, and %.2g %% of the whole; %s more than "
		 "%+.1f %%\n",
		 d->runs[SIDE_BASE], d->runs[SIDE_BASE] == 1 ? "" : "s", d->samples[SIDE_BASE],
		 d->runs[SIDE_NEW], d->samples[SIDE_NEW], d->event, d->normaliser, d->tested,
		 d->trend[0], 100 * g->opt.margin, g->opt.q, 100 * g->opt.impact, report_whole(g),
		 100 * g->opt.total_max);
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
	text_str(t, report_code(g));
	text_str(t, report_inlines(g));
	if (d->together == TOGETHER_NO)
		text_str(t, "the sides were not recorded in turn on one machine: it may explain "
			    "what differs (regress run does that)\n");
	if (d->is_uniform)
		text_str(t, "everything changed alike: that is said of the whole, not of "
			    "the functions\n");
	if (d->is_few_runs)
		text_str(t, "fewer than 4 runs a side: nothing is certain, nothing fails\n");
}

void regress_write_text(const struct regress *g, FILE *out)
{
	const struct regress_design *d = &g->design;
	struct text t = {0};
	char line[512];
	const char *note;
	size_t i;

	report_headline(g, &t);
	text_str(&t, "\n\n");
	add_head(&t, g);
	text_str(&t,
		 "\nverdict        of base     growth  95 % interval     impact    adj. p  of    ");
	text_str(&t, g->opt.is_absolute ? "    samples a run       function\n" : "function\n");
	for (i = 0; i < g->findings.n; i++)
		if (finding_is_shown(&g->findings.v[i])) {
			add_row(&t, g, &g->findings.v[i]);
			add_paths(&t, g, &g->findings.v[i]);
		}
	add_certified(&t, g);
	report_found(g, &t);
	text_char(&t, '\n');
	report_power(g, &t);
	text_char(&t, '\n');
	if (d->false_alarm > 0) {
		snprintf(line, sizeof line,
			 "if nothing had changed the job would be red with a chance of at most "
			 "%.2g %%, all tests together\n",
			 100 * d->false_alarm);
		text_str(&t, line);
	}
	for (i = 0; (note = regress_budget_note(g, i)); i++) {
		text_str(&t, "budget: ");
		text_clean(&t, note, strlen(note));
		text_char(&t, '\n');
	}
	report_flush(&t, out);
}
