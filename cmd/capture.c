/* capture.c - the command capture: records once, or in parts, and prints a summary. */
#include "cmd/capture_options.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cmd/args.h"

#define EXIT_TROUBLE  2
#define SAME_SIGNAL_S .1

/* Written by the signal handler, as is what belongs to it below. */
static volatile int stop_signal;
/* Set by SIGUSR2 with --snapshot. */
static volatile int snapshot_asked;
/* Set by SIGUSR2 with --switch-output. */
static volatile int part_asked;
/* Not 0 while the bundle is made, after which nothing else is left to do but to end the command:
 * its process, or 1. */
static volatile int bundling;
/* While there are probes in the kernel. */
static volatile int probing;
static volatile double first_signal_s;
static volatile int n_signals; /* that came later */
/* Printed where the second signal ends it; complete before `bundling` is positive. */
static char last_words[PATH_MAX + 512];
static volatile int late_signal; /* that came while the bundle was written */

static void end_at_once(int sig) __attribute__((noreturn));

static void end_at_once(int sig)
{
	if (bundling > 1)
		kill(bundling, SIGTERM);
	if (bundling && write(STDERR_FILENO, last_words, strlen(last_words)) < 0)
		_exit(128 + sig);
	_exit(128 + sig);
}

/* The second signal ends at once; the file is valid up to its last block. `timeout` sends two, to
 * the process and to its group: what comes so soon is no second one. Probes would stay in the
 * kernel, so they are waited for, unless there is a third signal. A bundle that is being written
 * already is written to its end. */
static void on_signal(int sig)
{
	static const char waits[] = "capture: waiting for its probes to be removed; once more "
				    "leaves them in the kernel\n";

	if (!stop_signal) {
		first_signal_s = clock_seconds();
		n_signals = 0;
		stop_signal = sig;
		return;
	}
	if (clock_seconds() - first_signal_s < SAME_SIGNAL_S)
		return;
	if (probing && !n_signals++ && write(STDERR_FILENO, waits, sizeof waits - 1) > 0)
		return;
	late_signal = sig;
	if (bundling >= 0)
		end_at_once(sig);
}

static void on_snapshot(int sig)
{
	(void)sig;
	snapshot_asked = 1;
}

static void on_part(int sig)
{
	(void)sig;
	part_asked = 1;
}

static void on_nothing(int sig)
{
	(void)sig;
}

/* ---- words --------------------------------------------------------------------------------- */

static void print_size(FILE *out, uint64_t bytes)
{
	if (bytes < 100 * 1000)
		fprintf(out, "%.1f kB", (double)bytes / 1e3);
	else
		fprintf(out, "%.1f MB", (double)bytes / 1e6);
}

/* Of parts that follow each other for months, the last so many notes are known. */
enum { SAID_MAX = 4096 };

/* A recording in parts says of each the same, of a process that lives for long. */
static bool was_said(struct capture_args *a, const char *note)
{
	const uint64_t key = hash_bytes(note, strlen(note));

	if (hash_get(&a->said, key) != HASH_NONE)
		return true;
	if (a->said.n >= SAID_MAX)
		hash_done(&a->said);
	(void)hash_put(&a->said, key, 1); /* without memory it is said again */
	return false;
}

/* Those that were not printed yet. */
static void print_notes(struct capture_args *a, const struct capture_result *r)
{
	for (; a->n_said < r->n_notes; a->n_said++)
		if (!was_said(a, r->notes[a->n_said]))
			fprintf(stderr, "capture: %s\n", r->notes[a->n_said]);
}

/* Before it is waited for: a wrong recording need not go on. */
static void on_begin(void *args, const struct capture_result *r)
{
	print_notes(args, r);
	if (isatty(STDERR_FILENO) && ((struct capture_args *)args)->opt.snapshot_s)
		fprintf(stderr, "capture: recording; ^C ends it, kill -USR2 %d writes a snapshot\n",
			(int)getpid());
	else if (isatty(STDERR_FILENO))
		fprintf(stderr, "capture: recording; ^C ends it\n");
}

static const char *snapshot_path(void *args)
{
	struct capture_args *a = args;

	return parts_next(&a->parts, a->opt.output);
}

static void on_snapshot_written(void *args, const struct capture_snapshot *s)
{
	(void)args;
	if (s->problem) {
		fprintf(stderr, "capture: snapshot: %s\n", s->problem);
		return;
	}
	fprintf(stderr, "[ capture: snapshot (%s): the last %.1f s, %llu samples, %llu lost, ",
		s->why, s->seconds, (unsigned long long)s->samples, (unsigned long long)s->lost);
	print_size(stderr, s->bytes);
	fprintf(stderr, " %s ]\n", s->path);
}

static void print_totals(FILE *out, const char *path, const struct capture_result *r)
{
	fprintf(out, "[ capture: %llu samples of %s", (unsigned long long)r->samples, r->event);
	if (r->n_events > 1)
		fprintf(out, " and %zu more event%s", r->n_events - 1, &"s"[r->n_events == 2]);
	fprintf(out, ", %llu lost", (unsigned long long)r->lost);
	if (r->bare_waits)
		fprintf(out, ", %llu waits without one", (unsigned long long)r->bare_waits);
	if (r->lost_sideband)
		fprintf(out, " (and %llu records about processes)",
			(unsigned long long)r->lost_sideband);
	if (r->user_stacks)
		fprintf(out, ", %.1f %% of the stack copies full at %u bytes",
			100.0 * (double)r->truncated_stacks / (double)r->user_stacks,
			r->stack_bytes);
	fprintf(out, ", ");
	print_size(out, r->bytes_written);
	fprintf(out, " %s ]\n", path);
}

static void print_bundle(FILE *out, const struct capture_result *r)
{
	if (!r->bundle_bytes)
		return;
	fprintf(out, "[ capture: bundle of %zu modules, ", r->bundle_modules);
	print_size(out, r->bundle_bytes);
	fprintf(out, ", made in %.2f s ]\n", r->bundle_seconds);
}

static void print_summary(struct capture_args *a, const char *path, const struct capture_result *r)
{
	print_notes(a, r);
	if (a->said_summary)
		return;
	print_totals(stderr, path, r);
	print_bundle(stderr, r);
	if (!a->verbose)
		return;
	fprintf(stderr,
		"[ capture: counted %llu, throttled %llu times, %llu other records, "
		"%llu bytes before compression, rings of %zu KiB, %llu stack pages touched ]\n",
		(unsigned long long)r->period_total, (unsigned long long)r->throttled,
		(unsigned long long)r->other_records, (unsigned long long)r->raw_bytes,
		r->ring_bytes / 1024, (unsigned long long)r->touched_pages);
}

/* The command still runs, perhaps for hours. */
static void on_end(void *args, const struct capture_result *r)
{
	struct capture_args *a = args;

	print_summary(a, a->opt.output, r);
	a->said_summary = true;
}

/* What the second ^C prints, which ends the command, too: until the bundle is there, and from then
 * on, when a ^C is due that came while it was written. */
static void on_complete(void *args, const struct capture_result *r)
{
	const struct capture_args *a = args;
	FILE *out = fmemopen(last_words, sizeof last_words - 1, "w"); /* the last NUL stays */

	if (out && !a->quiet) {
		print_totals(out, a->opt.output, r);
		print_bundle(out, r);
	}
	if (out && !r->bundle_bytes)
		fprintf(out, "capture: the bundle is left out\n");
	if (out)
		fclose(out);
	else
		*last_words = '\0';
	if (bundling >= 0)
		return;
	bundling = -bundling;
	if (late_signal)
		end_at_once(late_signal);
}

static void say_line(void *arg, const char *line)
{
	fprintf(arg, "%s\n", line);
}

/* ---- main ---------------------------------------------------------------------------------- */

static void catch_signals(bool parts, bool snapshots)
{
	struct sigaction sa = {.sa_handler = on_signal};

	/* No SA_RESTART: poll() must come back. A pipe whose reader has ended ends the recording
	 * by EPIPE; SIG_IGN would remain after the command's exec. */
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = on_nothing}, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	/* It would end the process at once, and its probes would stay in the kernel. */
	sigaction(SIGQUIT, &sa, NULL);
	if (snapshots)
		sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_snapshot}, NULL);
	else if (parts)
		sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_part}, NULL);
	else /* it would end the process, and the file would have no end; perf ignores it, too */
		sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_nothing}, NULL);
	/* If the terminal goes away the recording ends and is kept; under nohup it goes on. */
	if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
		sigaction(SIGHUP, &sa, NULL);
}

/* Not if the command is what is recorded, because it may write to the terminal itself. */
static bool shows_progress(const struct capture_args *a)
{
	const struct capture_options *o = &a->opt;

	return !a->quiet && isatty(STDERR_FILENO) &&
	       (!o->command || o->system_wide || o->cgroup || o->n_pids || o->n_tids);
}

static void show_progress(void *unused, const struct capture_progress *p)
{
	(void)unused;
	fprintf(stderr, "\r[ capture: %.0f s, %llu samples, %llu lost, ", p->seconds,
		(unsigned long long)p->samples, (unsigned long long)p->lost);
	print_size(stderr, p->bytes);
	fprintf(stderr, " ]\033[K");
	fflush(stderr);
}

/* On a terminal a line that disappears, else one line. */
static void show_probes(void *arg, const char *event, size_t done, size_t n)
{
	struct capture_args *a = arg;
	const bool is_terminal = isatty(STDERR_FILENO);

	if (is_terminal && done < n)
		fprintf(stderr, "\r[ capture: %.60s: %zu of %zu places probed ]\033[K", event, done,
			n);
	else if (is_terminal)
		fprintf(stderr, "\r\033[K");
	else if (!a->said_probes)
		fprintf(stderr,
			"capture: %s: putting probes at %zu places, which takes the kernel a "
			"while\n",
			event, n);
	a->said_probes = true;
	fflush(stderr);
}

static int exit_status(const struct capture_options *o, const struct capture_result *r)
{
	if (!o->command)
		return 0;
	if (r->child_running)
		return 128 + SIGTERM;
	/* Which ended the recording before the command could take it, and capture's SIGTERM did. */
	if (WIFSIGNALED(r->child_status) && WTERMSIG(r->child_status) == SIGTERM && stop_signal)
		return 128 + stop_signal;
	if (WIFSIGNALED(r->child_status))
		return 128 + WTERMSIG(r->child_status);
	return WEXITSTATUS(r->child_status);
}

/* The file that is written from now on. */
static const char *next_part(void *args)
{
	struct capture_args *a = args;

	a->opt.output = parts_next(&a->parts, a->output);
	return a->opt.output;
}

static void on_part_written(void *args, const char *path, const struct capture_result *r)
{
	struct capture_args *a = args;

	if (shows_progress(a))
		fprintf(stderr, "\r\033[K");
	if (!a->quiet)
		print_summary(a, path, r);
	a->n_said = 0; /* each part has its own */
}

static int record_file(struct capture_args *a)
{
	const bool shows = shows_progress(a);
	struct capture_result result;
	struct err err = {0};
	int rc;

	/* With a command the recording ends by itself, and its output stands before the notes. */
	if (!a->quiet && !a->opt.command)
		a->opt.begun = on_begin;
	a->opt.progress_arg = a;
	a->opt.complete = on_complete;
	a->said_summary = false;
	if (!a->quiet) {
		a->opt.probes_made = show_probes;
		a->opt.ended = on_end;
	}
	if (shows)
		a->opt.progress = show_progress;
	rc = (a->stacks ? capture_stacks : capture_run)(&a->opt, &stop_signal, &result, &err);
	if (shows)
		fprintf(stderr, "\r\033[K");
	if (rc)
		args_complain("capture", &err);
	/* After a failure there is a file only if the recording had begun: then ring_bytes is set.
	 */
	if (!a->quiet && (!rc || result.ring_bytes))
		print_summary(a, a->opt.output, &result);
	return rc ? EXIT_TROUBLE : exit_status(&a->opt, &result);
}

static int record(struct capture_args *a)
{
	struct capture_options *o = &a->opt;

	catch_signals(a->parts.wanted, o->snapshot_s);
	o->snapshot_asked = &snapshot_asked;
	o->snapshot_path = snapshot_path;
	if (!a->quiet)
		o->snapshot_written = on_snapshot_written;
	if (a->parts.wanted || a->parts.dated) {
		a->output = o->output;
		if (!next_part(a)) {
			struct err err = {0};

			err_nomem(&err);
			args_complain("capture", &err);
			return EXIT_TROUBLE;
		}
	}
	if (a->parts.wanted) {
		o->next_part = next_part;
		o->part_written = on_part_written;
		o->part_asked = &part_asked;
		o->part_bytes = a->parts.bytes ? a->parts.bytes : o->max_bytes;
		o->part_s = a->parts.seconds;
		o->max_bytes = 0;
	}
	return record_file(a);
}

static int list(const struct capture_args *a)
{
	static char *const all[] = {NULL, NULL};
	char *const *what = a->opt.command ? a->opt.command : all;
	const struct capture_list_options opt = {
		.pid = a->opt.n_pids ? a->opt.pids[0] : 0,
		.verbose = a->verbose,
	};
	struct err err = {0};

	do {
		if (capture_list(*what, &opt, say_line, stdout, &err)) {
			args_complain("capture", &err);
			return EXIT_TROUBLE;
		}
	} while (*what && *++what);
	return 0;
}

int main(int argc, char **argv)
{
	struct capture_args a = {.opt = {.frequency_hz = 99,
					 .output = "perf.data",
					 .bundle = CAPTURE_BUNDLE_UNSET,
					 .bundle_max = 64 << 20,
					 .bundling = &bundling,
					 .probing = &probing}};
	struct err err = {0};
	int rc;

	args_hold_standard_files();
	args_fail_at_file_limit();
	rc = capture_args_parse(&a, argc, argv, &err);
	if (rc < 0) {
		args_complain("capture", &err);
		rc = EXIT_TROUBLE;
	} else if (rc) {
		rc = 0;
	} else if (a.list) {
		rc = list(&a);
	} else if (a.check) {
		capture_check(say_line, stdout);
	} else {
		rc = record(&a);
	}
	errno = 0;
	if (rc != EXIT_TROUBLE && args_flush(stdout, "standard output", &err)) {
		args_complain("capture", &err);
		rc = EXIT_TROUBLE;
	}
	capture_args_done(&a);
	return rc;
}
