/* switches.c - the time that threads do not run, from records of context switches. */
#include "reader/switches.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "reader/file.h"
#include "reader/record.h"
#include "reader/task_state.h"

/* A thread that sleeps for long would keep all former maps of all processes: after this many
 * batches its sample gets the present ones of its process. */
#define EPOCHS_KEPT 64
/* When more bytes wait, a sample waits no longer than its thread does. */
#define HELD_BYTES_MAX ((size_t)64 << 20)

/* perf_event.h: of PERF_RECORD_MISC_SWITCH_OUT and _PREEMPT, under the cpumode's bits. */
#define MISC_SWITCH_OUT	    (1u << 13)
#define MISC_SWITCH_PREEMPT (1u << 14)

/* perf record and capture set both for a command only. */
#define OF_COMMAND (PERF_ATTR_INHERIT | PERF_ATTR_ENABLE_ON_EXEC)

/* ---- events --------------------------------------------------------------------------------- */

static bool is_switch_event(const struct perf_file *f, const struct perf_event *e)
{
	if (!event_is_tracepoint(e->attr.type))
		return false;
	return !strcmp(e->name, SWITCHES_OFF_CPU) || !strcmp(e->name, SWITCHES_WALL) ||
	       (f->switches.wanted && !strcmp(e->name, "sched:sched_switch"));
}

/* An event that no sample of the recording is of. */
static int add_event(struct perf_file *f, const struct perf_event *like, const char *name,
		     const struct perf_event **ret)
{
	struct perf_attr attr = like->attr;
	struct event *e;

	attr.sample_period = 1;
	attr.flags &= ~PERF_ATTR_FREQ;
	if (events_add(&f->events, &attr) ||
	    events_set_name(&f->events, f->events.v.n - 1, name, strlen(name)))
		return err_nomem(&f->err);
	e = f->events.v.v[f->events.v.n - 1];
	e->pub.is_ns = true;
	*ret = &e->pub;
	return 0;
}

static bool is_waking_event(const struct perf_file *f, const struct perf_event *e)
{
	return event_is_tracepoint(e->attr.type) &&
	       (!strcmp(e->name, SWITCHES_WAKER) ||
		(f->switches.wanted && !strcmp(e->name, "sched:sched_waking")));
}

/* Who ends the waits, if that was recorded too. */
static int settle_waker(struct perf_file *f, size_t n)
{
	struct switches *w = &f->switches;

	for (size_t i = 0; i < n; i++) {
		struct event *e = f->events.v.v[i];
		int rc;

		if (e->is_waking || e->pub.is_ns || !is_waking_event(f, &e->pub))
			continue;
		e->is_waking = true;
		e->pub.name = "sched:sched_waking";
		rc = w->waker ? 0 : add_event(f, &e->pub, SWITCHES_WAKER, &w->waker);
		if (rc)
			return rc;
	}
	return 0;
}

int switches_settle(struct perf_file *f)
{
	struct switches *w = &f->switches;
	const size_t n = f->events.v.n;
	const struct perf_event *first = NULL;
	int rc;

	for (size_t i = 0; i < n; i++) {
		struct event *e = f->events.v.v[i];

		if (e->is_switch || e->pub.is_ns || !is_switch_event(f, &e->pub))
			continue;
		w->wall |= !strcmp(e->pub.name, SWITCHES_WALL);
		e->is_switch = true;
		e->pub.name = "sched:sched_switch";
		first = first ? first : &e->pub;
	}
	if (w->on)
		return settle_waker(f, n);
	if (!first)
		return 0;
	w->on = true;
	w->all_count = !(OF_COMMAND & ~first->attr.flags);
	rc = add_event(f, first, w->wall ? SWITCHES_WALL : SWITCHES_OFF_CPU,
		       &w->events[SWITCH_WAITS]);
	w->events[SWITCH_READY] = w->events[SWITCH_WAITS];
	if (!rc && !w->wall)
		rc = add_event(f, first, SWITCHES_READY, &w->events[SWITCH_READY]);
	return rc ? rc : settle_waker(f, n);
}

/* ---- threads -------------------------------------------------------------------------------- */

static struct switch_thread *find(struct switches *w, uint32_t tid)
{
	uint32_t i = hash_get(&w->by_tid, tid);

	return i == HASH_NONE ? NULL : &w->threads.v[i];
}

/* After its EXIT record a thread still runs, and may be preempted, until it is gone: as one that is
 * not known it would have run from the beginning. When it gives up the processor for the last time
 * it has no id any more (perf_event_pid_type() of kernel/events/core.c). */
static bool has_ended(const struct switches *w, uint32_t tid)
{
	return tid == UINT32_MAX || hash_get(&w->ended, tid) != HASH_NONE;
}

/* NULL when out of memory. A thread that is not known has been there from the beginning. */
static struct switch_thread *find_or_add(struct perf_file *f, uint32_t pid, uint32_t tid)
{
	struct switches *w = &f->switches;
	struct switch_thread *t = find(w, tid);

	if (t)
		return t;
	if (w->threads.n >= HASH_NONE ||
	    vec_push(&w->threads,
		     (struct switch_thread){.pid = pid, .tid = tid, .since_ns = w->first_ns}))
		return NULL;
	if (hash_put(&w->by_tid, tid, (uint32_t)w->threads.n - 1)) {
		w->threads.n--;
		return NULL;
	}
	return &w->threads.v[w->threads.n - 1];
}

/* A switch or a sample of it was recorded: so it is in the cgroup now, and what it did before it
 * came there does not count. */
static void note_seen(struct perf_file *f, struct switch_thread *t, uint64_t now)
{
	if (f->switches.some_come && !t->is_member)
		t->since_ns = now;
	f->stats.switches.threads += !t->is_seen;
	t->is_member = t->is_seen = true;
}

static void drop(struct switches *w, struct held **h)
{
	if (*h)
		w->held_bytes -= (*h)->h.size;
	free(*h);
	*h = NULL;
}

/* The last thread is moved to its place. */
static void forget(struct switches *w, struct switch_thread *t)
{
	for (int k = 0; k < SWITCH_KINDS; k++)
		for (int i = 0; i < SWITCH_LENGTHS; i++)
			drop(w, &t->shares[k][i].held);
	drop(w, &t->fresh);
	drop(w, &t->own);
	hash_remove(&w->by_tid, t->tid);
	*t = w->threads.v[--w->threads.n];
	if (t < w->threads.v + w->threads.n) /* replaces a key, so it needs no memory */
		hash_put(&w->by_tid, t->tid, (uint32_t)(t - w->threads.v));
}

static void note_time(struct switches *w, uint64_t time_ns)
{
	if (!w->first_ns || time_ns < w->first_ns)
		w->first_ns = time_ns;
	if (time_ns > w->last_ns)
		w->last_ns = time_ns;
}

/* ---- delivering ----------------------------------------------------------------------------- */

static unsigned length_of(uint64_t ns)
{
	const unsigned log2 = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;
	const unsigned i = log2 < 12 ? 0 : (log2 - 10) / 2;

	return i < SWITCH_LENGTHS ? i : SWITCH_LENGTHS - 1;
}

/* Delivers the sample that is held, with what it stands for. */
static int flush(struct perf_file *f, int kind, struct switch_share *s)
{
	struct switches *w = &f->switches;
	int rc = 0;

	if (!s->held)
		return 0; /* it counts with the first one */
	if (s->counts)
		rc = deliver_weighed(f, s->held, w->events[kind], s->ns, s->own_ns);
	drop(w, &s->held);
	s->ns = 0;
	s->counts = false;
	return rc;
}

/* A wait whose end has no sample: one whose beginning has none either was left out, as there were
 * too many, and a thread that ends one that is about as long stands for it. Else no thread that was
 * recorded ended it; where processors leave out other times, that is taken for so too often rather
 * than some thread for the end of what it had no part in. */
static void note_unwoken(struct switch_thread *t, uint64_t ns)
{
	if (t->kind != SWITCH_WAITS || (t->state == SWITCH_OFF && t->is_woken))
		return;
	if (t->state == SWITCH_OFF && !t->own)
		t->unclaimed_ns[length_of(ns)] += ns;
	else
		t->unwoken_ns += ns;
}

/* What it waits for now says nothing of what it waited for then. */
static int end_early(struct perf_file *f, struct switch_thread *t, uint64_t ns)
{
	const struct switches *w = &f->switches;
	const uint64_t begin_ns = t->since_ns > ns ? t->since_ns - ns : 0;

	if (t->kind == SWITCH_WAITS)
		f->stats.switches.early_ns += ns;
	return deliver_bare(f, t->pid, t->tid, begin_ns, w->events[t->kind], ns,
			    t->kind == SWITCH_READY ? TASK_READY : "waiting");
}

/* Adds a time that is over to those that are about as long. */
static int share(struct perf_file *f, struct switch_thread *t, uint64_t ns)
{
	struct switch_share *s = &t->shares[t->kind][length_of(ns)];
	int rc = 0;

	note_unwoken(t, ns);
	if (t->state == SWITCH_UNKNOWN)
		return end_early(f, t, ns);
	if (t->own) {
		rc = flush(f, t->kind, s);
		s->held = t->own;
		s->own_ns = ns;
		t->own = NULL;
	} else {
		f->stats.switches.carried_ns += ns;
	}
	s->ns += ns;
	s->counts = true;
	return rc;
}

/* Adds a time to what it is a part of, and to the totals. */
static int account(struct perf_file *f, struct switch_thread *t, uint64_t now)
{
	struct switches *w = &f->switches;
	struct perf_switch_times *total = &f->stats.switches;
	const uint64_t ns = now > t->since_ns ? now - t->since_ns : 0;

	t->since_ns = now;
	total->wall_ns += ns;
	if (t->state == SWITCH_ON || t->state == SWITCH_LOST) {
		*(t->state == SWITCH_ON ? &total->on_ns : &total->unknown_ns) += ns;
		t->on_ns += t->state == SWITCH_ON ? ns : 0;
		drop(w, &t->own);
		return 0;
	}
	if (t->kind == SWITCH_READY)
		total->ready_ns += ns;
	else
		total->off_ns += ns;
	if (ns >= w->least_ns)
		return share(f, t, ns);
	drop(w, &t->own);
	return 0;
}

/* include/trace/events/sched.h: common fields (8 bytes), char prev_comm[16], pid_t prev_pid, int
 * prev_prio, long prev_state (task_state.h). The pid says that the fields are there.
 */
enum { RAW_PID = 24, RAW_STATE = 32 };

/* sched_waking has the same fields of the thread that it wakes: char comm[16], pid_t pid. 0: there
 * are none. */
static uint32_t raw_pid(const struct perf_file *f, const struct perf_sample *s)
{
	struct buf b;

	if (!s->extra || s->extra->raw_size < RAW_PID + 4)
		return 0;
	b = buf_make(s->extra->raw, s->extra->raw_size, 0, f->swap);
	buf_seek(&b, RAW_PID);
	return buf_u32(&b);
}

/* Of a thread that has waited from the beginning to the end: nobody ended that. */
static int whole_wait(struct perf_file *f, const struct perf_sample *s, struct held *h)
{
	const struct switches *w = &f->switches;
	const uint32_t pid = s->pid, tid = s->tid;
	const uint64_t ns = s->period, time_ns = s->time_ns;
	int rc;

	f->stats.switches.wall_ns += ns;
	f->stats.switches.off_ns += ns;
	f->stats.switches.threads++;
	if (ns < w->least_ns)
		return 0;
	rc = deliver_weighed(f, h, w->events[SWITCH_WAITS], ns, ns);
	if (rc || !w->waker)
		return rc;
	f->stats.switches.unwoken_ns += ns;
	return deliver_unwoken(f, pid, tid, time_ns, w->waker, ns);
}

int switches_sample(struct perf_file *f, const struct perf_sample *s, struct held *h)
{
	struct switches *w = &f->switches;
	struct switch_thread *t;

	/* What capture wrote at the end: this thread has waited from the beginning on. */
	if (s->cpu == UINT32_MAX) {
		const int rc = whole_wait(f, s, h);

		free(h);
		return rc;
	}
	if (has_ended(w, s->tid)) {
		free(h);
		return 0;
	}
	note_time(w, s->time_ns);
	w->foreign_pids |= s->tid && raw_pid(f, s) != s->tid;
	t = s->tid ? find_or_add(f, s->pid, s->tid) : NULL;
	if (!t) {
		free(h);
		return s->tid ? err_nomem(&f->err) : 0;
	}
	if (t->state != SWITCH_UNKNOWN)
		note_seen(f, t, s->time_ns);
	drop(w, &t->fresh);
	t->fresh = h;
	w->held_bytes += h->h.size;
	return 0;
}

static int switch_out(struct perf_file *f, struct switch_thread *t, uint64_t now, int kind)
{
	int rc;

	/* When it was off already, the record of its return was lost, and so is which part of the
	 * time it ran. */
	t->state = t->state == SWITCH_OFF ? SWITCH_LOST : SWITCH_ON;
	rc = account(f, t, now);
	t->state = SWITCH_OFF;
	t->kind = (uint8_t)kind;
	t->since_ns = now;
	t->is_woken = false;
	t->own = t->fresh;
	t->fresh = NULL;
	return rc;
}

static int switch_in(struct perf_file *f, struct switch_thread *t, uint64_t now)
{
	const uint64_t ns = now > t->since_ns ? now - t->since_ns : 0;
	const int kind = t->kind;
	int rc = account(f, t, now); /* unknown: it was off since the beginning */

	t->state = SWITCH_ON;
	if (!rc && f->switches.held_bytes > HELD_BYTES_MAX)
		rc = flush(f, kind, &t->shares[kind][length_of(ns)]);
	return rc;
}

void switches_begin_thread(struct perf_file *f, uint32_t pid, uint32_t tid, uint64_t time_ns,
			   enum switch_state state)
{
	struct switch_thread *t = find(&f->switches, tid);

	hash_remove(&f->switches.ended, tid);
	if (f->switches.paused || (t && state == SWITCH_ON))
		return; /* an exec of what is known already */
	note_time(&f->switches, time_ns);
	t = t ? t : find_or_add(f, pid, tid);
	if (!t)
		return; /* its first switch record will say the same */
	t->pid = pid;
	t->state = (uint8_t)state;
	t->kind = SWITCH_READY;
	t->since_ns = time_ns;
	t->is_seen = false;
	if (f->switches.all_count)
		note_seen(f, t, time_ns);
}

void switches_note_parent(struct perf_file *f, uint32_t tid, uint32_t parent_tid)
{
	struct switch_thread *t = find(&f->switches, tid);
	const struct switch_thread *parent = find(&f->switches, parent_tid);

	if (t && parent)
		t->is_member |= parent->is_member;
}

/* Delivers all of a kind, and what has no sample without a stack. */
static int end_kind(struct perf_file *f, struct switch_thread *t, int kind)
{
	const struct switches *w = &f->switches;
	uint64_t bare_ns = 0;
	int rc = 0;

	for (int i = 0; i < SWITCH_LENGTHS && !rc; i++) {
		rc = flush(f, kind, &t->shares[kind][i]);
		bare_ns += t->shares[kind][i].ns;
	}
	if (kind == SWITCH_WAITS)
		f->stats.switches.bare_ns += bare_ns;
	if (!rc && bare_ns)
		rc = deliver_bare(f, t->pid, t->tid, w->last_ns, w->events[kind], bare_ns,
				  kind == SWITCH_READY ? TASK_READY : "waiting");
	return rc;
}

/* Waits that no recorded thread ended, and that were not as long as one that a thread did end. */
static int end_unwoken(struct perf_file *f, struct switch_thread *t)
{
	const struct switches *w = &f->switches;
	uint64_t ns = t->unwoken_ns;

	for (int i = 0; i < SWITCH_LENGTHS; i++)
		ns += t->unclaimed_ns[i];
	if (!w->waker || !ns)
		return 0;
	f->stats.switches.unwoken_ns += ns;
	return deliver_unwoken(f, t->pid, t->tid, w->last_ns, w->waker, ns);
}

/* A thread that ran for less than the period of the clock may have no sample: what it ran has no
 * stack then. */
static int end_running(struct perf_file *f, struct switch_thread *t)
{
	const struct switches *w = &f->switches;

	if (!w->wall || t->clock_ns || !t->on_ns)
		return 0;
	return deliver_bare(f, t->pid, t->tid, w->last_ns, w->events[SWITCH_WAITS], t->on_ns,
			    TASK_RUNNING);
}

/* It waited when the recording began, and no switch followed. Where the recorder was not killed it
 * has written a sample of it (whole_wait()), or that it has left its cgroup. */
static bool waited_until_killed(const struct perf_file *f, const struct switch_thread *t)
{
	return f->stats.interrupted && t->is_member && !t->is_seen && t->state == SWITCH_UNKNOWN;
}

static int end_thread(struct perf_file *f, struct switch_thread *t, uint64_t time_ns)
{
	int rc = 0;

	if (waited_until_killed(f, t)) {
		f->stats.switches.threads++;
		t->is_seen = true;
	}
	if (t->is_seen)
		rc = account(f, t, time_ns);
	for (int k = 0; k < SWITCH_KINDS && !rc; k++)
		rc = end_kind(f, t, k);
	if (!rc)
		rc = end_running(f, t);
	if (!rc)
		rc = end_unwoken(f, t);
	forget(&f->switches, t);
	return rc;
}

int switches_end_thread(struct perf_file *f, uint32_t tid, uint64_t time_ns)
{
	struct switch_thread *t = find(&f->switches, tid);

	if (f->switches.on && hash_put(&f->switches.ended, tid, 1))
		return err_nomem(&f->err);
	if (f->switches.paused)
		return 0;
	note_time(&f->switches, time_ns);
	return t ? end_thread(f, t, time_ns) : 0;
}

int switches_end_some(struct perf_file *f)
{
	struct switches *w = &f->switches;
	int rc;

	if (!w->threads.n)
		return 0;
	rc = end_thread(f, &w->threads.v[w->threads.n - 1], w->last_ns);
	return rc ? rc : 1;
}

/* The epoch of a sample that is held, if it is older than `oldest`. */
static uint64_t older_epoch(struct perf_file *f, const struct switch_thread *t, struct held *h,
			    uint64_t now, uint64_t oldest)
{
	if (!h)
		return oldest;
	if (h->epoch + EPOCHS_KEPT < now)
		held_refresh(f, h, t->pid, t->tid, now);
	return h->epoch < oldest ? h->epoch : oldest;
}

uint64_t switches_oldest_epoch(struct perf_file *f, uint64_t now)
{
	struct switches *w = &f->switches;
	uint64_t oldest = now;

	for (size_t i = 0; i < w->threads.n; i++) {
		struct switch_thread *t = &w->threads.v[i];

		oldest = older_epoch(f, t, t->fresh, now, oldest);
		oldest = older_epoch(f, t, t->own, now, oldest);
		for (int k = 0; k < SWITCH_KINDS; k++)
			for (int n = 0; n < SWITCH_LENGTHS; n++)
				oldest = older_epoch(f, t, t->shares[k][n].held, now, oldest);
	}
	return oldest;
}

void switches_done(struct switches *w)
{
	while (w->threads.n)
		forget(w, &w->threads.v[w->threads.n - 1]);
	hash_done(&w->by_tid);
	hash_done(&w->ended);
	vec_done(&w->threads);
}

/* All that the thread has run since its sample before, and half a period of what follows. */
int switches_clock(struct perf_file *f, struct perf_sample *s)
{
	struct switches *w = &f->switches;
	struct switch_thread *t;
	uint64_t on;

	s->event = w->events[SWITCH_WAITS];
	s->state = TASK_RUNNING;
	note_time(w, s->time_ns);
	if (has_ended(w, s->tid))
		return 0;
	t = s->tid ? find_or_add(f, s->pid, s->tid) : NULL;
	if (!t)
		return s->tid ? err_nomem(&f->err) : 0;
	if (t->state == SWITCH_UNKNOWN) /* no record: it has run from the beginning on */
		t->state = SWITCH_ON;
	note_seen(f, t, s->time_ns);
	on = t->on_ns;
	if (t->state == SWITCH_ON && s->time_ns > t->since_ns)
		on += s->time_ns - t->since_ns;
	s->period = on + s->period / 2 > t->clock_ns ? on + s->period / 2 - t->clock_ns : 0;
	t->clock_ns += s->period;
	return 0;
}

/* The time from its beginning to the waking, which is not the time that its thread gets a
 * processor. */
int switches_waking(struct perf_file *f, struct perf_sample *s)
{
	struct switches *w = &f->switches;
	struct switch_thread *t = w->foreign_pids ? NULL : find(w, raw_pid(f, s));
	const struct machine_place *place;
	uint64_t ns, *unclaimed;

	if (!t || t->state != SWITCH_OFF || t->kind != SWITCH_WAITS || t->is_woken)
		return 0;
	ns = s->time_ns > t->since_ns ? s->time_ns - t->since_ns : 0;
	t->is_woken = true;
	if (ns < w->least_ns)
		return 0;
	place = machine_place(f->machine, t->pid, t->tid);
	if (!place)
		return err_nomem(&f->err);
	unclaimed = &t->unclaimed_ns[length_of(ns)];
	ns += *unclaimed;
	*unclaimed = 0;
	f->stats.switches.woken_ns += ns;
	s->event = w->waker;
	s->period = ns;
	s->wakes = place->comm;
	return 1;
}

const char *switches_state(const struct perf_file *f, const struct perf_sample *s)
{
	const struct perf_sample_extra *x = s->extra;
	struct buf b;

	if (!x || x->raw_size < RAW_STATE + 8 || raw_pid(f, s) != s->tid)
		return NULL;
	b = buf_make(x->raw, x->raw_size, 0, f->swap);
	buf_seek(&b, RAW_STATE);
	return task_state_of_bits(buf_u64(&b));
}

/* ---- records -------------------------------------------------------------------------------- */

/* The thread and the time that a record's trailer has. */
static bool trailer_place(const struct perf_file *f, const struct record_view *v, uint32_t *pid,
			  uint32_t *tid, uint64_t *time_ns)
{
	const struct event *e = events_of_trailer(&f->events, &v->b);
	const size_t size = (size_t)(v->b.end - v->b.data);
	struct buf b = v->b;

	if (!e || !e->trailer_time_pos || !(e->pub.attr.sample_type & PERF_SAMPLE_TID) ||
	    e->trailer_bytes > size - sizeof(struct perf_event_header))
		return false;
	buf_seek(&b, size - e->trailer_bytes);
	*pid = buf_u32(&b);
	*tid = buf_u32(&b);
	*time_ns = buf_u64_at(&v->b, size - e->trailer_time_pos);
	return buf_ok(&b);
}

/* The processor of a record, or what capture marks (reader/switch_marks.h); 0: not known. */
int switches_cpu_or_mark(const struct perf_file *f, const struct record_view *v)
{
	const struct event *e = events_of_trailer(&f->events, &v->b);
	const uint64_t type = e ? e->pub.attr.sample_type : 0;
	const size_t size = (size_t)(v->b.end - v->b.data);
	struct buf b = v->b;

	if (!e || !e->trailer_time_pos || !(type & PERF_SAMPLE_CPU) ||
	    type & (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID))
		return 0;
	buf_seek(&b, size - e->trailer_time_pos + 8);
	return (int)buf_u32(&b);
}

static void pause_or_go_on(struct switches *w, bool pauses, uint64_t now)
{
	w->paused = pauses;
	w->first_ns = now;
	if (now > w->last_ns)
		w->last_ns = now;
}

/* One that is no member any more ends with its last record: when it left is not known. */
static int note_member(struct perf_file *f, uint32_t pid, uint32_t tid, bool has_left)
{
	struct switches *w = &f->switches;
	struct switch_thread *t = has_left ? find(w, tid) : NULL;

	if (has_left)
		return t ? end_thread(f, t, t->since_ns) : 0;
	if (!tid) {
		w->some_come = true;
		return 0;
	}
	t = find_or_add(f, pid, tid);
	if (!t)
		return err_nomem(&f->err);
	t->is_member = true;
	return 0;
}

int apply_switch(struct perf_file *f, struct record_view *v)
{
	struct switches *w = &f->switches;
	struct switch_thread *t;
	uint32_t pid, tid;
	uint64_t now;
	int cpu;

	if (!trailer_place(f, v, &pid, &tid, &now))
		return 0;
	cpu = switches_cpu_or_mark(f, v);
	if (!tid && cpu == SWITCH_MARK_PAUSE) {
		pause_or_go_on(w, v->misc & MISC_SWITCH_OUT, now);
		return 0;
	}
	note_time(w, now);
	if (cpu == SWITCH_MARK_MEMBER)
		return note_member(f, pid, tid, v->misc & MISC_SWITCH_OUT);
	if (!tid || has_ended(w, tid))
		return 0; /* the idle task, and the beginning and the end that capture marks */
	t = find_or_add(f, pid, tid);
	if (!t)
		return err_nomem(&f->err);
	note_seen(f, t, now);
	f->stats.switches.records++;
	if (v->misc & MISC_SWITCH_OUT)
		return switch_out(f, t, now,
				  v->misc & MISC_SWITCH_PREEMPT ? SWITCH_READY : SWITCH_WAITS);
	return switch_in(f, t, now);
}

void switches_note_exec(struct perf_file *f, const struct record_view *v)
{
	uint32_t pid, tid;
	uint64_t now;

	if (f->switches.on && !v->stream && v->misc & PERF_RECORD_MISC_COMM_EXEC &&
	    trailer_place(f, v, &pid, &tid, &now) && tid)
		switches_begin_thread(f, pid, tid, now, SWITCH_ON);
}
