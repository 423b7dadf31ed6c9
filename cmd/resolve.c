/* resolve.c - the command `resolve`: makes a profile of recordings. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/args.h"
#include "cmd/report_stats.h"
#include "cmd/profiles.h"
#include "cmd/clean.h"
#include "cmd/progress.h"
#include "cmd/resolve_options.h"
#include "cmd/write.h"
#include "input/input.h"

enum { EXIT_FINE = 0, EXIT_DAMAGED = 1, EXIT_TROUBLE = 2 };

/* The only variables that the signal handlers write. */
static volatile sig_atomic_t stop_requested;
static struct fetch_signals fetching;

enum { EVENTS_NAMED = 6 }; /* by name */

enum { PATIENT_INTERRUPTS = 4 }; /* with which transfers are waited for */

/* While the recording is read, a signal only ends the reading, and what was read is written. */
static volatile sig_atomic_t reading;
static volatile sig_atomic_t begun; /* there is something to keep */

/* Removes an unfinished file and ends the program by the signal. During reading, the first signal
 * only ends the reading. */
static void on_end(int sig)
{
	if (reading && !stop_requested) {
		stop_requested = 1;
		return;
	}
	write_abort();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The first interrupt ends the reading, if that has begun; the second ends the program. While files
 * are fetched, interrupts skip transfers. */
static void on_interrupt(int sig)
{
	if (fetching.active && fetching.skips < PATIENT_INTERRUPTS) {
		fetching.skips++;
		return;
	}
	if (stop_requested || !begun)
		on_end(sig);
	stop_requested = 1;
}

/* ---- running --------------------------------------------------------------------------- */

/* Does the recording have the events that were asked for? If not, lists its events. */
static int check_events(const struct profile *p, const char *list, struct err *err)
{
	char names[512] = "";
	const char *unknown;
	size_t i, n;

	unknown = list ? event_list_unknown(list, p, &n) : NULL;
	if (!unknown)
		return 0;
	for (i = 0; i < p->events.n; i++)
		snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
			 strtab_get(&p->strings, p->events.v[i].name));
	return err_set(err, ERR_NOT_FOUND, NULL, "--event: '%.*s' is none of the recording's:%s",
		       (int)n, unknown, names);
}

/* Explains why there is nothing to write: checks the possible reasons in their order. */
static int nothing_to_write(const struct pipeline *p, const struct pipeline_options *opt,
			    struct err *err)
{
	const struct perf_file_stats *s = perf_file_stats(p->file);
	const char *input = input_name(opt->input);

	if (p->filtered)
		return err_set(err, ERR_NOT_FOUND, input,
			       "none of the %llu samples passes the filters",
			       (unsigned long long)p->filtered);
	return err_set(err, ERR_NOT_FOUND, input,
		       "no samples (%llu records read, %llu samples skipped as damaged)%s",
		       (unsigned long long)s->records, (unsigned long long)s->skipped_samples,
		       s->damaged || s->skipped_samples
			       ? ""
			       : "; what was recorded ended too soon, or only waited: raise -F, or "
				 "record the waiting with -e sched:sched_switch");
}

static void print_notes(const struct pipeline *p)
{
	struct jit_cut cut;
	size_t i;

	for (i = 0; i < perf_file_note_count(p->file); i++)
		fprintf(stderr, "resolve: %s\n", perf_file_note(p->file, i));
	for (i = 0; jit_codes_cut(p->jit, i, &cut); i++)
		fprintf(stderr,
			"resolve: %s: the jitdump ends inside of a record at offset %#" PRIx64
			": code that was made later has no names\n",
			cut.dump->path, cut.off);
}

/* If a format can show one event only, prints which others there are. */
static void report_other_events(const struct resolve *r, const struct profile *p)
{
	struct event_set events;
	uint32_t shown;
	size_t i;

	if (r->output.event || r->format->names_events)
		return;
	if (!event_set_make(&events, p, NULL, NULL) && events.n > 1) {
		shown = event_set_main(&events, p);
		fprintf(stderr, "resolve: %s: only the event %s is shown, which %s;",
			input_name(r->pipeline.input),
			strtab_get(&p->strings, p->events.v[shown].name),
			p->events.v[shown].is_default ? "is its default" : "has the most weight");
		for (i = 0; i < events.n && i < EVENTS_NAMED; i++)
			if (events.ids[i] != shown)
				fprintf(stderr, " %s (%" PRIu64 ")",
					strtab_get(&p->strings, p->events.v[events.ids[i]].name),
					p->events.v[events.ids[i]].samples);
		if (i < events.n)
			fprintf(stderr, " and %zu more", events.n - i);
		fprintf(stderr, " %s: --event NAME or --event all\n",
			events.n > 2 ? "are not" : "is not");
	}
	event_set_done(&events);
}

static int load(struct resolve *r, struct pipeline *p, struct err *err)
{
	const struct perf_file_info *info = perf_file_info(p->file);
	int rc = 0;

	if (r->time)
		rc = args_filter_time(r->time, info->first_sample_ns, info->last_sample_ns,
				      &r->pipeline.filter, err);
	reading = begun = 1;
	if (!rc)
		rc = pipeline_load(p, &r->pipeline, err);
	reading = 0;
	r->interrupted = stop_requested;
	if (!rc && !r->quiet)
		print_notes(p);
	if (!rc)
		rc = check_events(p->profile, r->pipeline.filter.event, err);
	if (!rc && !p->profile->samples.n)
		rc = nothing_to_write(p, &r->pipeline, err);
	return rc;
}

/* With --strict, losses count as damage. */
static bool strict_loss(const struct resolve *r, const struct perf_file_stats *s)
{
	uint64_t skipped = 0;

	for (unsigned i = 0; i < PERF_SKIP_N; i++)
		skipped += s->skips[i];
	if (!r->strict || (!skipped && !perf_lost(s) && !s->lost_bytes))
		return false;
	if (!r->quiet)
		fprintf(stderr,
			"resolve: --strict: %" PRIu64 " samples were lost while recording, %" PRIu64
			" records skipped, %" PRIu64 " bytes not read\n",
			perf_lost(s), skipped, s->lost_bytes);
	return true;
}

static int exit_code(const struct resolve *r, const struct pipeline *p)
{
	const struct perf_file_stats *s = p->file ? perf_file_stats(p->file) : NULL;

	if (!s)
		return r->damaged || r->interrupted ? EXIT_DAMAGED : EXIT_FINE;
	if (s->damaged || s->interrupted || s->truncated || r->interrupted || r->damaged)
		return EXIT_DAMAGED;
	return strict_loss(r, s) || (r->strict && r->is_poor) || r->below ? EXIT_DAMAGED
									  : EXIT_FINE;
}

/* A pipe has its header in records before the first sample. */
static int show_header(const struct pipeline *p, struct err *err)
{
	struct perf_batch *b;
	int rc = 0;

	if (perf_file_info(p->file)->is_pipe)
		rc = perf_file_read(p->file, &b, err);
	if (rc < 0)
		return rc;
	report_header(p->file, stdout);
	if (rc > 0)
		perf_batch_release(p->file, b);
	return 0;
}

/* Closes the output first, so that the reader of a pipe need not wait for the cache to be written.
 */
static void keep_compiled(const struct resolve *r, const struct pipeline *p)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	if (null >= 0 && !r->output_path)
		dup2(null, STDOUT_FILENO);
	if (null >= 0)
		close(null);
	symbolizer_save(p->symbolizer);
}

/* What it could have been. */
static void add_input_names(struct err *err)
{
	const struct input_format *const *f;

	for (f = input_formats; *f; f++)
		snprintf(err->what + strlen(err->what), sizeof err->what - strlen(err->what),
			 "%s%s",
			 f == input_formats ? "; nor is it "
			 : f[1]		    ? ", "
					    : " or ",
			 (*f)->name);
}

/* For inputs that are not recordings, and for several inputs. */
static int run_profiles(struct resolve *r, struct err *err)
{
	struct profile *p = NULL;
	int rc;

	begun = 1;
	rc = profiles_load(r, &p, err);

	if (!rc && !r->diff.paths[0].n)
		rc = check_events(p, r->pipeline.filter.event, err);
	if (!rc)
		rc = write_result(r, p, err);
	if (!rc && !r->quiet)
		report_other_events(r, p);
	if (!rc && r->interrupted)
		fprintf(stderr,
			"resolve: interrupted: the output holds what was read until then\n");
	profile_free(p);
	return rc;
}

static int report_quality(struct resolve *r, const struct pipeline *p, double seconds_write,
			  struct err *err)
{
	struct quality q;
	int rc;

	if (r->stats == STATS_TEXT)
		report_text(p, stderr);
	if (r->stats != STATS_JSON && !r->requires)
		return 0;
	rc = quality_measure(p, &q, err);
	if (rc)
		return rc;
	if (r->stats == STATS_JSON)
		report_json(p, &q, seconds_write, stderr);
	r->below = !requirements_met(&r->require, &q, stderr);
	return 0;
}

static int run(struct resolve *r, struct pipeline *p, struct err *err)
{
	double start;
	int rc;

	if (profiles_are_meant(r))
		return run_profiles(r, err);
	rc = pipeline_open(p, &r->pipeline, err);
	if (rc == -ERR_FORMAT)
		add_input_names(err);

	if (!rc && r->header_only)
		return show_header(p, err);
	if (!rc)
		rc = load(r, p, err);
	if (!rc && r->fetch)
		rc = fetch_for_profile(p, &r->pipeline, r->fetch, &r->watch, err);
	if (!rc)
		rc = pipeline_symbolize(p, &r->pipeline, err);
	start = seconds_now();
	if (!rc)
		rc = profiles_bound(r, r->pipeline.input, p->profile, err);
	if (!rc)
		r->output.lost = perf_lost(perf_file_stats(p->file));
	if (!rc && r->explain && !explain_address(p, r->explain_ip, stdout))
		rc = err_set(err, ERR_NOT_FOUND, input_name(r->pipeline.input),
			     "no stack holds the address %#llx (as script prints it)",
			     (unsigned long long)r->explain_ip);
	else if (!rc)
		rc = r->explain ? args_flush(stdout, STDOUT_NAME, err)
				: write_result(r, p->profile, err);
	if (rc)
		return rc;
	if (!r->quiet && !r->explain)
		report_other_events(r, p->profile);
	r->is_poor = print_hints(p, input_name(r->pipeline.input), r->quiet ? NULL : stderr);
	if (!r->quiet && !r->fetch)
		fetch_advice(p, stderr);
	if (r->interrupted)
		fprintf(stderr,
			"resolve: interrupted: the output holds what was read until then\n");
	if (r->pipeline.verify_every)
		verify_report(&p->verify, stderr);
	rc = report_quality(r, p, seconds_now() - start, err);
	if (rc)
		return rc;
	if (!stop_requested)
		keep_compiled(r, p);
	return 0;
}

/* nohup's wish is respected. */
static void catch_ends(void)
{
	static const int ends[] = {SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_end, .sa_flags = SA_RESTART}, before;

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (!sigaction(ends[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(ends[i], &sa, NULL);
}

int main(int argc, char **argv)
{
	/* With SA_RESTART, because stdio gives up at EINTR, and an interrupt must not lose output.
	 */
	struct sigaction sa = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
	struct resolve r = {0};
	struct pipeline p = {0};
	struct err err = {0};
	int code, flushed, rc;

	args_hold_standard_files();
	args_fail_at_file_limit();
	rc = resolve_options(&r, argc, argv, &err);
	if (r.header_only || r.explain)
		clean_stdout();
	r.pipeline.stop = &stop_requested;
	if (r.quiet)
		progress_off();
	fetch_watch_init(&r.watch, &fetching, &stop_requested, r.quiet);
	if (r.fetch)
		r.pipeline.modules.fetch = &r.watch.options;
	sigaction(SIGINT, &sa, NULL);
	catch_ends();
	if (!rc)
		rc = run(&r, &p, &err);
	errno = 0;
	flushed = rc < 0 ? 0 : args_flush(stdout, STDOUT_NAME, &err);
	rc = flushed ? flushed : rc;
	if (rc < 0) {
		args_complain("resolve", &err);
		code = EXIT_TROUBLE;
	} else {
		code = rc || r.header_only ? EXIT_FINE : exit_code(&r, &p);
	}
	pipeline_done(&p);
	resolve_options_done(&r);
	fetch_watch_done(&r.watch);
	return code;
}
