/* spans.c - which two events are the beginning and the end of one call.
 *
 * A function's stack pointer is the same when it is entered and when it is left, and callees have
 * lower ones: open spans of a stack form a list with falling stack pointers. What is entered at or
 * above an open span, or with a chain of callers that lacks it, shows that this was left without
 * its end (longjmp(), an exception), or that the thread is on another stack (a coroutine) and will
 * come back. So such spans are in doubt: they wait aside for an end with their stack pointer, or
 * for a call that they are the caller of. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "profile/span_events.h"

enum { DOUBTFUL_MAX = 512, SAME_NAME_MAX = 64 };

struct open_span {
	uint64_t sp;	   /* 0: not known */
	uint64_t doubt_ns; /* since when it may have been left; 0: it was not */
	uint32_t span;
	bool is_flat;
};

/* A thread, or a goroutine. */
struct thread {
	VEC(struct open_span) open;
	VEC(struct open_span) doubtful;
	struct thread *next; /* of the same process */
	bool is_go;
};

struct finder {
	const struct profile *p;
	struct spans *ret;
	struct span_events events;
	VEC(uint32_t) next, next_above;	  /* by index in the log: find_next() */
	VEC(bool) is_stitched;		  /* by node: find_stitched() */
	struct hash_table by_key, by_pid; /* by_pid: the last one of the process */
	VEC(struct thread *) threads;
	size_t n_ended; /* of the profile's task_ends */
};

static uint32_t symbol_of(const struct profile *p, uint32_t node)
{
	return node ? profile_symbol(p, &p->locations.v[p->nodes.v[node].location]) : 0;
}

static uint32_t function_of(const struct profile *p, uint32_t entry)
{
	return symbol_of(p, p->log.v[entry].node);
}

static struct thread *thread_of(struct finder *f, const struct profile_log_entry *e)
{
	uint64_t g = 0;
	const bool is_go = trace_number(f->p, e, "g", &g);
	const uint64_t key = is_go ? hash_mix(hash_mix(1, e->pid), g) : hash_mix(e->pid, e->tid);
	uint32_t at = hash_get(&f->by_key, key);
	struct thread *t;

	if (at != HASH_NONE)
		return f->threads.v[at];
	t = calloc(1, sizeof *t);
	if (!t || vec_push(&f->threads, t)) {
		free(t);
		return NULL;
	}
	t->is_go = is_go;
	at = hash_get(&f->by_pid, hash_mix(2, e->pid));
	t->next = at == HASH_NONE ? NULL : f->threads.v[at];
	if (hash_put(&f->by_pid, hash_mix(2, e->pid), (uint32_t)f->threads.n - 1))
		return NULL;
	return hash_put(&f->by_key, key, (uint32_t)f->threads.n - 1) ? NULL : t;
}

/* ---- spans ---------------------------------------------------------------------------------- */

static void end_span(struct finder *f, const struct open_span *o, uint64_t now, uint32_t exit,
		     enum span_end how)
{
	struct span *s = &f->ret->v.v[o->span];

	s->end_ns = now > s->start_ns ? now : s->start_ns;
	s->exit = exit;
	if (exit != SPAN_NONE)
		f->ret->of_exit.v[exit] = o->span;
	s->end = (uint8_t)how;
}

static void remove_doubtful(struct thread *t, size_t i)
{
	memmove(&t->doubtful.v[i], &t->doubtful.v[i + 1],
		(t->doubtful.n - i - 1) * sizeof *t->doubtful.v);
	t->doubtful.n--;
}

static void give_up_doubtful(struct finder *f, struct thread *t, size_t i, enum span_end how)
{
	end_span(f, &t->doubtful.v[i], t->doubtful.v[i].doubt_ns, SPAN_NONE, how);
	remove_doubtful(t, i);
}

/* The innermost open span may have been left before `now`. */
static int doubt_innermost(struct finder *f, struct thread *t, uint64_t now)
{
	struct open_span o = t->open.v[--t->open.n];

	if (t->doubtful.n == DOUBTFUL_MAX)
		give_up_doubtful(f, t, 0, SPAN_LOST);
	o.doubt_ns = now;
	return vec_push(&t->doubtful, o);
}

/* ---- which span is around another ----------------------------------------------------------- */

enum relation { NO_CALLER, PERHAPS_CALLER, CALLER };

/* Has it all callers? The outer ones of a stitched chain are those of another sample: a path, but
 * not this stack, and other nodes than those of whole stacks. */
static bool has_root(const struct finder *f, const struct profile_log_entry *e)
{
	return e->node && e->stop == UNWIND_STOP_END && !f->is_stitched.v[e->node];
}

/* Was what is entered called by this span, by the chains of both? A chain that reached its root
 * has the callers of the span, and it; of one that was cut their absence proves nothing. */
static enum relation relation_of(const struct finder *f, const struct open_span *o, uint32_t entry)
{
	const struct profile *p = f->p;
	const uint32_t around = f->ret->v.v[o->span].entry;
	const struct profile_log_entry *its = &p->log.v[around], *e = &p->log.v[entry];
	uint32_t callers, node = e->node;

	if (!has_root(f, its) || !has_root(f, e))
		return PERHAPS_CALLER;
	callers = p->nodes.v[its->node].parent;
	while (node > callers && p->nodes.v[node].parent != callers)
		node = p->nodes.v[node].parent;
	if (node <= callers || node == e->node)
		return NO_CALLER;
	return symbol_of(p, node) == function_of(p, around) ? CALLER : PERHAPS_CALLER;
}

/* Was it called by `around`, on the same stack, or by what that has called? */
static bool is_callee_of(const struct finder *f, uint32_t span, uint32_t around)
{
	while (span > around && f->ret->v.v[span].is_callee)
		span = f->ret->v.v[span].parent;
	return span == around;
}

/* `around` has gone on, or was left: so was what it had called. */
static void leave_callees(struct finder *f, struct thread *t, uint32_t around)
{
	for (size_t i = t->doubtful.n; i-- > 0;)
		if (t->doubtful.v[i].span != around &&
		    is_callee_of(f, t->doubtful.v[i].span, around))
			give_up_doubtful(f, t, i, SPAN_LEFT);
}

/* What is entered at `sp`, or has just been left below it, shows that these were left, or that the
 * thread is on another stack. */
static int doubt_above(struct finder *f, struct thread *t, uint64_t sp, bool is_flat, uint64_t now)
{
	int rc = 0;

	while (t->open.n && !rc) {
		const struct open_span *top = &t->open.v[t->open.n - 1];

		if (top->is_flat ? !is_flat && !sp : !sp || t->is_go || !top->sp || top->sp > sp)
			break;
		if (top->is_flat) { /* a thread has one at a time */
			end_span(f, top, now, SPAN_NONE, SPAN_LEFT);
			t->open.n--;
		} else {
			rc = doubt_innermost(f, t, now);
		}
	}
	return rc;
}

static int doubt_no_callers(struct finder *f, struct thread *t, uint32_t entry,
			    const struct open_span *o, uint64_t now)
{
	int rc = doubt_above(f, t, o->sp, o->is_flat, now);

	while (!rc && o->sp && !t->is_go && t->open.n &&
	       relation_of(f, &t->open.v[t->open.n - 1], entry) == NO_CALLER) {
		rc = doubt_innermost(f, t, now);
		if (!rc)
			rc = doubt_above(f, t, o->sp, o->is_flat, now);
	}
	return rc;
}

/* Opens a span again, and those around it. */
static int resume(struct finder *f, struct thread *t, uint32_t span)
{
	size_t outermost = SIZE_MAX;

	do {
		outermost = SIZE_MAX;
		for (size_t i = 0; i < t->doubtful.n; i++) {
			const uint32_t its = t->doubtful.v[i].span;
			uint32_t at = span;

			while (at != SPAN_NONE && at > its)
				at = f->ret->v.v[at].parent;
			if (at == its &&
			    (outermost == SIZE_MAX || its < t->doubtful.v[outermost].span))
				outermost = i;
		}
		if (outermost == SIZE_MAX)
			return 0;
		if (vec_push(&t->open, t->doubtful.v[outermost]))
			return -1;
		remove_doubtful(t, outermost);
	} while (t->open.v[t->open.n - 1].span != span);
	return 0;
}

/* The caller of what is entered may be one that waited on another stack: the nearest one above it
 * on its own. */
static int resume_caller(struct finder *f, struct thread *t, uint32_t entry, uint64_t sp,
			 uint64_t now)
{
	const struct open_span *top = t->open.n ? &t->open.v[t->open.n - 1] : NULL;
	uint64_t nearest = top && top->sp ? top->sp : UINT64_MAX;
	uint32_t span = SPAN_NONE;
	int rc = 0;

	for (size_t i = 0; i < t->doubtful.n; i++) {
		const struct open_span *o = &t->doubtful.v[i];

		if (o->sp <= sp || o->sp >= nearest || relation_of(f, o, entry) != CALLER)
			continue;
		nearest = o->sp;
		span = o->span;
	}
	if (span == SPAN_NONE)
		return 0;
	while (!rc && t->open.n)
		rc = doubt_innermost(f, t, now);
	return rc ? rc : resume(f, t, span);
}

/* What had been entered at the same place was left. A return probe tells the end of a function that
 * has jumped to this one. */
static void leave_same_place(struct finder *f, struct thread *t, uint32_t entry, uint64_t sp)
{
	const struct profile *p = f->p;
	size_t i = sp ? t->doubtful.n : 0;

	while (i-- > 0) {
		const uint32_t span = t->doubtful.v[i].span, at = f->ret->v.v[span].entry;

		if (t->doubtful.v[i].sp != sp || (f->events.v.v[p->log.v[at].event].is_trampoline &&
						  (p->log.v[at].event != p->log.v[entry].event ||
						   !span_event_is_same_function(p, at, entry))))
			continue;
		give_up_doubtful(f, t, i, SPAN_LEFT);
		leave_callees(f, t, span);
		i = t->doubtful.n;
	}
}

/* ---- beginnings ----------------------------------------------------------------------------- */

/* A function that begins with the head of a loop (the field "loops") is entered anew with another
 * stack pointer or another caller, or once it was left; else its loop has gone round. */
static bool is_round(struct finder *f, uint32_t entry)
{
	const struct profile *p = f->p;
	const struct profile_log_entry *e = &p->log.v[entry], *its;
	const uint64_t sp = span_event_sp(&f->events, p, entry);
	uint64_t loops;
	struct thread *t;

	if (!sp || !trace_number(p, e, "loops", &loops) || !loops || !(t = thread_of(f, e)))
		return false;
	for (size_t i = t->open.n; i-- > 0 && t->open.v[i].sp && t->open.v[i].sp <= sp;) {
		its = &p->log.v[f->ret->v.v[t->open.v[i].span].entry];
		if (t->open.v[i].sp == sp && its->event == e->event && its->ip == e->ip)
			return its->node == e->node;
	}
	return false;
}

static int begin_span(struct finder *f, uint32_t entry, bool is_flat)
{
	const struct profile_log_entry *e = &f->p->log.v[entry];
	struct thread *t = thread_of(f, e);
	struct open_span o = {.span = (uint32_t)f->ret->v.n, .is_flat = is_flat};
	struct span s = {.start_ns = e->time_ns,
			 .end_ns = e->time_ns,
			 .entry = entry,
			 .exit = SPAN_NONE,
			 .parent = SPAN_NONE,
			 .end = SPAN_OPEN};

	if (!t)
		return -1;
	o.sp = is_flat ? 0 : span_event_sp(&f->events, f->p, entry);
	if (doubt_no_callers(f, t, entry, &o, e->time_ns))
		return -1;
	leave_same_place(f, t, entry, o.sp);
	if (o.sp && !t->is_go && resume_caller(f, t, entry, o.sp, e->time_ns))
		return -1;
	if (t->open.n) {
		const struct open_span *around = &t->open.v[t->open.n - 1];

		s.parent = around->span;
		s.depth = f->ret->v.v[s.parent].depth + 1;
		s.is_callee = t->is_go || (o.sp && relation_of(f, around, entry) == CALLER);
		if (s.is_callee)
			leave_callees(f, t, s.parent);
	}
	f->ret->of_entry.v[entry] = o.span;
	return vec_push(&f->ret->v, s) || vec_push(&t->open, o) ? -1 : 0;
}

/* ---- ends ----------------------------------------------------------------------------------- */

/* Does an end without a stack pointer, or on a stack that has moved, end this span? */
static bool is_same_call(const struct finder *f, const struct open_span *o, uint32_t exit,
			 uint32_t begins)
{
	const struct span *s = &f->ret->v.v[o->span];

	return f->p->log.v[s->entry].event + 1 == begins &&
	       (!o->sp || function_of(f->p, s->entry) == function_of(f->p, exit));
}

/* Is an end with this stack pointer that of the span? A return probe may be told another
 * function's end where a program switches stacks (the kernel takes that of the last entry). */
static bool is_at_same_place(const struct finder *f, const struct open_span *o, uint32_t exit,
			     uint32_t begins, uint64_t sp)
{
	const uint32_t entry = f->ret->v.v[o->span].entry;

	return sp && o->sp == sp &&
	       (!f->events.v.v[f->p->log.v[exit].event].is_trampoline ||
		(f->p->log.v[entry].event + 1 == begins &&
		 span_event_is_same_function(f->p, entry, exit)));
}

/* The open span that an end belongs to, among those that are in order; SIZE_MAX: none. */
static size_t find_open(const struct finder *f, const struct thread *t, uint32_t exit,
			uint32_t begins, uint64_t sp)
{
	for (size_t i = t->open.n, n = 0; i-- > 0 && n < SAME_NAME_MAX; n++) {
		const struct open_span *o = &t->open.v[i];

		if (is_at_same_place(f, o, exit, begins, sp) ||
		    ((!sp || !o->sp || t->is_go) && is_same_call(f, o, exit, begins)))
			return i;
	}
	return SIZE_MAX;
}

/* Does the same function jump or return at the same place before anything is entered there? */
static bool goes_on(const struct finder *f, uint32_t exit, uint64_t sp)
{
	const uint32_t behind = f->next_above.v[exit];

	return behind != SPAN_NONE && f->events.v.v[f->p->log.v[behind].event].ends &&
	       function_of(f->p, behind) == function_of(f->p, exit) &&
	       span_event_sp(&f->events, f->p, behind) == sp;
}

/* Of which open span is this a jump within its function? SPAN_NONE: of none. A jump by a register
 * that leaves a function does so with an empty frame. */
static uint32_t find_jumping(const struct finder *f, const struct thread *t, uint32_t exit,
			     uint64_t sp)
{
	const struct open_span *top = t->open.n ? &t->open.v[t->open.n - 1] : NULL;
	const uint32_t function = function_of(f->p, exit);
	uint64_t jumped;

	if (!sp || !top || t->is_go || top->sp < sp || !function ||
	    function_of(f->p, f->ret->v.v[top->span].entry) != function ||
	    !trace_number(f->p, &f->p->log.v[exit], "jumped", &jumped) || !jumped)
		return SPAN_NONE;
	return top->sp > sp || goes_on(f, exit, sp) ? top->span : SPAN_NONE;
}

static int finish_span(struct finder *f, uint32_t exit, uint32_t begins)
{
	const struct profile_log_entry *e = &f->p->log.v[exit];
	struct thread *t = thread_of(f, e);
	const uint64_t sp =
		f->events.v.v[begins - 1].is_flat ? 0 : span_event_sp(&f->events, f->p, exit);
	struct open_span o;
	size_t at;

	if (!t)
		return -1;
	f->ret->is_end.v[exit] = 1;
	if (sp && doubt_above(f, t, sp - 1, false, e->time_ns)) /* callees of what is left now */
		return -1;
	f->ret->of_exit.v[exit] = find_jumping(f, t, exit, sp);
	if (f->ret->of_exit.v[exit] != SPAN_NONE) {
		f->ret->n_jumps_within++;
		return 0;
	}
	at = find_open(f, t, exit, begins, sp);
	if (at != SIZE_MAX) {
		while (t->open.n > at + 1)
			if (doubt_innermost(f, t, e->time_ns))
				return -1;
		o = t->open.v[--t->open.n];
	} else {
		for (at = t->doubtful.n; at-- > 0;)
			if (is_at_same_place(f, &t->doubtful.v[at], exit, begins, sp))
				break;
		if (at == SIZE_MAX) {
			f->ret->n_without_start++;
			return 0;
		}
		o = t->doubtful.v[at];
		remove_doubtful(t, at);
	}
	end_span(f, &o, e->time_ns, exit, SPAN_RETURNED);
	leave_callees(f, t, o.span);
	return 0;
}

/* The calls of a thread end with it; those of its system calls that are open stay so in exec(). */
static void end_thread(struct finder *f, struct thread *t, uint64_t now, bool is_exec)
{
	size_t n = 0;

	while (t->doubtful.n)
		give_up_doubtful(f, t, t->doubtful.n - 1, SPAN_LOST);
	for (size_t i = 0; i < t->open.n; i++)
		if (is_exec && t->open.v[i].is_flat)
			t->open.v[n++] = t->open.v[i];
		else
			end_span(f, &t->open.v[i], now, SPAN_NONE, SPAN_LEFT);
	t->open.n = n;
}

/* Goroutines are of no thread: they end with the process, whose first thread Go never ends. */
static void end_task(struct finder *f, const struct perf_task_end *e)
{
	const uint32_t last = hash_get(&f->by_pid, hash_mix(2, e->pid));
	const uint32_t own = hash_get(&f->by_key, hash_mix(e->pid, e->tid));

	if (!e->is_exec && own != HASH_NONE)
		end_thread(f, f->threads.v[own], e->time_ns, false);
	if (!e->is_exec && e->pid != e->tid)
		return;
	for (struct thread *t = last == HASH_NONE ? NULL : f->threads.v[last]; t; t = t->next)
		if (e->is_exec || t->is_go)
			end_thread(f, t, e->time_ns, e->is_exec);
}

/* What ended before a time. */
static void end_tasks(struct finder *f, uint64_t now)
{
	const struct profile *p = f->p;

	while (f->n_ended < p->task_ends.n && p->task_ends.v[f->n_ended].time_ns < now)
		end_task(f, &p->task_ends.v[f->n_ended++]);
}

/* What is open or in doubt at the end of the recording. */
static void finish_all(struct finder *f)
{
	struct spans *r = f->ret;
	const uint64_t end_ns = f->p->end_ns > f->p->last_ns ? f->p->end_ns : f->p->last_ns;

	end_tasks(f, UINT64_MAX);
	for (size_t i = 0; i < f->threads.n; i++) {
		struct thread *t = f->threads.v[i];

		while (t->doubtful.n)
			give_up_doubtful(f, t, t->doubtful.n - 1, SPAN_LOST);
		while (t->open.n)
			end_span(f, &t->open.v[--t->open.n], end_ns, SPAN_NONE, SPAN_OPEN);
		vec_done(&t->open);
		vec_done(&t->doubtful);
		free(t);
	}
	for (size_t i = 0; i < r->v.n; i++) {
		r->n_left += r->v.v[i].end == SPAN_LEFT;
		r->n_lost += r->v.v[i].end == SPAN_LOST;
		r->n_open += r->v.v[i].end == SPAN_OPEN;
		r->v.v[i].self_ns = r->v.v[i].end_ns - r->v.v[i].start_ns;
	}
	for (size_t i = 0; i < r->v.n; i++) {
		const struct span *s = &r->v.v[i];
		struct span *around = s->parent == SPAN_NONE ? NULL : &r->v.v[s->parent];
		const uint64_t whole = s->end_ns - s->start_ns;

		if (around)
			around->self_ns = around->self_ns > whole ? around->self_ns - whole : 0;
	}
}

/* What comes next of those events of the thread that are not below `sp`. */
static uint32_t find_above(const struct finder *f, uint32_t next, uint64_t sp)
{
	while (next != SPAN_NONE && span_event_sp(&f->events, f->p, next) < sp)
		next = f->next_above.v[next];
	return next;
}

/* The next event of the same thread that has to do with spans, by index in the log; and the next
 * one that is not on behalf of what was called. */
static int find_next(struct finder *f)
{
	struct hash_table last = {0};
	int rc = 0;

	for (size_t i = 0; i < f->p->log.n && !rc; i++)
		rc = vec_push(&f->next, SPAN_NONE) || vec_push(&f->next_above, SPAN_NONE);
	for (size_t i = f->p->log.n; i-- > 0 && !rc;) {
		const struct profile_log_entry *e = &f->p->log.v[i];
		const uint64_t thread = (uint64_t)e->pid << 32 | e->tid;

		if (!f->events.v.v[e->event].begins && !f->events.v.v[e->event].ends)
			continue;
		f->next.v[i] = hash_get(&last, thread); /* HASH_NONE is SPAN_NONE */
		f->next_above.v[i] =
			find_above(f, f->next.v[i], span_event_sp(&f->events, f->p, (uint32_t)i));
		rc = hash_put(&last, thread, (uint32_t)i);
	}
	hash_done(&last);
	return rc;
}

/* Parents come before their callees. */
static int find_stitched(struct finder *f)
{
	const struct profile *p = f->p;
	int rc = 0;

	for (size_t i = 0; i < p->nodes.n && !rc; i++)
		rc = vec_push(&f->is_stitched,
			      i && (f->is_stitched.v[p->nodes.v[i].parent] ||
				    p->locations.v[p->nodes.v[i].location].how == FRAME_STITCHED));
	return rc;
}

/* Of a function whose first instruction leaves it (a lone RET, a jump to another function) the
 * kernel tells the end first: both probes are at one address. Is `exit` such an end, and which
 * event, the next one of its thread, is the beginning? SPAN_NONE: none. */
static uint32_t beginning_behind(const struct finder *f, uint32_t exit)
{
	const struct profile_log_entry *e = &f->p->log.v[exit], *n;
	const struct span_event *role = &f->events.v.v[e->event];
	uint64_t sp, its;

	if (f->next.v[exit] == SPAN_NONE || !e->ip)
		return SPAN_NONE;
	n = &f->p->log.v[f->next.v[exit]];
	return n->event + 1 == role->ends && n->ip == e->ip && trace_number(f->p, e, "sp", &sp) &&
			       trace_number(f->p, n, "sp", &its) && sp == its
		       ? f->next.v[exit]
		       : SPAN_NONE;
}

static int take_event(struct finder *f, uint32_t i)
{
	const struct span_event role = f->events.v.v[f->p->log.v[i].event];
	const uint32_t behind = role.ends ? beginning_behind(f, i) : SPAN_NONE;
	int rc = 0;

	end_tasks(f, f->p->log.v[i].time_ns);
	f->ret->is_round.v[i] = role.begins && is_round(f, i);
	if (role.begins && !f->ret->is_round.v[i] && f->ret->of_entry.v[i] == SPAN_NONE)
		rc = begin_span(f, i, role.is_flat);
	if (behind != SPAN_NONE)
		rc = begin_span(f, behind, false);
	if (role.ends && !rc)
		rc = finish_span(f, i, role.ends);
	return rc;
}

int spans_find(struct spans *ret, const struct profile *p, struct err *err)
{
	struct finder f = {.p = p, .ret = ret};
	int rc = span_events_find(&f.events, p);

	for (size_t i = 0; !rc && i < p->log.n; i++)
		rc = vec_push(&ret->of_entry, SPAN_NONE) || vec_push(&ret->of_exit, SPAN_NONE) ||
		     vec_push(&ret->is_end, 0) || vec_push(&ret->is_round, 0);
	if (!rc)
		rc = find_next(&f) || find_stitched(&f) ? -1 : 0;
	for (uint32_t i = 0; !rc && i < p->log.n; i++)
		rc = take_event(&f, i);
	for (size_t i = 0; !rc && i < f.events.v.n; i++)
		rc = vec_push(&ret->has_event, f.events.v.v[i].begins || f.events.v.v[i].ends);
	finish_all(&f);
	vec_done(&f.next);
	vec_done(&f.next_above);
	vec_done(&f.is_stitched);
	vec_done(&f.events.v);
	vec_done(&f.threads);
	hash_done(&f.by_key);
	hash_done(&f.by_pid);
	return rc ? err_nomem(err) : 0;
}

void spans_done(struct spans *s)
{
	vec_done(&s->v);
	vec_done(&s->of_entry);
	vec_done(&s->of_exit);
	vec_done(&s->is_end);
	vec_done(&s->is_round);
	vec_done(&s->has_event);
}
