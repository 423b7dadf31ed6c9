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
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "capture/environs.h"
#include "capture/follow.h"
#include "capture/interrupted.h"
#include "capture/priority.h"
#include "capture/record_writer.h"
#include "capture/round_clock.h"
#include "capture/secrets.h"
#include "capture/session.h"
#include "capture/stack_batch.h"
#include "capture/stacks.h"
#include "capture/synth.h"
#include "capture/targets.h"
#include "capture/thread_state.h"
#include "reader/format.h"

#define BATCH_BYTES    ((size_t)64 << 20)
#define STACK_ROOM_MAX 64000
#define HALT_NOTE_NS   1000000
#define CHOOSE_NS      250000000

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
	if (s->opt->no_kernel)
		s->thread.n_kernel = 0;
	state[0] = s->thread.state;
	sample = (struct stack_sample){.id = STACKS_SAMPLE_ID,
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
		return rc || o->every_ms || o->no_kernel ? rc : tid_list_kernel(&s->processes, err);
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
	for (size_t i = 0, n = s->processes.tids.n; i < n && o->every_ms && rc >= 0; i++)
		rc = tid_list_skip_children(&s->processes, s->processes.tids.v[i], err);
	return rc < 0 ? rc : 0;
}

/* ---- what runs already ----------------------------------------------------------------------- */

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
	s->follow.id = STACKS_SAMPLE_ID;
	rc = synth_kernel(y, &hidden);
	if (!rc)
		rc = synth_modules(y);
	for (size_t i = 0; i < s->processes.tids.n && !rc; i++)
		rc = follow_process(&s->follow, s->processes.tids.v[i], false);
	return rc ? err_nomem(err) : 0;
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

/* As large as it may get, or as it can: threads are not halted for what is not kept. */
static bool is_full(const struct stacks *s)
{
	return record_writer_error(s->writer) ||
	       (s->opt->max_bytes &&
		s->file.data_off + record_writer_data_bytes(s->writer) >= s->opt->max_bytes);
}

static int rounds(struct stacks *s, struct err *err)
{
	ssize_t n = s->opt->every_ms && !s->opt->no_kernel ? know_kernel(s, err) : 0;

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
	while (n > 0 && s->opt->every_ms && !*s->stop && !is_full(s) &&
	       round_clock_next(&s->clock)) {
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
	rc = !s->thread.stack ? err_nomem(err) : choose(s, err);
	if (!rc && !attr_user_regs())
		rc = err_set(err, ERR_UNSUPPORTED, NULL,
			     "--stacks: the registers of this CPU are not known");
	if (!rc)
		rc = stacks_begin_file(s, err);
	if (!rc) {
		snprintf(ret->event, sizeof ret->event, "%s", s->event.name);
		ret->n_events = 1;
		ret->ring_bytes = 1; /* there is a file */
		ret->stack_bytes = s->attr.sample_stack_user;
		rc = synthesize(s, err);
		if (!rc)
			rc = rounds(s, err);
		rc = stacks_end_file(s, rc, err);
		if (!rc)
			rc = note_trouble(s, err);
	}
	release(s);
	return rc;
}
