/* fetch.c - --debuginfod: selects what is fetched, draws the progress line, handles interrupts.
 *
 * Inlined frames need a whole debug file, which is fetched for modules where much time is spent;
 * for others names are enough. */
#include "cmd/fetch.h"

#include "cmd/clean.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/dso_weights.h"

#define FULL_FROM_PERCENT 5.0
#define SKIP_ALL_WITHIN_S 2.0 /* of the first interrupt */

const struct option_choice fetch_modes[] = {
	{"auto", FETCH_MODE_AUTO}, {"sym", FETCH_MODE_SYM}, {"line", FETCH_MODE_LINE},
	{"full", FETCH_MODE_FULL}, {"off", FETCH_MODE_OFF}, {NULL, 0},
};

/* ---- what is said ------------------------------------------------------------------------ */

#define SIZE_TEXT_MAX 24

/* "412.0 MB" */
static const char *size_text(double bytes, char out[SIZE_TEXT_MAX])
{
	if (bytes < 1e6)
		snprintf(out, SIZE_TEXT_MAX, "%.0f kB", bytes / 1e3);
	else
		snprintf(out, SIZE_TEXT_MAX, "%.1f MB", bytes / 1e6);
	return out;
}

static void clear_line(struct fetch_watch *w)
{
	if (w->line_open)
		clean_bypass("\r\033[K");
	w->line_open = false;
}

/* Draws "[3/12] libxul.so 412.0 MB/1020.1 MB  18.3 MB/s (+2)": the first transfer, and the number
 * of others. */
static void draw_line(struct fetch_watch *w)
{
	const struct fetch_event *e = &w->running[0];
	double seconds = (double)e->elapsed_ms / 1e3;
	char size[SIZE_TEXT_MAX];

	clear_line(w);
	if (!w->n_running || !w->on_terminal || w->quiet)
		return;
	if (e->rank)
		fprintf(stderr, "[%zu/%zu] ", e->rank, e->n_ranks);
	fprintf(stderr, "%.32s ", base_name(e->dso->path));
	if (!e->bytes)
		fprintf(stderr, "waiting, %.0f s", seconds);
	else
		fputs(size_text((double)e->bytes, size), stderr);
	if (e->bytes && e->total)
		fprintf(stderr, "/%s", size_text((double)e->total, size));
	if (e->bytes && seconds > 0)
		fprintf(stderr, "  %s/s", size_text((double)e->bytes / seconds, size));
	if (w->n_running > 1)
		fprintf(stderr, " (+%u)", w->n_running - 1);
	fflush(stderr);
	w->line_open = true;
}

/* Prints a line per module if a line cannot be redrawn (no terminal), and if a server has sent a
 * file of another build. */
static void say_module(struct fetch_watch *w, const struct fetch_event *e)
{
	bool refused = e->result == FETCH_DONE && e->note;
	char size[SIZE_TEXT_MAX];

	if (w->quiet || (w->on_terminal && !refused))
		return;
	if (e->result == FETCH_DONE)
		fprintf(stderr, "resolve: %s: fetched %s in %.1f s%s%s\n", e->dso->path,
			size_text((double)e->bytes, size), (double)e->elapsed_ms / 1e3,
			e->note ? "; " : "", e->note ? e->note : "");
	else
		fprintf(stderr, "resolve: %s: %s\n", e->dso->path, e->note);
}

static void say_sum(const struct fetch_watch *w)
{
	size_t results[FETCH_N] = {0}, i;
	const char *separator = "; ";
	char size[SIZE_TEXT_MAX];
	unsigned r;

	if (w->quiet || !w->outcomes.n)
		return;
	for (i = 0; i < w->outcomes.n; i++)
		results[w->outcomes.v[i].result]++;
	fprintf(stderr, "resolve: debuginfod: %zu of %zu modules fetched, %s", results[FETCH_DONE],
		w->outcomes.n, size_text((double)w->bytes, size));
	for (r = FETCH_DONE + 1; r < FETCH_N; r++)
		if (results[r]) {
			fprintf(stderr, "%s%zu %s", separator, results[r], fetch_result_text(r));
			separator = ", ";
		}
	fputc('\n', stderr);
}

/* ---- events ------------------------------------------------------------------------------ */

static bool same_transfer(const struct fetch_event *a, const struct fetch_event *b)
{
	return a->dso == b->dso && !strcmp(a->file, b->file);
}

/* The index of the transfer among those that run. */
static unsigned place_of(struct fetch_watch *w, const struct fetch_event *e)
{
	unsigned i = 0;

	while (i < w->n_running && !same_transfer(&w->running[i], e))
		i++;
	return i;
}

static void note_running(struct fetch_watch *w, const struct fetch_event *e)
{
	unsigned i = place_of(w, e);

	w->signals->active = 1;
	if (i < w->n_running) {
		w->running[i] = *e;
		return;
	}
	if (i == FETCH_SHOWN_MAX)
		return;
	w->n_running++;
	for (; i && w->running[i - 1].rank > e->rank; i--)
		w->running[i] = w->running[i - 1];
	w->running[i] = *e;
}

static void note_ended(struct fetch_watch *w, const struct fetch_event *e)
{
	unsigned i = place_of(w, e);

	if (i == w->n_running)
		return;
	w->n_running--;
	/* Without transfers an interrupt is handled by the reader. */
	w->signals->active = w->n_running || w->all;
	memmove(&w->running[i], &w->running[i + 1], (w->n_running - i) * sizeof *w->running);
}

/* The two passes over a recording have different dsos for the same file. */
static bool same_module(const struct dso *a, const struct dso *b)
{
	return build_id_identical(&a->build_id, &b->build_id) && !strcmp(a->path, b->path);
}

/* A module whose binary was fetched for unwinding is reported again with its debug file. Returns
 * false if that is nothing new. */
static bool note_outcome(struct fetch_watch *w, const struct fetch_event *e)
{
	const struct fetch_outcome outcome = {e->dso, e->result};
	bool is_new = true;
	size_t i = 0;

	while (i < w->outcomes.n && !same_module(w->outcomes.v[i].dso, e->dso))
		i++;
	if (i < w->outcomes.n) {
		is_new = e->result == FETCH_DONE || e->result != w->outcomes.v[i].result;
		w->outcomes.v[i] = outcome;
	} else {
		(void)vec_push(&w->outcomes, outcome); /* else the sum at the end is one short */
	}
	return is_new;
}

/* One interrupt skips the transfer that is shown; two in a row skip all. */
static enum fetch_answer answer_interrupts(struct fetch_watch *w, const struct fetch_event *e)
{
	sig_atomic_t pending = w->signals->skips - w->skips_done;
	double now = seconds_now();

	if (w->stop && *w->stop)
		return FETCH_SKIP_ALL;
	if (!pending)
		return FETCH_GO_ON;
	if (pending > 1 || (w->skips_done && now - w->skipped_at < SKIP_ALL_WITHIN_S))
		return FETCH_SKIP_ALL;
	if (!same_transfer(&w->running[0], e))
		return FETCH_GO_ON;
	w->skips_done++;
	w->skipped_at = now;
	return FETCH_SKIP_THIS;
}

static enum fetch_answer on_event(void *arg, const struct fetch_event *e)
{
	struct fetch_watch *w = arg;

	switch (e->what) {
	case FETCH_EVENT_RUNS:
		note_running(w, e);
		draw_line(w);
		return answer_interrupts(w, e);
	case FETCH_EVENT_ENDED:
		note_ended(w, e);
		break;
	case FETCH_EVENT_MODULE:
		w->bytes += e->bytes;
		clear_line(w);
		if (note_outcome(w, e))
			say_module(w, e);
		break;
	}
	draw_line(w);
	return FETCH_GO_ON;
}

void fetch_watch_init(struct fetch_watch *w, struct fetch_signals *signals,
		      const volatile sig_atomic_t *stop, bool quiet)
{
	*w = (struct fetch_watch){
		.options = {.listener = on_event, .arg = w},
		.signals = signals,
		.stop = stop,
		.quiet = quiet,
		.on_terminal = isatty(STDERR_FILENO),
	};
}

void fetch_watch_done(struct fetch_watch *w)
{
	vec_done(&w->outcomes);
}

/* ---- what is fetched --------------------------------------------------------------------- */

static enum fetch_tier tier_for(enum fetch_mode mode, bool no_inline, double share)
{
	switch (mode) {
	case FETCH_MODE_SYM:
		return FETCH_TIER_SYM;
	case FETCH_MODE_LINE:
		return FETCH_TIER_LINE;
	case FETCH_MODE_FULL:
		return FETCH_TIER_FULL;
	default:
		return share >= FULL_FROM_PERCENT && !no_inline ? FETCH_TIER_FULL : FETCH_TIER_SYM;
	}
}

/* Names of the kernel and its vDSO have other sources, and a vmlinux with debug information has
 * about a gigabyte: only in mode "full". */
static bool is_worth_it(const struct dso *dso, enum fetch_mode mode)
{
	return mode == FETCH_MODE_FULL || (dso->kind != DSO_KERNEL && dso->kind != DSO_VDSO);
}

static uint64_t samples_of(const struct pipeline *p)
{
	return perf_file_stats(p->file)->samples - p->filtered;
}

int fetch_for_profile(struct pipeline *p, const struct pipeline_options *opt, enum fetch_mode mode,
		      struct fetch_watch *w, struct err *err)
{
	uint64_t total = samples_of(p);
	size_t n, n_wants = 0, i;
	struct dso_weight *v = weigh_dsos(p, &n);
	struct fetch_want *wants = calloc(n + 1, sizeof *wants);
	int rc = v && wants ? 0 : err_nomem(err);

	for (i = 0; !rc && i < n; i++)
		if (is_worth_it(v[i].dso, mode))
			wants[n_wants++] = (struct fetch_want){
				v[i].dso, tier_for(mode, opt->symbolizer.no_inline,
						   percent(v[i].samples, total))};
	w->all = true;
	w->signals->active = 1;
	if (!rc)
		rc = modules_fetch(p->modules, wants, n_wants, err);
	w->all = false;
	w->signals->active = 0;
	clear_line(w);
	if (!rc)
		say_sum(w);
	free(wants);
	free(v);
	return rc;
}

void fetch_advice(const struct pipeline *p, FILE *out)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool *lacking = calloc(perf_file_dso_count(p->file) + 1, sizeof *lacking);
	size_t n, i, n_lacking = 0;
	struct dso_weight *v = weigh_dsos(p, &n);

	for (i = 0; urls && *urls && lacking && v && i < n; i++) {
		const struct dso *dso = v[i].dso;
		const struct module *m =
			is_worth_it(dso, FETCH_MODE_AUTO) ? modules_get(p->modules, dso) : NULL;

		if (m && module_wants_fetch(m)) {
			lacking[dso->id] = true;
			n_lacking++;
		}
	}
	if (n_lacking)
		fprintf(out,
			"resolve: %zu module%s (%.0f %% of the samples) lack%s symbols; "
			"--debuginfod would fetch them\n",
			n_lacking, n_lacking == 1 ? "" : "s",
			percent(weigh_picked(p, lacking), samples_of(p)),
			n_lacking == 1 ? "s" : "");
	free(lacking);
	free(v);
}
