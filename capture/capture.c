/* capture.c - one recording from start to end. */
#include "capture/capture.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "base/pages.h"
#include "capture/account.h"
#include "capture/child.h"
#include "capture/drain.h"
#include "capture/perfdata.h"
#include "capture/priority.h"
#include "capture/probe_maps.h"
#include "capture/record_writer.h"
#include "capture/recording.h"
#include "capture/session.h"
#include "capture/switch_event.h"
#include "capture/syscall_event.h"
#include "capture/tracing_data.h"

#define COMPRESS_LEVEL 1
#define ROUND_BYTES    ((size_t)512 << 10) /* a round is closed when it has this many bytes ... */
#define ROUND_NS       1000000000ull	   /* ... or is this old */
/* Those of the beginning are shorter, so that a recording that is killed has all but a twentieth.
 */
#define ROUND_MIN_NS  100000000ull
#define ROUND_SHARE   20
#define GIVE_BACK_NS  10000000000ull
#define PROGRESS_NS   1000000000ull
#define THREAD_MS     1 /* between the records that a thread's start makes */
#define CHILD_STOP_MS 2000

/* ---- start ------------------------------------------------------------------------------- */

static int check_options(const struct capture_options *o, struct err *err)
{
	if (!o->frequency_hz && !o->period)
		return err_set(err, ERR_USAGE, NULL, "a frequency or a period is needed");
	if ((o->system_wide || o->cgroup) && (o->n_pids || o->n_tids))
		return err_set(err, ERR_USAGE, NULL,
			       "-a and --cgroup cannot go together with -p and -t");
	return 0;
}

static int describe_events(struct recording *r, struct err *err)
{
	const struct session *s = &r->session;
	int rc;

	for (size_t i = 0; i <= s->n_events; i++) {
		struct perfdata_event *e = &r->file_events[i];

		*e = (struct perfdata_event){.name = s->events[i].name, .attr = &s->attrs[i]};
		if (s->events[i].is_probe) /* a pointer that only the kernel has read */
			r->session.attrs[i].config1 = 0;
		e->ids = session_event_ids(s, i, &e->n_ids);
		r->facts.n_events = i + 1;
		if (!e->ids)
			return err_nomem(err);
	}
	rc = tracing_data(s->events, s->n_events, s->probes.tracefs, &r->tracing, err);
	if (rc)
		return rc;
	r->facts.tracing_data = r->tracing.vec.v;
	r->facts.n_tracing_data = r->tracing.vec.n;
	r->facts.events = r->file_events;
	r->facts.argv = r->opt->recorder_argv;
	r->facts.argc = r->opt->recorder_argc;
	r->facts.compress_level = r->opt->no_compress ? 0 : COMPRESS_LEVEL;
	r->facts.has_clock = ATTR_HAS(s->policy.features, CLOCKID);
	r->facts.clock_wall_ns = clock_ns_of(CLOCK_REALTIME);
	r->facts.clock_ns = clock_ns_of(ATTR_CLOCK);
	return 0;
}

/* ---- the loop ------------------------------------------------------------------------------ */

/* A snapshot is as exact as its rounds are short. */
static uint64_t round_ns(const struct recording *r, uint64_t now)
{
	const uint64_t share = (now - r->begin_ns) / ROUND_SHARE;
	const uint64_t ns = share < ROUND_MIN_NS ? ROUND_MIN_NS
			    : share < ROUND_NS	 ? share
						 : ROUND_NS;
	const uint64_t part = r->flight.window.length_ns / WINDOW_SEGMENTS / 2;

	return r->flight.on && part < ns ? part : ns;
}

/* Code that was read meanwhile. Returns 0, or -1 when out of memory. */
static int put_code(struct recording *r)
{
	struct bytes records = {0};
	struct perf_event_header h;
	int rc = 0;

	runtime_watch_take(r->drain.runtimes, &records);
	if (records.failed)
		records.vec.n = 0;
	for (size_t at = 0; at < records.vec.n && !rc; at += h.size) {
		memcpy(&h, records.vec.v + at, sizeof h);
		rc = record_writer_append_packed(r->drain.writer, records.vec.v + at, h.size);
	}
	bytes_done(&records);
	return rc;
}

static int drain_round(struct recording *r, uint64_t now, struct err *err)
{
	size_t pending;
	bool complete;
	int rc = drain_all(&r->drain, &complete, err);

	if (rc)
		return rc;
	r->behind = !complete;
	pending = record_writer_round_bytes(r->drain.writer);
	if (!complete || (pending < ROUND_BYTES && now - r->round_start_ns < round_ns(r, now)))
		return 0;
	r->round_start_ns = now;
	if (now >= r->give_back_ns) {
		pages_give_back();
		r->give_back_ns = now + GIVE_BACK_NS;
	}
	if (!r->flight.on && put_code(r))
		return err_nomem(err);
	return record_writer_end_round(r->drain.writer) ? err_nomem(err) : 0;
}

/* With touching, each beginning and end of a thread wakes us (RING_ALARM), and what comes together
 * with it is read in one round. Where it was not of threads, the next ones are read when poll()
 * times out. While processes begin, and no threads, that takes longer and longer: each has ended
 * before its stack was read, and waking up for all of them costs as much as they do. */
static int wait_and_drain(struct recording *r, struct err *err)
{
	uint64_t threads = r->drain.touch.threads, others = r->drain.sideband_records;
	uint64_t forks = r->drain.forks;
	bool woken = recording_wait(r) && r->drain.touches;
	int rc;

	if (woken)
		poll(NULL, 0, THREAD_MS);
	rc = drain_round(r, clock_ns(), err);
	r->skips_sideband =
		woken && r->drain.touch.threads == threads && r->drain.sideband_records != others;
	if (r->drain.touch.threads != threads)
		r->patience = 0;
	else if (r->drain.forks != forks && r->patience < PATIENCE_MAX)
		r->patience++;
	else if (r->drain.forks == forks && !woken)
		r->patience = 0;
	return rc;
}

uint64_t recording_bytes(const struct recording *r)
{
	if (r->flight.on)
		return r->flight.window.bytes;
	return r->file.data_off + record_writer_data_bytes(r->drain.writer);
}

static bool is_full(const struct recording *r)
{
	return r->opt->max_bytes && !r->flight.on && recording_bytes(r) >= r->opt->max_bytes;
}

enum { HIT_RATE_NS = 250 * 1000 * 1000 };

/* Do the probes cost more than they may? Each hit stops the thread for some microseconds: where
 * millions come, the program does hardly anything else. */
static bool hits_too_often(struct recording *r, uint64_t now)
{
	const uint64_t limit = r->opt->max_hit_rate, period = r->opt->period ? r->opt->period : 1;
	uint64_t hits, ns = now - r->hits_ns;

	if (!limit || !r->has_probes || ns < HIT_RATE_NS)
		return false;
	hits = (r->result->samples - r->hits_before) * period * (uint64_t)1000000000 / ns;
	r->hits_ns = now;
	r->hits_before = r->result->samples;
	if (hits <= limit)
		return false;
	r->hit_too_often = true;
	capture_note(r->result,
		     "ended by --max-hit-rate: the probes were hit %llu times a second; they are "
		     "removed, and what ran goes on without them; %s",
		     (unsigned long long)hits,
		     r->opt->alloc_bytes ? "--alloc counts each call: -e uprobe:libc.so.6:malloc "
					   "-c 1000 takes each 1000th"
					 : "-c N keeps each Nth hit, --filter those that matter");
	return true;
}

/* The end of -D. The window of a flight recorder gets, at its end, what waited. Without memory the
 * writer fails, too. */
static void begin_late(struct recording *r, uint64_t now)
{
	r->enable_ns = 0;
	if (r->drain.switched)
		switch_mark_pause(&r->drain, false, now, NULL);
	if (r->drain.switched)
		switch_mark_members(&r->drain, now, NULL);
	if (r->drain.switched && r->session.command_pid && !r->flight.on)
		switch_begin_sleepers(&r->drain, now, NULL);
	session_enable(&r->session, RING_SAMPLES, true);
	syscall_begin(&r->session);
}

/* True when the recording is over. */
static bool is_over(struct recording *r, uint64_t now)
{
	if (r->enable_ns && now >= r->enable_ns)
		begin_late(r, now);
	if (*r->stop) {
		r->result->interrupted = true;
		return true;
	}
	if (!r->child_ended && child_reap(&r->child, &r->result->child_status))
		r->child_ended = true;
	r->result->reached_limit = (r->end_ns && now >= r->end_ns) || is_full(r);
	if (hits_too_often(r, now))
		return true;
	return r->child_ended || r->result->reached_limit || (!r->n_polled && !r->child.pid) ||
	       record_writer_error(r->drain.writer);
}

static int begin(struct recording *r, struct err *err)
{
	const struct capture_options *o = r->opt;
	uint64_t now;
	int rc = 0;

	/* The reader must run as soon as a ring fills: at rates where a fair share of a CPU loses
	 * samples, this loses none. */
	rc = priority_raise(o->realtime);
	if (rc && o->realtime)
		return err_set(err, ERR_PERMISSION, NULL,
			       "--realtime %d: this needs root (CAP_SYS_NICE), or ulimit -r %d: %s",
			       o->realtime, o->realtime, strerror(-rc));
	rc = 0;
	now = clock_ns();
	if (r->drain.switched && (o->delay_ms ? switch_mark_pause(&r->drain, true, now, err)
					      : switch_mark_time(&r->drain, now, err)))
		return -(int)err->code;
	if (r->drain.switched && !o->delay_ms && switch_mark_members(&r->drain, now, err))
		return -(int)err->code;
	if (o->delay_ms)
		r->enable_ns = now + o->delay_ms * 1000000ull;
	else if (!r->session.command_pid) { /* else its exec does it */
		session_enable(&r->session, RING_SAMPLES, true);
		syscall_begin(&r->session);
	}
	if (r->child.pid)
		rc = child_go(&r->child, o->command[0], err);
	if (o->duration_s > 0)
		r->end_ns = now + o->delay_ms * 1000000ull + (uint64_t)(o->duration_s * 1e9);
	r->round_start_ns = r->begin_ns = r->hits_ns = now;
	r->first_ns = now + o->delay_ms * 1000000ull;
	next_part_begin(r);
	for (size_t i = 0; i < r->session.n_events; i++)
		r->has_probes |= r->session.events[i].is_probe;
	r->progress_ns = now + PROGRESS_NS;
	return rc;
}

static void report_progress(struct recording *r, uint64_t now)
{
	struct capture_progress p = {
		.seconds = (double)(now - r->begin_ns) / 1e9,
		.samples = r->result->samples,
		.lost = r->drain.lost_reported,
		.bytes = recording_bytes(r),
	};

	if (!r->opt->progress || now < r->progress_ns)
		return;
	r->progress_ns = now + PROGRESS_NS;
	r->opt->progress(r->opt->progress_arg, &p);
}

static int loop(struct recording *r, struct err *err)
{
	int rc = 0;

	while (!rc && !is_over(r, clock_ns())) {
		rc = wait_and_drain(r, err);
		report_progress(r, clock_ns());
		pins_look(&r->drain.pins, clock_ns());
		exchange_look(&r->session.exchange);
		if (r->session.all_processes)
			processors_look(&r->processors, &r->session, r->enable_ns != 0, clock_ns());
		if (!rc)
			rc = flight_look(r, clock_ns(), err);
		if (!rc)
			rc = next_part_look(r, clock_ns(), err);
	}
	return rc;
}

/* ---- end ----------------------------------------------------------------------------------- */

int recording_end_switches(struct recording *r, uint64_t begin_ns, uint64_t end_ns, struct err *err)
{
	int rc = 0;

	if (begin_ns < r->first_ns)
		begin_ns = r->first_ns;
	/* A command is recorded from its beginning on, but a window is not, nor is a cgroup. */
	if (end_ns > begin_ns && (!r->session.command_pid || r->flight.on || r->opt->cgroup))
		rc = switch_add_sleepers(&r->drain, end_ns - begin_ns, end_ns, err);
	if (!rc)
		rc = switch_mark_leavers(&r->drain, end_ns, err);
	/* Each moment in between belongs to some wait. */
	r->drain.first_sample_ns = begin_ns;
	r->drain.last_sample_ns = end_ns;
	return rc ? rc : switch_mark_time(&r->drain, end_ns, err);
}

/* Drains the rest of the rings, and accounts the losses. */
static int drain_rest(struct recording *r, struct err *err)
{
	bool complete = false;
	uint64_t end_ns;
	int rc = 0;

	for (int k = 0; k < RING_KINDS; k++)
		session_enable(&r->session, k, false);
	r->drain.is_over = true;
	r->facts.end_ns = end_ns = clock_ns();
	/* Continues even if nothing can be written any more, to count what is lost. */
	while (!rc && !complete) {
		rc = drain_all(&r->drain, &complete, err);
		if (!complete)
			poll(NULL, 0, POLL_BEHIND_MS);
	}
	if (r->flight.on)
		return rc;
	if (!rc)
		rc = recording_account(r, err);
	if (!rc && r->drain.switched)
		rc = recording_end_switches(r, 0, end_ns, err);
	if (!rc && record_writer_end_round(r->drain.writer))
		rc = err_nomem(err);
	return rc;
}

static void stop_command(struct recording *r)
{
	struct capture_result *res = r->result;

	res->child_running = !child_stop(&r->child, CHILD_STOP_MS, &res->child_status);
	if (res->child_running)
		capture_note(res, "the command did not end at SIGTERM and still runs: process %d",
			     (int)r->child.pid);
}

/* Is the recording over, but not what the command does? That goes on at its own speed; but a
 * command that only says how long others are recorded, or feeds a pipe whose reader has ended,
 * ends. */
static bool command_goes_on(const struct recording *r, bool failed)
{
	return r->child.pid && !*r->stop &&
	       (r->hit_too_often || (failed && r->session.command_pid && !r->file.is_pipe));
}

/* It runs to its end, or until a signal ends capture. */
static void wait_for_command(struct recording *r)
{
	struct pollfd p = {.fd = r->child.pid_fd, .events = POLLIN};

	while (!*r->stop && !child_reap(&r->child, &r->result->child_status))
		poll(&p, 1, POLL_MS);
}

static void release(struct recording *r)
{
	child_done(&r->child);
	session_close(&r->session);
	bytes_done(&r->drain.held);
	touch_done(&r->drain.touch);
	alive_done(&r->drain.alive);
	runtime_watch_free(r->drain.runtimes);
	file_ids_done(&r->drain.file_ids);
	pins_done(&r->drain.pins);
	processes_done(&r->drain.processes);
	environs_done(&r->drain.environs);
	bytes_done(&r->tracing);
	hash_done(&r->switched);
	hash_done(&r->drain.members);
	flight_done(&r->flight);
	next_part_done(&r->next);
	for (size_t i = 0; i < r->facts.n_events; i++)
		free(r->file_events[i].ids);
	free(r->fds);
	free(r);
}

static uint64_t capabilities_of(const unsigned char *numbers, size_t n)
{
	uint64_t set = 0;

	for (size_t i = 0; i < n; i++)
		set |= 1ull << numbers[i];
	return set;
}

/* What is left to do: to read /proc of all tasks and the stacks of their threads, the kernel's
 * symbols, to finish the output in a folder of any user, and to stop the command. Numbers, because
 * older headers lack the last two. The command was started before, with all that there was. */
static int give_up_rights(struct err *err)
{
	static const unsigned char kept[] = {
		0,  1,	2,  3, /* CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER */
		5,	       /* KILL */
		19, 23, 34,    /* SYS_PTRACE, SYS_NICE, SYSLOG */
		38, 40,	       /* PERFMON, CHECKPOINT_RESTORE */
	};

	return capabilities_keep(capabilities_of(kept, sizeof kept))
		       ? err_errno(err, errno, NULL, "give up capabilities")
		       : 0;
}

static int end(struct recording *r, int rc, struct err *err)
{
	struct capture_result *res = r->result;
	const bool failed = !res->reached_limit && (rc || record_writer_error(r->drain.writer));
	struct err later;

	if (drain_rest(r, rc ? &later : err) && !rc)
		rc = -(int)err->code;
	priority_normal();
	if (r->hit_too_often && !r->flight.on) { /* before the bundle is made: the program waits */
		recording_note_changed_files(r);
		session_end_events(&r->session);
	}
	if (next_part_wait(r, rc ? &later : err) && !rc)
		rc = -(int)err->code;
	rc = r->flight.on ? flight_end(r, rc, err) : recording_finish_file(r, rc, err);
	recording_add_notes(r);
	if (command_goes_on(r, failed)) {
		if (failed)
			capture_note(res, "%s: the command goes on without being recorded",
				     err->what);
		session_end_events(&r->session);
		if (r->opt->ended)
			r->opt->ended(r->opt->progress_arg, res);
		wait_for_command(r);
	}
	if (r->child.pid)
		stop_command(r);
	else if (!res->lost_sideband && !r->hit_too_often)
		alive_report(&r->drain.alive, res);
	return rc;
}

/* Does everything before the first sample. On failure nothing is left behind. */
static int start(struct recording *r, struct err *err)
{
	const struct capture_options *o = r->opt;
	int rc = check_options(o, err);

	if (!rc)
		rc = flight_begin(r, err);
	if (!rc && o->command)
		rc = child_fork(&r->child, o->command, !strcmp(o->output, "-"), err);
	if (!rc)
		rc = session_open(&r->session, o, r->child.pid, r->stop, r->result, err);
	if (!rc && r->session.command_pid)
		setuid_report(*o->command, r->result);
	if (!rc)
		rc = describe_events(r, err);
	if (!rc)
		rc = recording_prepare_poll(r, err);
	if (!rc)
		rc = r->flight.on ? 0 : perfdata_create(&r->file, o->output, err);
	if (rc)
		return rc;
	rc = give_up_rights(err);
	if (rc) {
		perfdata_discard(&r->file);
		return rc;
	}
	rc = recording_start_writer(r, err);
	if (!rc && r->session.policy.call_graph == CALL_GRAPH_DWARF)
		rc = runtime_watch_new(&r->drain.runtimes, !r->opt->snapshot_s, err);
	if (!rc) {
		if (!r->session.command_pid)
			session_enable(&r->session, RING_SIDEBAND, true);
		rc = recording_synthesize(r, err);
	}
	if (!rc)
		rc = begin(r, err);
	if (rc) {
		struct record_writer_totals totals;

		record_writer_finish(r->drain.writer, &totals);
		perfdata_discard(&r->file);
	}
	return rc;
}

int capture_run(const struct capture_options *opt, volatile int *stop, struct capture_result *ret,
		struct err *err)
{
	struct recording *r = calloc(1, sizeof *r);
	int rc;

	*ret = (struct capture_result){0};
	if (!r)
		return err_nomem(err);
	pages_keep_few();
	*r = (struct recording){.opt = opt, .stop = stop, .result = ret, .file.fd = -1};
	r->child = (struct child){0, -1, -1};
	r->session.cgroup_fd = -1;
	r->flight.health.fd = r->flight.report_fd = -1;
	probe_events_init(&r->session.probes);
	r->drain.session = &r->session;
	touch_init(&r->drain.touch);
	r->drain.touches = !r->opt->no_touch && r->opt->call_graph == CALL_GRAPH_DWARF;
	r->drain.result = ret;
	r->next.report_fd = -1;
	r->drain.past = opt->next_part ? &r->next.past : NULL;
	if (opt->bundle) {
		pins_begin(&r->drain.pins);
		r->drain.processes.on = true;
		r->drain.processes.with_arguments = opt->keep_env;
	}
	if (!opt->keep_env && opt->call_graph == CALL_GRAPH_DWARF)
		environs_begin(&r->drain.environs);
	if (opt->off_cpu || opt->wall)
		r->drain.switched = &r->switched;
	r->drain.packs_switches = !opt->no_compress;
	rc = start(r, err);
	if (!rc) {
		recording_fill_result(r);
		if (opt->begun)
			opt->begun(opt->progress_arg, ret);
		rc = end(r, loop(r, err), err);
	}
	release(r);
	return rc;
}
