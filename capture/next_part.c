/* next_part.c - ends the file of a part, and begins the next. */
#include "capture/next_part.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/write_all.h"
#include "capture/account.h"
#include "capture/recording.h"
#include "capture/switch_event.h"

/* What the process that ends a file tells. */
struct report {
	struct capture_result result;
	int rc;
	char problem[512];
};

static uint64_t length_ns(const struct recording *r)
{
	return (uint64_t)(r->opt->part_s * 1e9);
}

void next_part_begin(struct recording *r)
{
	if (r->opt->next_part && length_ns(r))
		r->next.end_ns = r->first_ns + length_ns(r);
}

static bool is_due(const struct recording *r, uint64_t now)
{
	const struct capture_options *o = r->opt;

	return (o->part_asked && *o->part_asked) || (r->next.end_ns && now >= r->next.end_ns) ||
	       (o->part_bytes && recording_bytes(r) >= o->part_bytes);
}

/* ---- the end of a file --------------------------------------------------------------------- */

static void finish(struct recording *r, uint64_t end_ns, int fd) __attribute__((noreturn));

/* In the process of its own, which what ends the recording does not end. */
static void finish(struct recording *r, uint64_t end_ns, int fd)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2};
	struct capture_options o = *r->opt;
	struct report report = {0};
	struct err err = {0};
	int rc = 0;

	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	o.bundling = NULL;
	r->opt = &o;
	if (r->drain.switched)
		rc = recording_end_switches(r, r->first_ns, end_ns, &err);
	report.rc = recording_finish_file(r, rc, &err);
	recording_add_notes(r);
	if (report.rc)
		err_format(&err, report.problem, sizeof report.problem);
	report.result = *r->result;
	_exit(write_all(fd, &report, sizeof report) ? 1 : 0);
}

static int fork_finisher(struct recording *r, uint64_t end_ns, struct err *err)
{
	struct next_part *p = &r->next;
	int fd;
	const pid_t pid = recording_fork(r, &fd, err);

	if (pid < 0)
		return pid;
	if (!pid)
		finish(r, end_ns, fd);
	p->finisher = pid;
	p->report_fd = fd;
	p->path = r->file.path;
	return 0;
}

/* Returns 0, or what has failed there. */
static int take_report(struct recording *r, struct err *err)
{
	struct next_part *p = &r->next;
	struct report report = {0};
	const bool is_whole = recording_read_report(&p->report_fd, &report, sizeof report);

	p->finisher = 0;
	if (!is_whole)
		return err_set(err, ERR_IO, p->path,
			       "the process that was to end this part was killed: it lacks what "
			       "the end of a file has");
	if (r->opt->part_written)
		r->opt->part_written(r->opt->progress_arg, p->path, &report.result);
	return report.rc ? err_set(err, (enum err_code) - report.rc, NULL, "%s", report.problem)
			 : 0;
}

int next_part_wait(struct recording *r, struct err *err)
{
	if (!r->next.finisher)
		return 0;
	while (waitpid(r->next.finisher, NULL, 0) < 0 && errno == EINTR)
		;
	return take_report(r, err);
}

/* ---- the beginning of the next -------------------------------------------------------------- */

/* The past goes on: what is dropped from the copy is what has ended. */
static int put_past(struct recording *r, struct err *err)
{
	const struct bytes *now = &r->next.past.records;
	struct past past = {0};
	int rc = now->failed ? -1 : 0;

	bytes_put(&past.records, now->vec.v, now->vec.n);
	if (!rc)
		rc = past_settle(&past);
	for (size_t at = 0; at < past.records.vec.n && !rc;) {
		const uint8_t *rec = past.records.vec.v + at;
		struct perf_event_header h;

		memcpy(&h, rec, sizeof h);
		rc = file_ids_note(&r->drain.file_ids, rec, h.size) ||
		     record_writer_append(r->drain.writer, rec, h.size);
		r->result->other_records++;
		at += h.size;
	}
	past_done(&past);
	if (!rc)
		rc = past_compact(&r->next.past) || recording_synthesize_cgroups(r);
	return rc ? err_nomem(err) : 0;
}

/* Where records about processes were lost, /proc knows better. */
static int put_processes(struct recording *r, bool has_lost, struct err *err)
{
	if (!has_lost)
		return put_past(r, err);
	past_done(&r->next.past);
	return recording_synthesize(r, err);
}

static void begin_facts(struct recording *r)
{
	struct perfdata_facts *f = &r->facts;

	f->first_sample_ns = f->last_sample_ns = f->end_ns = 0;
	f->raw_bytes = f->data_bytes = 0;
	f->clock_wall_ns = clock_ns_of(CLOCK_REALTIME);
	f->clock_ns = clock_ns();
}

/* The file is r->file. */
static int begin_part(struct recording *r, uint64_t begin_ns, bool has_lost, struct err *err)
{
	int rc;

	drain_begin_part(&r->drain);
	begin_facts(r);
	r->begin_ns = r->first_ns = r->round_start_ns = begin_ns;
	r->hits_before = 0;
	r->processors.is_said = r->processors.is_said_missing = false;
	r->next.end_ns = length_ns(r) ? begin_ns + length_ns(r) : 0;
	recording_fill_result(r);
	rc = recording_start_writer(r, err);
	if (!rc)
		rc = put_processes(r, has_lost, err);
	if (!rc && r->drain.switched)
		rc = switch_mark_time(&r->drain, begin_ns, err);
	if (!rc && r->drain.switched)
		rc = switch_mark_members(&r->drain, begin_ns, err);
	return rc;
}

/* Ends the data of this part. What is in the rings by then belongs to it. */
static int end_data(struct recording *r, struct err *err)
{
	int rc = recording_account(r, err);

	if (!rc && record_writer_end_round(r->drain.writer))
		rc = err_nomem(err);
	record_writer_flush(r->drain.writer);
	return rc;
}

static int go_on(struct recording *r, struct perfdata *next, uint64_t begin_ns, struct err *err)
{
	bool has_lost;
	int rc = end_data(r, err);

	r->facts.end_ns = clock_ns();
	if (!rc)
		rc = fork_finisher(r, r->facts.end_ns, err);
	if (rc) {
		perfdata_discard(next);
		return rc;
	}
	runtime_watch_forget(r->drain.runtimes, begin_ns);
	runtime_watch_begin_file(r->drain.runtimes);
	has_lost = r->result->lost_sideband != 0;
	record_writer_leave(r->drain.writer);
	r->drain.writer = NULL;
	rc = perfdata_close(&r->file, err);
	r->file = *next;
	return rc ? rc : begin_part(r, begin_ns, has_lost, err);
}

/* Of the moments between the two times both parts have something: the rings are read one after the
 * other. */
static int switch_parts(struct recording *r, struct err *err)
{
	struct perfdata next = {.fd = -1};
	const char *path;
	bool complete;
	uint64_t begin_ns;
	int rc = drain_all(&r->drain, &complete, err);

	if (rc || !complete)
		return rc; /* the disk is slow: later */
	begin_ns = clock_ns();
	rc = drain_all(&r->drain, &complete, err);
	if (rc || !complete || record_writer_error(r->drain.writer))
		return rc;
	path = r->opt->next_part(r->opt->progress_arg);
	if (!path)
		return err_nomem(err);
	rc = perfdata_create(&next, path, err);
	if (rc)
		return rc;
	if (r->opt->part_asked)
		*r->opt->part_asked = 0;
	return go_on(r, &next, begin_ns, err);
}

int next_part_look(struct recording *r, uint64_t now, struct err *err)
{
	struct next_part *p = &r->next;
	int rc = 0;

	if (!r->opt->next_part)
		return 0;
	if (p->finisher && waitpid(p->finisher, NULL, WNOHANG))
		rc = take_report(r, err);
	if (!rc && past_compact(&p->past))
		rc = err_nomem(err);
	return rc || p->finisher || !is_due(r, now) ? rc : switch_parts(r, err);
}

void next_part_done(struct next_part *p)
{
	if (p->report_fd >= 0)
		close(p->report_fd);
	past_done(&p->past);
}
