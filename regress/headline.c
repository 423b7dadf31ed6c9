/* headline.c - the result in one line, and what a green result may have missed. */
#include "regress/report.h"

#include <math.h>

struct counts {
	size_t slower, over, less, elsewhere, by[VERDICT_N];
};

static const struct finding *self_of(const struct regress *g, uint32_t key)
{
	size_t i;

	for (i = 0; i < g->findings.n; i++)
		if (g->findings.v[i].kind == FINDING_SELF && g->findings.v[i].key == key)
			return &g->findings.v[i];
	return NULL;
}

bool finding_is_less(const struct regress *g, const struct finding *f)
{
	const struct finding *to = self_of(g, f->related);

	if (f->verdict != VERDICT_IMPROVED && f->verdict != VERDICT_GONE)
		return false;
	return !to || to->new - to->base < (f->base - f->new) / 2;
}

bool finding_is_elsewhere(const struct regress *g, const struct finding *f)
{
	if (f->verdict == VERDICT_IMPROVED || f->verdict == VERDICT_GONE)
		return !finding_is_less(g, f);
	return f->verdict == VERDICT_MOVED || f->verdict == VERDICT_REPLACED;
}

static struct counts count_verdicts(const struct regress *g)
{
	struct counts c = {0};
	size_t i;

	for (i = 0; i < g->findings.n; i++) {
		const struct finding *f = &g->findings.v[i];

		c.over += f->limit > 0 && verdict_is_gated(f->verdict);
		c.slower += !(f->limit > 0) && verdict_is_gated(f->verdict);
		if (f->kind == FINDING_TOTAL)
			continue;
		c.by[f->verdict]++;
		c.less += finding_is_less(g, f);
		c.elsewhere += finding_is_elsewhere(g, f);
	}
	return c;
}

static void add_count(struct text *t, size_t n, const char *what)
{
	if (!n)
		return;
	if (t->n)
		text_str(t, ", ");
	text_dec(t, n, 0);
	text_char(t, ' ');
	text_str(t, what);
}

/* The total, if it is certain that it changed. */
static void add_total(struct text *t, const struct regress *g, const struct finding *f)
{
	if (f->verdict != VERDICT_IMPROVED && f->verdict != VERDICT_APART &&
	    !verdict_is_gated(f->verdict))
		return;
	text_str(t, ", ");
	text_str(t, report_whole(g));
	text_char(t, ' ');
	text_str(t, show_growth(f).s);
	if (f->verdict == VERDICT_APART)
		text_str(t, ", which the machine may explain: the sides were not recorded in turn");
}

/* The result in one line. */
static void report_summary(const struct regress *g, struct text *t)
{
	const struct counts c = count_verdicts(g);
	const struct finding *total = g->findings.n ? &g->findings.v[0] : NULL;
	struct text line = {0};
	char words[64];

	if (g->design.only) {
		snprintf(words, sizeof words, "%zu of %zu confirmed", c.slower + c.over,
			 g->design.only);
		text_str(t, words);
		return;
	}
	add_count(&line, c.slower, "slower");
	add_count(&line, c.over, "over the budget's share");
	add_count(&line, c.by[VERDICT_SUSPECT], "suspect");
	add_count(&line, c.by[VERDICT_OUTWEIGHED], "outweighed by what got faster");
	add_count(&line, c.by[VERDICT_ALLOWED], "allowed");
	add_count(&line, c.less, "improved or gone");
	add_count(&line, c.elsewhere, "moved or replaced");
	add_count(&line, c.by[VERDICT_ENVIRONMENT], "by the environment");
	add_count(&line, c.by[VERDICT_IGNORED], "ignored by the budget");
	if (total && !line.n && total->verdict == VERDICT_IMPROVED)
		text_str(&line, "no function stands out");
	if (total && total->verdict == VERDICT_APART && !line.n)
		text_str(&line, "no function stands out");
	if (total && line.n)
		add_total(&line, g, total);
	if (line.n)
		text_add(t, line.s, line.n);
	else
		text_str(t, "no change found");
	t->failed |= line.failed;
	text_done(&line);
}

void regress_summary(const struct regress *g, char *line, size_t size)
{
	struct text t = {0};

	report_summary(g, &t);
	snprintf(line, size, "%.*s", (int)t.n, t.s ? t.s : "");
	text_done(&t);
}

/* Rounds up to two digits: 12,345 becomes 13,000, as it is an estimate. */
static double two_digits(double v)
{
	double unit = pow(10, fmax(floor(log10(v)) - 1, 0));

	return ceil(v / unit) * unit;
}

/* No more than `regress run` takes. */
static void add_runs_needed(struct text *t, const struct regress_design *d)
{
	char line[64];

	if (d->detect_runs > REGRESS_RUNS_MAX)
		text_str(t, isfinite(d->detect_samples)
				    ? ""
				    : "more than 100 runs a side would be needed: it takes a "
				      "quieter machine");
	else {
		snprintf(line, sizeof line,
			 isfinite(d->detect_samples) ? ", or -n %.0f" : "-n %.0f would do",
			 fmax(d->detect_runs, 4));
		text_str(t, line);
	}
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
		snprintf(line, sizeof line, "runs differ by more than chance; ");
	else if (d->detect_samples <= samples)
		snprintf(line, sizeof line, "it takes -n 4");
	else
		snprintf(line, sizeof line,
			 "it takes about %.0f samples a run, here are %.0f: longer runs%s",
			 two_digits(fmax(d->detect_samples, samples)), samples,
			 whole_of_waits(g->event)	      ? ""
			 : d->detect_runs <= REGRESS_RUNS_MAX ? ", a higher -F"
							      : ", or a higher -F");
	text_str(t, line);
	if (isfinite(d->detect_runs) && d->detect_samples > samples)
		add_runs_needed(t, d);
}

const char *report_code(const struct regress *g)
{
	const struct finding *total = g->findings.n ? &g->findings.v[0] : NULL;

	if (g->design.is_not_shown)
		return "all code that ran is the same on both sides, but the programs are not "
		       "shown to be the same\n";
	if (!g->design.is_same_code || !total)
		return "";
	if (verdict_is_gated(total->verdict))
		return "the program is the same, laid out otherwise; it does more work, or what it "
		       "reads changed, or it lies where it is slower\n";
	if (total->verdict == VERDICT_IMPROVED)
		return "the program is the same, laid out otherwise; it does less work, or what it "
		       "reads changed, or it lies where it is faster\n";
	return "the program is the same code and data on both sides, laid out otherwise: what "
	       "differs is the environment\n";
}

/* Without lines there are no inlined functions: what moves with them looks like growth. */
const char *report_inlines(const struct regress *g)
{
	const char *ret = "";
	size_t i;

	for (i = 0; i < g->findings.n; i++) {
		const struct finding *f = &g->findings.v[i];

		if (f->kind != FINDING_TOTAL && verdict_is_gated(f->verdict) &&
		    !g->info.v[f->key].is_kernel && !g->info.v[f->key].is_vdso &&
		    lacks_lines(g, g->info.v[f->key].dso))
			return "no lines are known of a function that fails (no debug "
			       "information, or a profile without lines): what was compiled into "
			       "it counts as its own, also if it only moved there\n";
		if (f->verdict == VERDICT_MOVED && f->how == MOVED_UNSEEN)
			ret = "perhaps inlined: no inlined functions are known of its module (no "
			      "debug information, or a profile without lines), and another "
			      "function there lost as much; -g tells\n";
	}
	return ret;
}

void report_found(const struct regress *g, struct text *t)
{
	char line[256];

	if (!(g->design.largest_mde > 0))
		snprintf(line, sizeof line, "no function with 1 %% or more has samples enough");
	/* More than a doubling is no figure to rely on. */
	else if (g->design.largest_mde <= 1)
		snprintf(line, sizeof line,
			 "in each function with 1 %% or more a growth of %.0f %% would be found",
			 100 * g->design.largest_mde);
	else
		snprintf(line, sizeof line,
			 "in some functions with 1 %% or more not even twice the time would "
			 "surely be found");
	text_str(t, line);
}

void report_compilers(const struct regress *g, struct text *t, const char *before)
{
	size_t i, n = 0;
	char line[160];

	for (i = 0; i < g->findings.n; i++)
		n += g->findings.v[i].verdict == VERDICT_MOVED &&
		     g->findings.v[i].how == MOVED_COMPILER &&
		     g->findings.v[i].new > g->findings.v[i].base;
	if (!n)
		return;
	snprintf(line, sizeof line,
		 "%sother compilers: %zu that grew %s judged only with all of the module", before,
		 n, n == 1 ? "was" : "were");
	text_str(t, line);
}

bool report_total_is_vague(const struct regress *g)
{
	const struct finding *total = g->findings.n ? &g->findings.v[0] : NULL;

	return total && total->verdict == VERDICT_EXPLAINED && !g->design.only &&
	       total->mde > g->opt.total_max && total->mde > g->opt.detect_growth;
}

/* Runs that differ much hide a growth of the whole, and with it one of all functions alike. */
static void add_vague(struct text *t, const struct regress *g)
{
	const struct finding *total = &g->findings.v[0];
	char line[160];

	if (!report_total_is_vague(g))
		return;
	snprintf(line, sizeof line,
		 "; runs differ: %s may be up to %+.0f %% slower, if all of it is", report_whole(g),
		 100 * total->hi);
	text_str(t, line);
}

void report_headline(const struct regress *g, struct text *t)
{
	const struct regress_design *d = &g->design;

	report_summary(g, t);
	if (!regress_failed(g))
		report_compilers(g, t, "; ");
	if (!regress_failed(g) && d->can_detect)
		add_vague(t, g);
	if (regress_failed(g) || d->can_detect)
		return;
	if (d->is_few_runs)
		text_str(t, "; fewer than 4 runs a side: nothing is certain, nothing fails");
	text_str(t, "; ");
	report_power(g, t);
}
