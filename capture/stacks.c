/* stacks.c - a recording of what all threads of some processes do now, whether they run or wait.
 *
 * It has the form of other recordings: one sample for each thread, with its registers, a copy of
 * its stack and its kernel frames. Nothing of it comes from perf_event_open, so it needs no rights
 * but those to trace the processes. */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/account.h"
#include "capture/attr.h"
#include "capture/bundle_pins.h"
#include "capture/bundle_processes.h"
#include "capture/bundle_write.h"
#include "capture/capture.h"
#include "capture/environs.h"
#include "capture/follow.h"
#include "capture/interrupted.h"
#include "capture/perfdata.h"
#include "capture/priority.h"
#include "capture/record_writer.h"
#include "capture/round_clock.h"
#include "capture/secrets.h"
#include "capture/session.h"
#include "capture/stack_batch.h"
#include "capture/synth.h"
#include "capture/targets.h"
#include "capture/thread_state.h"
#include "capture/untraced.h"
#include "reader/format.h"

#define COMPRESS_LEVEL 1
#define QUEUE_BYTES    ((size_t)64 << 20)
#define BATCH_BYTES    ((size_t)64 << 20)
#define STACK_ROOM_MAX 64000
#define SAMPLE_ID      1
#define HALT_NOTE_NS   1000000
#define CHOOSE_NS      250000000

struct stacks {
	const struct capture_options *opt;
	struct capture_result *result;
	volatile int *stop;
	struct perf_event_attr attr;
	struct perfdata file;
	struct perfdata_event event;
	struct perfdata_facts facts;
	struct record_writer *writer;
	struct thread_state thread;
	struct stack_batch batch; /* records of a round */
	struct environs environs;
	struct pins pins; /* of files that the bundle needs */
	struct processes seen;
	struct tid_list processes;
	uint64_t chosen_ns;
	struct follow follow;
	struct round_clock clock;
	size_t n_threads; /* of the last round */
	uint64_t longest_halt_ns, n_ended_waits, ids[1];
	struct untraced untraced;
};

/* Writes what has been read of a round so far. */
static int flush(struct stacks *s, struct err *err)
{
	return stack_batch_flush(&s->batch, s->writer) || record_writer_end_round(s->writer)
		       ? err_nomem(err)
		       : 0;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void count(struct stacks *s)
{
	const struct thread_state *t = &s->thread;

	s->result->samples++;
	s->result->user_stacks += t->abi != PERF_SAMPLE_REGS_ABI_NONE;
	s->result->truncated_stacks += t->stack_full;
	s->n_ended_waits += t->ended_wait;
	if (t->halted_ns > s->longest_halt_ns)
		s->longest_halt_ns = t->halted_ns;
	if (!s->facts.first_sample_ns)
		s->facts.first_sample_ns = t->time_ns;
	s->facts.last_sample_ns = t->time_ns;
}

static int take_thread(struct stacks *s, pid_t pid, pid_t tid, struct err *err)
{
	struct stack_sample sample;
	char state[4] = {0}; /* of the size that RAW parts have */
	int rc = thread_state_read(pid, tid, &s->thread);

	if (rc < 0)
		return untraced_add(&s->untraced, pid, tid, -rc, err);
	if (!rc)
		return 0;
	state[0] = s->thread.state;
	sample = (struct stack_sample){.id = SAMPLE_ID,
				       .period = s->attr.sample_period * s->clock.stands_for,
				       .pid = pid,
				       .tid = tid,
				       .cpu = (uint32_t)s->thread.cpu,
				       .raw = state,
				       .n_raw = sizeof state};
	if (!s->opt->keep_env && pid == tid && s->thread.n_stack)
		secrets_clear(s->thread.stack, s->thread.n_stack, s->thread.sp,
			      s->thread.abi == PERF_SAMPLE_REGS_ABI_32 ? 4 : 8);
	environs_hide(&s->environs, (uint32_t)pid, UINT64_MAX, (struct environ_bytes){0},
		      (struct environ_bytes){s->thread.stack, s->thread.n_stack});
	stack_batch_add(&s->batch, &s->thread, &sample);
	processes_note(&s->seen, (uint32_t)pid, UINT64_MAX);
	count(s);
	return s->batch.bytes.vec.n < BATCH_BYTES && !s->batch.bytes.failed ? 0 : flush(s, err);
}

static bool is_named(const struct stacks *s, pid_t tid)
{
	for (size_t i = 0; i < s->opt->n_tids; i++)
		if (s->opt->tids[i] == tid)
			return true;
	return !s->opt->n_tids;
}

static int take_process(struct stacks *s, pid_t pid, size_t *n, struct err *err)
{
	struct tid_list tids = {0};
	int rc = follow_changes(&s->follow, pid) ? err_nomem(err) : tid_list_scan(&tids, pid, err);

	for (size_t i = 0; i < tids.tids.n && rc >= 0; i++) {
		pid_t tid = tids.tids.v[i];

		if (tid == getpid() || !is_named(s, tid))
			continue;
		rc = follow_thread(&s->follow, pid, tid) ? err_nomem(err)
							 : take_thread(s, pid, tid, err);
		++*n;
	}
	tid_list_done(&tids);
	return rc < 0 ? rc : 0;
}

/* Returns how many threads there were, or negative. */
static ssize_t take_all(struct stacks *s, struct err *err)
{
	size_t n = 0;
	int rc = 0;

	(void)priority_raise(s->opt->realtime); /* a thread is halted as long as this one waits for
						   a processor */
	for (size_t i = 0; i < s->processes.tids.n && !rc; i++)
		rc = take_process(s, s->processes.tids.v[i], &n, err);
	priority_normal();
	if (!rc)
		rc = flush(s, err);
	return rc ? rc : (ssize_t)n;
}

static int choose(struct stacks *s, struct err *err)
{
	const struct capture_options *o = s->opt;
	int rc = 0;

	if (!o->n_pids && !o->n_tids && !o->system_wide)
		return err_set(err, ERR_USAGE, NULL, "--stacks: of which processes? -p PID, or -a");
	if (o->system_wide) {
		rc = tid_list_all(&s->processes, err);
		/* Most of these wait for work: in each round they would cost more than they say. */
		return rc || o->every_ms ? rc : tid_list_kernel(&s->processes, err);
	}
	for (size_t i = 0; i < o->n_pids + o->n_tids && rc >= 0; i++) {
		pid_t tid = i < o->n_pids ? o->pids[i] : o->tids[i - o->n_pids];
		pid_t pid = tid_process(tid);

		if (!pid && o->pids_may_end)
			continue;
		if (!pid)
			return err_set(err, ERR_NOT_FOUND, NULL, "%d: no such process", (int)tid);
		rc = tid_list_add(&s->processes, pid, err);
	}
	return rc < 0 ? rc : 0;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Of a clock each sample stands for the time between two rounds; else for one thread. */
static void fill_attr(struct stacks *s)
{
	struct perf_event_attr *a = &s->attr;

	a->size = ATTR_SIZE;
	a->type = PERF_TYPE_SOFTWARE;
	a->config = s->opt->every_ms ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY;
	a->sample_period = s->opt->every_ms ? s->opt->every_ms * 1000000ull : 1;
	a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
			 PERF_SAMPLE_STACK_USER;
	a->read_format = PERF_FORMAT_ID;
	a->sample_id_all = 1;
	a->exclude_callchain_user = 1;
	a->sample_regs_user = attr_user_regs();
	a->sample_stack_user = (uint32_t)s->thread.room;
	a->use_clockid = 1;
	a->clockid = ATTR_CLOCK;
}

static int emit(void *arg, const void *rec, size_t n)
{
	struct stacks *s = arg;

	s->result->other_records++;
	pins_note(&s->pins, rec, n);
	environs_note(&s->environs, rec, n); /* a program that is executed has another */
	return record_writer_append(s->writer, rec, n) ? -ERR_NOMEM : 0;
}

static int synthesize(struct stacks *s, struct err *err)
{
	struct synth *y = &s->follow.synth;
	bool hidden;
	int rc;

	*y = (struct synth){.proc = "/proc",
			    .sys = "/sys",
			    .modules = "/lib/modules",
			    .cache_dir = s->opt->cache.dir,
			    .emit = emit,
			    .arg = s,
			    .with_data = true};
	s->follow.emit = emit;
	s->follow.arg = s;
	s->follow.id = SAMPLE_ID;
	rc = synth_kernel(y, &hidden);
	if (!rc)
		rc = synth_modules(y);
	for (size_t i = 0; i < s->processes.tids.n && !rc; i++)
		rc = follow_process(&s->follow, s->processes.tids.v[i], false);
	return rc ? err_nomem(err) : 0;
}

static int begin_file(struct stacks *s, struct err *err)
{
	struct record_writer_options w = {.queue_bytes = QUEUE_BYTES};
	int rc;

	s->ids[0] = SAMPLE_ID;
	s->event = (struct perfdata_event){
		.name = s->opt->every_ms ? WALL_CLOCK_EVENT : STACKS_EVENT,
		.attr = &s->attr,
		.ids = s->ids,
		.n_ids = 1,
	};
	s->facts.events = &s->event;
	s->facts.n_events = 1;
	s->facts.argv = s->opt->recorder_argv;
	s->facts.argc = s->opt->recorder_argc;
	s->facts.has_clock = true;
	s->facts.clock_wall_ns = clock_ns_of(CLOCK_REALTIME);
	s->facts.clock_ns = clock_ns_of(ATTR_CLOCK);
	s->facts.compress_level = s->opt->no_compress ? 0 : COMPRESS_LEVEL;
	rc = perfdata_create(&s->file, s->opt->output, err);
	if (rc)
		return rc;
	rc = perfdata_begin(&s->file, &s->facts, err);
	if (!rc)
		rc = perfdata_writer_options(&s->file, &s->facts, &w, err);
	if (!rc)
		rc = record_writer_start(&s->writer, &w, err);
	if (rc)
		perfdata_discard(&s->file);
	return rc;
}

static int write_features(void *stacks, struct err *err)
{
	struct stacks *s = stacks;

	return perfdata_finish(&s->file, &s->facts, err);
}

static void add_bundle(struct stacks *s)
{
	const struct bundle_job job = {
		.opt = s->opt,
		.file = &s->file,
		.facts = &s->facts,
		.result = s->result,
		.pins = &s->pins,
		.processes = &s->seen,
		.finish = write_features,
		.arg = s,
	};

	bundle_may_be_left_out(s->opt, &s->file, s->result, 0);
	bundle_add(&job);
	if (s->opt->bundling)
		*s->opt->bundling = 0;
}

static void measure_file(struct stacks *s, const struct record_writer_totals *totals)
{
	struct stat st;

	if (s->file.is_pipe)
		s->result->bytes_written = s->file.data_off + totals->data_bytes;
	else if (!fstat(s->file.fd, &st))
		s->result->bytes_written = (uint64_t)st.st_size;
}

/* What was taken is lost where the file could not grow, and the file says so. */
static void account_unwritten(struct stacks *s, struct record_writer_totals *t)
{
	const struct lost_samples rec = {
		.header = {.type = PERF_RECORD_LOST_SAMPLES, .size = sizeof rec},
		.lost = t->lost_samples,
		.cpu = (uint32_t)LOST_MARK_UNWRITTEN,
		.id = SAMPLE_ID,
	};
	struct err err;

	s->result->samples -= t->lost_samples;
	s->result->lost += t->lost_samples;
	if (rec.lost && !perfdata_append(&s->file, t->data_bytes, &rec, sizeof rec, &err))
		t->data_bytes += sizeof rec;
}

static int end_file(struct stacks *s, int rc, struct err *err)
{
	struct record_writer_totals totals = {0};
	struct err later;
	int werr = record_writer_finish(s->writer, &totals);

	account_unwritten(s, &totals);
	if (werr && !rc)
		rc = err_errno(err, werr, s->file.path, "write (what was written before is kept)");
	s->facts.raw_bytes = s->result->raw_bytes = totals.raw_bytes;
	s->facts.data_bytes = totals.data_bytes;
	werr = perfdata_finish(&s->file, &s->facts, &later);
	measure_file(s, &totals);
	if (!werr && !rc) {
		add_bundle(s);
		measure_file(s, &totals);
	}
	if (!werr)
		werr = perfdata_close(&s->file, &later);
	else
		perfdata_close(&s->file, NULL);
	if (werr && !rc) {
		rc = werr;
		*err = later;
	}
	return rc;
}

/* Processes that have come since the last look: all, or the children of those that are followed. */
static int choose_new(struct stacks *s, struct err *err)
{
	const size_t before = s->processes.tids.n;
	const uint64_t now = clock_ns();
	int rc = 0;

	if (s->opt->n_tids || s->opt->no_inherit || now - s->chosen_ns < CHOOSE_NS)
		return 0;
	s->chosen_ns = now;
	if (s->opt->system_wide)
		rc = tid_list_all(&s->processes, err);
	for (size_t i = 0; i < s->processes.tids.n && !s->opt->system_wide && rc >= 0; i++)
		rc = tid_list_children(&s->processes, s->processes.tids.v[i], err);
	for (size_t i = before; i < s->processes.tids.n && rc >= 0; i++)
		if (follow_process(&s->follow, s->processes.tids.v[i], true))
			rc = err_nomem(err);
	return rc < 0 ? rc : 0;
}

/* The kernel's functions in which threads wait now are looked up before the first round: as a part
 * of it they would make the next ones late. */
static int know_kernel(struct stacks *s, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->processes.tids.n && rc >= 0; i++) {
		const pid_t pid = s->processes.tids.v[i];
		struct tid_list tids = {0};

		rc = tid_list_scan(&tids, pid, err);
		for (size_t k = 0; k < tids.tids.n && rc >= 0; k++) {
			thread_state_read_kernel(pid, tids.tids.v[k], &s->thread);
			stack_batch_know(&s->batch, &s->thread);
		}
		tid_list_done(&tids);
	}
	stack_batch_look(&s->batch);
	return rc < 0 ? rc : 0;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static int rounds(struct stacks *s, struct err *err)
{
	ssize_t n = s->opt->every_ms ? know_kernel(s, err) : 0;

	if (n < 0)
		return (int)n;
	if (s->opt->every_ms)
		capture_note(s->result,
			     "each round ends waits%s in epoll_wait, semtimedop, sigtimedwait and "
			     "of sockets with EINTR: see --every in the manual",
			     INTERRUPTED_CAN_RESTART ? " with a timeout" : "");
	if (s->opt->begun && s->opt->every_ms)
		s->opt->begun(s->opt->progress_arg, s->result);
	s->chosen_ns = clock_ns();
	round_clock_begin(&s->clock, s->opt->every_ms * 1000000ull,
			  (uint64_t)(s->opt->duration_s * 1e9));
	n = take_all(s, err);
	s->n_threads = n > 0 ? (size_t)n : 0;
	while (n > 0 && s->opt->every_ms && !*s->stop && round_clock_next(&s->clock)) {
		thread_state_release(&s->thread);
		s->pins.looks = true; /* no record tells of an end */
		pins_look(&s->pins, clock_ns());
		s->n_threads = (size_t)n;
		n = choose_new(s, err);
		if (!n && !*s->stop)
			n = take_all(s, err);
	}
	s->result->interrupted = *s->stop;
	return n < 0 ? (int)n : 0;
}

/* Without a sample that is an error: nothing was recorded. */
static int note_trouble(struct stacks *s, struct err *err)
{
	char why[512] = "";

	if (round_clock_describe(&s->clock, s->n_threads, why, sizeof why))
		capture_note(s->result, "%s", why);
	*why = 0;
	if (s->longest_halt_ns > HALT_NOTE_NS)
		capture_note(s->result, "a thread was halted for %.1f ms",
			     (double)s->longest_halt_ns / 1e6);
	if (s->n_ended_waits)
		capture_note(s->result,
			     "%" PRIu64 " system calls ended with EINTR as their thread was halted",
			     s->n_ended_waits);
	if (s->untraced.pid)
		untraced_describe(&s->untraced, why, sizeof why);
	else if (!s->result->samples && s->processes.tids.n && !*s->stop)
		snprintf(why, sizeof why,
			 "process %d has ended, and waits for its parent to notice (a zombie)",
			 (int)s->processes.tids.v[0]);
	if (*why && !s->result->samples)
		return err_set(err, ERR_PERMISSION, NULL, "nothing was recorded: %s", why);
	if (*why)
		capture_note(s->result, "%s", why);
	return 0;
}

static void release(struct stacks *s)
{
	free(s->thread.stack);
	stack_batch_done(&s->batch);
	environs_done(&s->environs);
	pins_done(&s->pins);
	processes_done(&s->seen);
	tid_list_done(&s->processes);
	follow_done(&s->follow);
	untraced_done(&s->untraced);
	free(s);
}

int capture_stacks(const struct capture_options *opt, volatile int *stop,
		   struct capture_result *ret, struct err *err)
{
	struct stacks *s = calloc(1, sizeof *s);
	int rc;

	*ret = (struct capture_result){0};
	if (!s)
		return err_nomem(err);
	s->opt = opt;
	s->stop = stop;
	s->result = ret;
	s->thread.room = opt->stack_bytes ? opt->stack_bytes : CAPTURE_STACK_BYTES;
	if (s->thread.room > STACK_ROOM_MAX) /* a record has 16 bits for its size */
		s->thread.room = STACK_ROOM_MAX;
	s->thread.stack = malloc(s->thread.room);
	if (!opt->keep_env)
		environs_begin(&s->environs);
	if (opt->bundle) {
		pins_begin(&s->pins);
		s->seen.on = true;
		s->seen.with_arguments = opt->keep_env;
	}
	fill_attr(s);
	rc = !s->thread.stack ? err_nomem(err) : choose(s, err);
	if (!rc && !attr_user_regs())
		rc = err_set(err, ERR_UNSUPPORTED, NULL,
			     "--stacks: the registers of this CPU are not known");
	if (!rc)
		rc = begin_file(s, err);
	if (!rc) {
		snprintf(ret->event, sizeof ret->event, "%s", s->event.name);
		ret->n_events = 1;
		ret->ring_bytes = 1; /* there is a file */
		ret->stack_bytes = s->attr.sample_stack_user;
		rc = synthesize(s, err);
		if (!rc)
			rc = rounds(s, err);
		rc = end_file(s, rc, err);
		if (!rc)
			rc = note_trouble(s, err);
	}
	release(s);
	return rc;
}
