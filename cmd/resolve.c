/* resolve.c - the command `resolve`: makes a profile of recordings. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strtab.h"
#include "browse/browse.h"
#include "cmd/args.h"
#include "cmd/clean.h"
#include "cmd/confine.h"
#include "cmd/inputs.h"
#include "cmd/progress.h"
#include "cmd/resolve_options.h"
#include "cmd/watch.h"
#include "cmd/write.h"
#include "cmd/write_file.h"
#include "cut/cut.h"
#include "profile/profile.h"
#include "report/report.h"
#include "symbolize/symbolize.h"

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

/* What the signals do depends on what is going on. */
static struct load_listener watching;

static void on_begin(void *arg, enum load_step step, const char *path, const uint64_t *records)
{
	begun = 1;
	/* Other inputs are read to their end. */
	if (step == LOAD_LOOKS_FOR_BINARIES || (step == LOAD_READS && records))
		reading = 1;
	watching.begin(arg, step, path, records);
}

static void on_step_end(void *arg, enum load_step step)
{
	if (step == LOAD_READS)
		reading = 0;
	watching.end(arg, step);
}

static void listen_for_signals(struct load_options *opt)
{
	watching = opt->listener;
	opt->listener.begin = on_begin;
	opt->listener.end = on_step_end;
}

/* ---- running --------------------------------------------------------------------------- */

/* Two of a name differ in what they were recorded with. */
static void print_event(const struct profile *p, uint32_t event, uint32_t shown)
{
	const bool same = p->events.v[event].name == p->events.v[shown].name;

	fprintf(stderr, " %s%s (%" PRIu64 ")", same ? "another event " : "",
		strtab_get(&p->strings, p->events.v[event].name), p->events.v[event].samples);
}

/* If a format can show one event only, prints which others there are. */
static void report_other_events(const struct resolve *r, const struct profile *p)
{
	struct event_set events;
	uint32_t shown;
	size_t i;

	if (r->format->names_events || r->browses ||
	    (r->output.event && !r->format->one_event && !r->annotate))
		return;
	if (!event_set_make(&events, p, r->output.event, NULL) && events.n > 1) {
		shown = event_set_main(&events, p);
		fprintf(stderr, "resolve: %s: only the event %s is shown, which %s;",
			input_name(r->inputs.v[0]),
			strtab_get(&p->strings, p->events.v[shown].name),
			event_set_why_main(&events, p));
		for (i = 0; i < events.n && i < EVENTS_NAMED; i++)
			if (events.ids[i] != shown)
				print_event(p, events.ids[i], shown);
		if (i < events.n)
			fprintf(stderr, " and %zu more", events.n - i);
		fprintf(stderr, " %s: --event NAME%s\n", events.n > 2 ? "are not" : "is not",
			r->format->one_event || r->annotate ? "" : " or --event all");
	}
	event_set_done(&events);
}

/* Each hit costs the program time, and they are in no output of calls. */
static void report_jumps(const struct resolve *r, const struct profile *p)
{
	struct spans s = {0};
	size_t n_begin = 0, n_end = 0;

	for (size_t i = 0; r->format->lists_calls && i < p->log.n; i++) {
		const char *event = strtab_get(&p->strings, p->events.v[p->log.v[i].event].name);

		n_begin += span_role_of(event) == SPAN_BEGINS;
		n_end += span_role_of(event) == SPAN_ENDS;
	}
	if (n_end > 2 * n_begin && !spans_find(&s, p, NULL) && s.n_jumps_within > s.v.n)
		fprintf(stderr,
			"resolve: %s: %zu of %zu hits of ways out are jumps within functions (goto "
			"*p, as in interpreters), which are not shown\n",
			input_name(r->inputs.v[0]), s.n_jumps_within, n_end);
	spans_done(&s);
}

static int exit_code(const struct resolve *r)
{
	return r->damaged || r->interrupted || r->below || (r->strict && r->is_poor) ? EXIT_DAMAGED
										     : EXIT_FINE;
}

static void print_line(void *out, const char *line)
{
	fprintf(out, "%s\n", line);
}

static void print_unless_command(void *out, const char *line)
{
	if (strncmp(line, "# cmdline :", 11) != 0)
		print_line(out, line);
}

static int show_header(struct resolve *r, struct err *err)
{
	if (r->inputs.n > 1 || r->diff.paths[0].n)
		return err_set(err, ERR_USAGE, NULL,
			       "--header is for one recording: there are several inputs");
	return load_header(&r->load, r->inputs.v[0],
			   r->output.no_cmdline ? print_unless_command : print_line, stdout, err);
}

/* --unbundle */
static int lay_out(struct resolve *r, struct err *err)
{
	struct unbundle_report report;
	int rc = load_unbundle(r->inputs.v[0], r->unbundle_dir, &report, err);

	if (!rc && !r->quiet)
		fprintf(stderr, "resolve: %s: %zu files, by path%s\n", r->unbundle_dir,
			report.files,
			report.links_failed || report.no_id + report.twins == report.files
				? ""
				: " and by build id");
	if (!rc && report.no_id)
		fprintf(stderr,
			"resolve: %s: %zu of these have no build id: perf does not find them\n",
			r->unbundle_dir, report.no_id);
	if (!rc && report.twins)
		fprintf(stderr,
			"resolve: %s: %zu of these have the build id of another file, with other "
			"code: perf does not find them\n",
			r->unbundle_dir, report.twins);
	if (!rc && report.moved)
		fprintf(stderr,
			"resolve: %s: %zu of these are below .other: their path is too long, or "
			"leads elsewhere\n",
			r->unbundle_dir, report.moved);
	if (!rc && report.links_failed)
		fprintf(stderr,
			"resolve: %s: %zu links by build id could not be made: %s. Other tools "
			"find these files by their paths only\n",
			r->unbundle_dir, report.links_failed, strerror(report.link_errno));
	if (!rc && (report.damaged || report.lost))
		fprintf(stderr,
			"resolve: %s: of the files that it carries %zu are damaged, and %" PRIu64
			" bytes belong to none\n",
			r->inputs.v[0], report.damaged, report.lost);
	if (!rc && (report.links_failed || report.damaged || report.lost))
		rc = EXIT_DAMAGED;
	return rc;
}

/* Closes the output first, so that the reader of a pipe need not wait for the cache to be written.
 */
static void keep_compiled(const struct resolve *r, const struct loaded *p)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	if (null >= 0 && !r->output_path)
		dup2(null, STDOUT_FILENO);
	if (null >= 0)
		close(null);
	symbolizer_save(p->symbolizer);
}

static int report_quality(struct resolve *r, const struct loaded *p, double seconds_write,
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
	r->below = !requirements_met(&r->require, &q, "resolve", stderr);
	return 0;
}

struct annotating {
	const struct resolve *r;
	const struct loaded *in;
};

/* Of the browser, or of --annotate. */
static int annotate(void *what, const char *function, bool colours, FILE *out, struct err *err)
{
	const struct annotating *a = what;
	const struct output_options *o = &a->r->output;
	const struct annotate_options opt = {.function = function,
					     .event = o->event,
					     .count_samples = o->count_samples,
					     .source_dir = o->source_dir,
					     .source_root = o->source_root,
					     .full_paths = o->full_paths,
					     .colours = colours};

	return report_annotate(a->in, &opt, out, err);
}

static int annotate_for_browser(void *what, const char *function, FILE *out, struct err *err)
{
	return annotate(what, function, false, out, err);
}

static int annotate_to_file(void *what, FILE *out, struct err *err)
{
	const struct annotating *a = what;

	return annotate(what, a->r->annotate, false, out, err);
}

/* --annotate */
static int write_annotation(const struct resolve *r, const struct loaded *in, struct err *err)
{
	struct annotating a = {r, in};
	int rc;

	if (r->output_path)
		return write_file(r->output_path, PACK_NONE, annotate_to_file, &a, err);
	rc = annotate(&a, r->annotate, r->output.top.colours, stdout, err);
	return rc ? rc : args_flush(stdout, STDOUT_NAME, err);
}

/* ncurses' handler of interrupts restores the terminal. */
static int browse_profile(const struct resolve *r, const struct loaded *in, struct err *err)
{
	struct annotating a = {r, in};
	const char *base = r->output.diff.sides[0].name;
	struct browse_options opt = {.source = r->output.source,
				     .base = base ? base_name(base) : NULL,
				     .event = r->output.event,
				     .style = r->output.style,
				     .count_samples = r->output.count_samples,
				     .colours = r->output.top.colours,
				     .is_diff = r->output.diff.is_diff,
				     .annotate = in->file ? annotate_for_browser : NULL,
				     .annotate_arg = &a};

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	opt.style.keep_apart = true;
	return browse(in->profile, &opt, err);
}

struct portable {
	const struct load_options *load;
	struct loaded *in;
	struct cut_report report;
};

static int write_bundled(void *what, FILE *out, struct err *err)
{
	struct portable *p = what;

	return load_portable(p->load, p->in, out, &p->report, err);
}

/* Writes a recording that carries what it needs, and says what it could not take along. */
static int write_portable(const struct resolve *r, struct loaded *in, struct err *err)
{
	const size_t said = in->notes.n;
	struct portable p = {&r->load, in, {0}};
	int rc = write_file(r->output_path, PACK_NONE, write_bundled, &p, err);
	char *line, *rest = NULL;

	if (!rc && !r->quiet) {
		fprintf(stderr, "resolve: %s: with %zu module%s and %zu file%s of JIT compilers\n",
			r->output_path, p.report.modules, &"s"[p.report.modules == 1],
			p.report.files, &"s"[p.report.files == 1]);
		for (line = p.report.lacks ? strtok_r(p.report.lacks, "\n", &rest) : NULL; line;
		     line = strtok_r(NULL, "\n", &rest))
			fprintf(stderr, "resolve: not in it: %s\n", line);
		for (size_t i = said; i < in->notes.n; i++)
			fprintf(stderr, "resolve: %s: %s\n", input_name(in->path), in->notes.v[i]);
	}
	free(p.report.lacks);
	return rc;
}

/* Writes the profile, or what explains an address of it. */
static int write_answer(struct resolve *r, struct loaded *in, struct err *err)
{
	if (r->bundle)
		return write_portable(r, in, err);
	if (r->browses)
		return browse_profile(r, in, err);
	if (r->annotate)
		return write_annotation(r, in, err);
	if (!r->explain)
		return write_result(r, in->profile, err);
	if (!report_address(in, r->explain_ip, stdout))
		return err_set(err, ERR_NOT_FOUND, input_name(in->path),
			       "no stack holds the address %#llx (as script prints it)",
			       (unsigned long long)r->explain_ip);
	return args_flush(stdout, STDOUT_NAME, err);
}

/* What was asked for as a level, and is nowhere. */
static void report_no_label(const struct resolve *r, const struct profile *p)
{
	const char *by = r->output.style.by;
	struct profile_label l;

	for (size_t i = 0; by && i < p->samples.n; i++)
		if (profile_label_named(p, &p->samples.v[i], by, &l))
			return;
	if (by)
		fprintf(stderr, "resolve: --by: no sample has the label %s%s\n", by,
			!strcmp(by, "cgroup") ? "; capture --all-cgroups records it"
			: !strcmp(by, "data") ? "; capture -d -e page-faults records it"
			: !strncmp(by, "arg:", 4)
				? ": no parameter of that name, or its value is nowhere known"
				: "");
}

/* Samples of which it is not known whether they are as --where says. */
static void report_undecided(const struct loaded *in)
{
	if (in->undecided)
		fprintf(stderr,
			"resolve: --where: of %" PRIu64 " of %" PRIu64
			" samples that are left out the value is not known\n",
			in->undecided, in->filtered);
}

static void say_notes(struct resolve *r, struct loaded *in)
{
	if (!r->quiet && !r->explain)
		report_undecided(in);
	if (!r->quiet && !r->explain)
		report_no_label(r, in->profile);
	if (!r->quiet && !r->explain && r->output.top.symbols &&
	    r->format->honours & OUTPUT_SYMBOLS)
		report_missing(in->profile, r->output.top.symbols, stderr);
	if (!r->quiet && !r->explain)
		report_other_events(r, in->profile);
	if (!r->quiet && !r->explain)
		report_jumps(r, in->profile);
	if (in->file)
		input_hints(r, in);
}

/* What the format could not hold. */
static void report_too_large(struct resolve *r)
{
	if (!r->too_large)
		return;
	r->damaged = true;
	if (!r->quiet)
		fprintf(stderr,
			"resolve: %" PRIu64
			" value%s of 2^63 or more, which %s cannot hold: 2^63 - 1 stands for %s\n",
			r->too_large, &"s"[r->too_large == 1], r -> format -> name,
			r -> too_large == 1 ? "it" : "them");
}

static int run(struct resolve *r, struct loaded *in, struct err *err)
{
	bool notes_first;
	double start;
	int rc = inputs_load(r, in, err);

	reading = 0;
	if (rc)
		return rc;
	/* What is for a terminal stays in view if notes come before it. */
	notes_first = !r->output_path && isatty(STDOUT_FILENO);
	if (notes_first)
		say_notes(r, in);
	start = clock_seconds();
	r->output.too_large = &r->too_large;
	rc = write_answer(r, in, err);
	if (rc)
		return rc;
	report_too_large(r);
	if (!notes_first)
		say_notes(r, in);
	if (r->interrupted)
		fprintf(stderr,
			"resolve: interrupted: the output holds what was read until then\n");
	if (r->load.verify_every)
		report_verify(&in->verify, stderr);
	if (in->file)
		rc = report_quality(r, in, clock_seconds() - start, err);
	if (!rc && in->file && !stop_requested)
		keep_compiled(r, in);
	return rc;
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
	struct loaded in = {0};
	struct err err = {0};
	int code, flushed, rc;

	args_hold_standard_files();
	args_fail_at_file_limit();
	rc = resolve_options(&r, argc, argv, &err);
	if (r.header_only || r.explain)
		clean_stdout();
	if (r.quiet)
		progress_off();
	r.load.stop = &stop_requested;
	fetch_watch_init(&r.watch, "resolve", &fetching, &stop_requested, r.quiet);
	watch_loading(&r.load, &r.watch);
	listen_for_signals(&r.load);
	sigaction(SIGINT, &sa, NULL);
	catch_ends();
	if (!rc)
		rc = confine_resolve(&r, &err);
	if (!rc)
		rc = r.header_only    ? show_header(&r, &err)
		     : r.unbundle_dir ? lay_out(&r, &err)
				      : run(&r, &in, &err);
	errno = 0;
	flushed = rc < 0 ? 0 : args_flush(stdout, STDOUT_NAME, &err);
	rc = flushed ? flushed : rc;
	if (rc < 0) {
		args_complain("resolve", &err);
		code = EXIT_TROUBLE;
	} else {
		code = r.unbundle_dir ? rc : rc || r.header_only ? EXIT_FINE : exit_code(&r);
	}
	loaded_done(&in);
	resolve_options_done(&r);
	fetch_watch_done(&r.watch);
	return code;
}
