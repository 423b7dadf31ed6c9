/* flight.c - writes the window of a recording, now and at the end. */
#include "capture/flight.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/write_all.h"
#include "capture/account.h"
#include "capture/recording.h"
#include "capture/switch_event.h"

#define WINDOW_BYTES ((size_t)256 << 20) /* without --max-size */
#define LOOK_MIN_NS  1000000000ull

/* What a process that writes a snapshot tells. */
struct report {
	struct capture_snapshot shot;
	int rc;
	char problem[512];
};

int flight_begin(struct recording *r, struct err *err)
{
	const struct capture_options *o = r->opt;
	struct flight *f = &r->flight;
	int rc;

	if (!o->snapshot_s)
		return 0;
	f->on = true;
	f->window.length_ns = (uint64_t)o->snapshot_s * 1000000000;
	f->window.max_bytes = o->max_bytes ? (size_t)o->max_bytes : WINDOW_BYTES;
	if (o->snapshot_command) {
		rc = health_start(&f->health, o->snapshot_command, err);
		if (rc)
			return rc;
	}
	/* Now rather than when it is needed. */
	rc = perfdata_create(&r->file, o->output, err);
	if (!rc)
		perfdata_discard(&r->file);
	return rc;
}

/* ---- losses --------------------------------------------------------------------------------- */

/* The window's losses are those of now without those of its beginning. */
static void look_at_losses(struct recording *r, uint64_t now)
{
	struct flight *f = &r->flight;
	const uint64_t step = f->window.length_ns / WINDOW_SEGMENTS;
	size_t old = 0;

	f->look_ns = now + (step < LOOK_MIN_NS ? LOOK_MIN_NS : step);
	while (old + 1 < f->losses.n &&
	       f->losses.v[old + 1].time_ns + f->window.length_ns + step < now)
		old++;
	if (old) {
		f->losses.n -= old;
		memmove(f->losses.v, f->losses.v + old, f->losses.n * sizeof *f->losses.v);
	}
	/* Without memory the losses of a longer time are told. */
	(void)vec_push(&f->losses, (struct flight_lost){now, account_lost_now(&r->drain)});
}

static uint64_t lost_in_window(struct recording *r, uint64_t begin_ns)
{
	const struct flight *f = &r->flight;
	uint64_t before = 0;

	for (size_t i = 0; i < f->losses.n && f->losses.v[i].time_ns <= begin_ns; i++)
		before = f->losses.v[i].samples;
	return account_lost_now(&r->drain) - before;
}

/* ---- the file ------------------------------------------------------------------------------- */

static int append_losses(struct recording *r, uint64_t begin_ns, struct err *err)
{
	struct lost_samples rec;

	r->result->lost = lost_in_window(r, begin_ns);
	if (!r->result->lost)
		return 0;
	account_lost_record(&r->drain, &r->session.sets[RING_SAMPLES].counters.v[0],
			    r->result->lost, &rec);
	return record_writer_append(r->drain.writer, &rec, sizeof rec) ? err_nomem(err) : 0;
}

/* What was there before the events were on is no part of it. */
static uint64_t begin_of(const struct recording *r)
{
	const uint64_t begin_ns = window_begin_ns(&r->flight.window);

	return begin_ns > r->first_ns ? begin_ns : r->first_ns;
}

/* Writes the window, which ends now, to a file. */
static int write_window(struct recording *r, const char *path, uint64_t end_ns, struct err *err)
{
	struct record_writer_options to = {.end_ns = end_ns};
	struct window_totals has;
	uint64_t before, begin_ns;
	int rc = perfdata_create(&r->file, path, err);

	if (rc)
		return rc;
	rc = perfdata_begin(&r->file, &r->facts, err);
	if (!rc)
		rc = recording_file_options(r, &to, err);
	if (rc) {
		perfdata_discard(&r->file);
		return rc;
	}
	record_writer_spill(r->drain.writer, &to, &has);
	begin_ns = begin_of(r);
	before = r->result->samples;
	if (r->drain.switched)
		rc = recording_end_switches(r, begin_ns, end_ns, err);
	r->result->samples = has.samples + r->result->samples - before;
	if (has.first_sample_ns && !r->drain.switched)
		r->drain.first_sample_ns = has.first_sample_ns;
	if (!rc)
		rc = append_losses(r, begin_ns, err);
	return recording_finish_file(r, rc, err);
}

static void note_short_window(struct recording *r, uint64_t end_ns)
{
	const struct window *w = &r->flight.window;
	const uint64_t begin_ns = begin_of(r);

	if (w->cut_short && end_ns > begin_ns && end_ns - begin_ns < w->length_ns)
		capture_note(r->result,
			     "the snapshot has the last %.1f s: more than %zu MB were recorded in "
			     "%u s; --max-size is the bound",
			     (double)(end_ns - begin_ns) / 1e9, w->max_bytes >> 20,
			     r->opt->snapshot_s);
}

int flight_end(struct recording *r, int rc, struct err *err)
{
	const uint64_t end_ns = clock_ns();
	int status;

	if (r->flight.writer)
		while (waitpid(r->flight.writer, &status, 0) < 0 && errno == EINTR)
			;
	if (r->flight.writer)
		(void)flight_look(r, end_ns, NULL);
	if (rc) {
		struct record_writer_totals unused;

		record_writer_finish(r->drain.writer, &unused);
		r->drain.writer = NULL;
		return rc;
	}
	rc = write_window(r, r->opt->output, end_ns, err);
	note_short_window(r, end_ns);
	return rc;
}

/* ---- snapshots ------------------------------------------------------------------------------ */

static void write_snapshot(struct recording *r, const char *path, const char *why, int fd)
	__attribute__((noreturn));

/* In the process of its own. ^C at the terminal is for the recording. */
static void write_snapshot(struct recording *r, const char *path, const char *why, int fd)
{
	const uint64_t end_ns = clock_ns();
	uint64_t begin_ns;
	struct report report = {.shot = {.why = ""}};
	struct capture_options o = *r->opt;
	struct err err = {0};

	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	o.output = path;
	o.bundling = NULL;
	r->opt = &o;
	r->result->n_notes = 0;
	report.rc = write_window(r, path, end_ns, &err);
	begin_ns = begin_of(r);
	if (report.rc)
		err_format(&err, report.problem, sizeof report.problem);
	snprintf(report.shot.why, sizeof report.shot.why, "%s", why);
	snprintf(report.shot.path, sizeof report.shot.path, "%s", path);
	report.shot.samples = r->result->samples;
	report.shot.lost = r->result->lost;
	report.shot.bytes = r->result->bytes_written;
	report.shot.seconds = end_ns > begin_ns ? (double)(end_ns - begin_ns) / 1e9 : 0;
	_exit(write_all(fd, &report, sizeof report) ? 1 : 0);
}

static int begin_snapshot(struct recording *r, const char *why, struct err *err)
{
	const char *path = r->opt->snapshot_path(r->opt->progress_arg);
	struct flight *f = &r->flight;
	pid_t pid;
	int fd;

	if (!path || record_writer_end_round(r->drain.writer))
		return err_nomem(err);
	pid = recording_fork(r, &fd, err);
	if (pid < 0)
		return pid;
	if (!pid)
		write_snapshot(r, path, why, fd);
	f->writer = pid;
	f->report_fd = fd;
	return 0;
}

/* Tells of a snapshot that is written. */
static void end_snapshot(struct recording *r, bool waits)
{
	struct flight *f = &r->flight;
	struct report report = {0};

	if (!waits && !waitpid(f->writer, NULL, WNOHANG))
		return;
	if (!recording_read_report(&f->report_fd, &report, sizeof report)) {
		report = (struct report){.rc = -ERR_IO};
		snprintf(report.problem, sizeof report.problem,
			 "the process that wrote a snapshot was killed");
	}
	report.shot.problem = report.rc ? report.problem : NULL;
	f->writer = 0;
	if (r->opt->snapshot_written)
		r->opt->snapshot_written(r->opt->progress_arg, &report.shot);
}

/* What asks for a snapshot; NULL: nothing does. */
static const char *asks(struct recording *r, uint64_t now, enum health_state health)
{
	struct flight *f = &r->flight;
	volatile int *asked = r->opt->snapshot_asked;

	if (asked && *asked) {
		*asked = 0;
		return "SIGUSR2";
	}
	/* Windows of what happens by itself do not overlap. */
	if (f->last_ns && now - f->last_ns < f->window.length_ns) {
		r->drain.triggered = false;
		return NULL;
	}
	if (health != HEALTH_FAILS && !r->drain.triggered)
		return NULL;
	f->last_ns = now;
	if (health == HEALTH_FAILS)
		return r->opt->snapshot_command;
	r->drain.triggered = false;
	return r->opt->snapshot_event;
}

int flight_look(struct recording *r, uint64_t now, struct err *err)
{
	struct flight *f = &r->flight;
	enum health_state health;
	const char *why;

	if (!f->on)
		return 0;
	if (now >= f->look_ns) {
		look_at_losses(r, now);
		runtime_watch_forget(r->drain.runtimes, window_begin_ns(&f->window));
	}
	if (f->writer)
		end_snapshot(r, !err);
	if (f->writer || !err)
		return 0;
	health = health_look(&f->health);
	if (health == HEALTH_NO_COMMAND)
		return err_set(err, ERR_NOT_FOUND, NULL,
			       "--snapshot-on '%s fails': the shell cannot run it",
			       r->opt->snapshot_command);
	why = asks(r, now, health);
	return why ? begin_snapshot(r, why, err) : 0;
}

void flight_done(struct flight *f)
{
	if (f->report_fd > 0)
		close(f->report_fd);
	health_stop(&f->health);
	window_done(&f->window);
	vec_done(&f->losses);
}
