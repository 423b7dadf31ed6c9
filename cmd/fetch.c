/* fetch.c - --debuginfod: draws the progress line, handles interrupts. */
#include "cmd/fetch.h"

#include "base/vec.h"
#include "cmd/clean.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "load/load.h"
#include "reader/reader.h"

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
		fprintf(stderr, "%s: %s: fetched %s in %.1f s%s%s\n", w->command, e->dso->path,
			size_text((double)e->bytes, size), (double)e->elapsed_ms / 1e3,
			e->note ? "; " : "", e->note ? e->note : "");
	else
		fprintf(stderr, "%s: %s: %s\n", w->command, e->dso->path, e->note);
}

void fetch_watch_sum(struct fetch_watch *w)
{
	size_t results[FETCH_N] = {0}, i;
	const char *separator = "; ";
	char size[SIZE_TEXT_MAX];
	unsigned r;

	if (w->quiet || !w->outcomes.n) {
		w->outcomes.n = 0;
		return;
	}
	for (i = 0; i < w->outcomes.n; i++)
		results[w->outcomes.v[i].result]++;
	fprintf(stderr, "%s: debuginfod: %zu of %zu modules fetched, %s", w->command,
		results[FETCH_DONE], w->outcomes.n, size_text((double)w->bytes, size));
	for (r = FETCH_DONE + 1; r < FETCH_N; r++)
		if (results[r]) {
			fprintf(stderr, "%s%zu %s", separator, results[r], fetch_result_text(r));
			separator = ", ";
		}
	fputc('\n', stderr);
	/* The modules of the next input are others. */
	w->outcomes.n = 0;
	w->bytes = 0;
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
	double now = clock_seconds();

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

void fetch_watch_init(struct fetch_watch *w, const char *command, struct fetch_signals *signals,
		      const volatile sig_atomic_t *stop, bool quiet)
{
	*w = (struct fetch_watch){
		.options = {.listener = on_event, .arg = w},
		.command = command,
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

void fetch_watch_begin(struct fetch_watch *w)
{
	w->all = true;
	w->signals->active = 1;
}

void fetch_watch_end(struct fetch_watch *w)
{
	w->all = false;
	w->signals->active = 0;
	clear_line(w);
}
