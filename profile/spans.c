/* spans.c - which two events are the beginning and the end of one call.
 *
 * A function's stack pointer is the same when it is entered and when it is left, and callees have
 * lower ones: open spans of a thread form a stack with falling stack pointers. An entry at or above
 * an open span's shows that it was left without its end (longjmp(), an exception), or that the
 * thread is on another stack (a coroutine) and will come back. So such spans are in doubt: they
 * wait aside for an end with their stack pointer. */
#include "profile/profile.h"

#include <string.h>

enum { DOUBTFUL_MAX = 64, SAME_NAME_MAX = 64 };

/* Is the event the beginning or the end of spans? The number of the event of beginnings, and 1. */
struct role {
	uint32_t begins, ends;
	bool is_flat;
};

struct open_span {
	uint64_t sp;	   /* 0: not known */
	uint64_t doubt_ns; /* since when it may have been left; 0: it was not */
	uint32_t span;
	bool is_flat;
};

/* A thread, or a goroutine. */
struct thread {
	VEC(struct open_span) open;
	struct open_span doubtful[DOUBTFUL_MAX];
	size_t n_doubtful;
	struct thread *next; /* of the same process */
	bool is_go;
};

struct finder {
	const struct profile *p;
	struct spans *ret;
	VEC(struct role) roles;		  /* by event */
	VEC(uint32_t) next;		  /* by index in the log: find_next() */
	struct hash_table by_key, by_pid; /* by_pid: the last one of the process */
	VEC(struct thread *) threads;
	size_t n_ended; /* of the profile's task_ends */
};

/* ---- pairs of events ------------------------------------------------------------------------ */

static const struct pair_names {
	const char *begin, *end;
	bool is_suffix;
	bool is_flat; /* a thread has one of them at a time: system calls */
} pair_names[] = {
	{"call:", "return:", false, false},
	{"uprobe:", "uretprobe:", false, false},
	{"u:", "ur:", false, false},
	{"kprobe:", "kretprobe:", false, false},
	{"raw_syscalls:sys_enter", "raw_syscalls:sys_exit", false, true},
	{"syscalls:sys_enter_", "syscalls:sys_exit_", false, true},
	{"", "__return", true, false},
};

static bool is_end_of(const struct pair_names *n, const char *begin, const char *end)
{
	const size_t begin_len = strlen(n->begin), end_len = strlen(n->end), len = strlen(begin);

	if (n->is_suffix)
		return !strncmp(end, begin, len) && !strcmp(end + len, n->end);
	return !strncmp(begin, n->begin, begin_len) && !strncmp(end, n->end, end_len) &&
	       !strcmp(begin + begin_len, end + end_len);
}

static bool is_end_name(const char *name)
{
	for (size_t i = 0; i < sizeof pair_names / sizeof *pair_names; i++)
		if (pair_names[i].is_suffix ? str_ends_with(name, pair_names[i].end)
					    : str_starts_with(name, pair_names[i].end))
			return true;
	return false;
}

enum span_role span_role_of(const char *event)
{
	return str_starts_with(event, pair_names[0].begin) ? SPAN_BEGINS
	       : str_starts_with(event, pair_names[0].end) ? SPAN_ENDS
							   : SPAN_NO_PART;
}

static void pair_event(struct finder *f, uint32_t end)
{
	const struct profile *p = f->p;
	const char *name = strtab_get(&p->strings, p->events.v[end].name);

	for (uint32_t i = 0; i < p->events.n; i++)
		for (size_t k = 0; k < sizeof pair_names / sizeof *pair_names; k++)
			if (i != end && p->events.v[i].name &&
			    is_end_of(&pair_names[k], strtab_get(&p->strings, p->events.v[i].name),
				      name)) {
				f->roles.v[i].begins = i + 1;
				f->roles.v[i].is_flat = pair_names[k].is_flat;
				f->roles.v[end].ends = i + 1;
				return;
			}
}

static int find_pairs(struct finder *f)
{
	const struct profile *p = f->p;

	for (size_t i = 0; i < p->events.n; i++)
		if (vec_push(&f->roles, (struct role){0}))
			return -1;
	for (uint32_t i = 0; i < p->events.n; i++)
		if (p->events.v[i].name &&
		    is_end_name(strtab_get(&p->strings, p->events.v[i].name)))
			pair_event(f, i);
	return 0;
}

/* ---- fields --------------------------------------------------------------------------------- */

bool trace_number(const struct profile *p, const struct profile_log_entry *e, const char *name,
		  uint64_t *ret)
{
	const char *text = e->trace ? strtab_get(&p->strings, e->trace) : "";
	const size_t n = strlen(name);

	for (const char *at = strchr(text, ' '); at; at = strchr(at + 1, ' ')) {
		char *end;

		if (strncmp(at + 1, name, n) || at[1 + n] != '=')
			continue;
		*ret = strtoull(at + n + 2, &end, 0);
		return end > at + n + 2;
	}
	return false;
}

static uint32_t function_of(const struct profile *p, uint32_t entry)
{
	const uint32_t node = p->log.v[entry].node;

	return node ? profile_symbol(p, &p->locations.v[p->nodes.v[node].location]) : 0;
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

static void give_up_doubtful(struct finder *f, struct thread *t, size_t i)
{
	end_span(f, &t->doubtful[i], t->doubtful[i].doubt_ns, SPAN_NONE, SPAN_LEFT);
	memmove(&t->doubtful[i], &t->doubtful[i + 1],
		(t->n_doubtful - i - 1) * sizeof *t->doubtful);
	t->n_doubtful--;
}

/* The innermost open span may have been left before `now`. */
static void doubt_innermost(struct finder *f, struct thread *t, uint64_t now)
{
	struct open_span o = t->open.v[--t->open.n];

	if (t->n_doubtful == DOUBTFUL_MAX)
		give_up_doubtful(f, t, 0);
	o.doubt_ns = now;
	t->doubtful[t->n_doubtful++] = o;
}

/* What is entered at `sp` shows that these were left. */
static void doubt_above(struct finder *f, struct thread *t, uint64_t sp, bool is_flat, uint64_t now)
{
	while (t->open.n) {
		const struct open_span *top = &t->open.v[t->open.n - 1];

		if (top->is_flat ? !is_flat && !sp : !sp || t->is_go || !top->sp || top->sp > sp)
			break;
		doubt_innermost(f, t, now);
	}
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
	trace_number(f->p, e, "sp", &o.sp);
	doubt_above(f, t, o.sp, is_flat, e->time_ns);
	for (size_t i = t->n_doubtful; o.sp && i-- > 0;)
		if (t->doubtful[i].sp == o.sp)
			give_up_doubtful(f, t, i);
	if (t->open.n) {
		s.parent = t->open.v[t->open.n - 1].span;
		s.depth = f->ret->v.v[s.parent].depth + 1;
	}
	f->ret->of_entry.v[entry] = o.span;
	return vec_push(&f->ret->v, s) || vec_push(&t->open, o) ? -1 : 0;
}

/* Does an end without a stack pointer, or on a stack that has moved, end this span? */
static bool is_same_call(const struct finder *f, const struct open_span *o, uint32_t exit,
			 uint32_t begins)
{
	const struct span *s = &f->ret->v.v[o->span];

	return f->p->log.v[s->entry].event + 1 == begins &&
	       (!o->sp || function_of(f->p, s->entry) == function_of(f->p, exit));
}

/* The open span that an end belongs to, among those that are in order; SIZE_MAX: none. */
static size_t find_open(const struct finder *f, const struct thread *t, uint32_t exit,
			uint32_t begins, uint64_t sp)
{
	for (size_t i = t->open.n, n = 0; i-- > 0 && n < SAME_NAME_MAX; n++) {
		const uint64_t its = t->open.v[i].sp;

		if (sp && its == sp)
			return i;
		if ((!sp || !its || t->is_go) && is_same_call(f, &t->open.v[i], exit, begins))
			return i;
	}
	return SIZE_MAX;
}

static int finish_span(struct finder *f, uint32_t exit, uint32_t begins)
{
	const struct profile_log_entry *e = &f->p->log.v[exit];
	struct thread *t = thread_of(f, e);
	uint64_t sp = 0;
	size_t at;

	if (!t)
		return -1;
	f->ret->is_end.v[exit] = 1;
	trace_number(f->p, e, "sp", &sp);
	if (sp) /* callees of what is left now */
		doubt_above(f, t, sp - 1, false, e->time_ns);
	at = find_open(f, t, exit, begins, sp);
	if (at != SIZE_MAX) {
		while (t->open.n > at + 1)
			doubt_innermost(f, t, e->time_ns);
		end_span(f, &t->open.v[--t->open.n], e->time_ns, exit, SPAN_RETURNED);
		return 0;
	}
	for (size_t i = t->n_doubtful; i-- > 0;)
		if (sp && t->doubtful[i].sp == sp) {
			end_span(f, &t->doubtful[i], e->time_ns, exit, SPAN_RETURNED);
			memmove(&t->doubtful[i], &t->doubtful[i + 1],
				(t->n_doubtful - i - 1) * sizeof *t->doubtful);
			t->n_doubtful--;
			return 0;
		}
	f->ret->n_without_start++;
	return 0;
}

/* The calls of a thread end with it; those of its system calls that are open stay so in exec(). */
static void end_thread(struct finder *f, struct thread *t, uint64_t now, bool is_exec)
{
	size_t n = 0;

	while (t->n_doubtful)
		give_up_doubtful(f, t, t->n_doubtful - 1);
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

		while (t->n_doubtful)
			give_up_doubtful(f, t, t->n_doubtful - 1);
		while (t->open.n)
			end_span(f, &t->open.v[--t->open.n], end_ns, SPAN_NONE, SPAN_OPEN);
		vec_done(&t->open);
		free(t);
	}
	for (size_t i = 0; i < r->v.n; i++) {
		r->n_left += r->v.v[i].end == SPAN_LEFT;
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

/* The next event of the same thread that has to do with spans, by index in the log. */
static int find_next(struct finder *f)
{
	struct hash_table last = {0};
	int rc = 0;

	for (size_t i = 0; i < f->p->log.n && !rc; i++)
		rc = vec_push(&f->next, SPAN_NONE);
	for (size_t i = f->p->log.n; i-- > 0 && !rc;) {
		const struct profile_log_entry *e = &f->p->log.v[i];
		const uint64_t thread = (uint64_t)e->pid << 32 | e->tid;

		if (!f->roles.v[e->event].begins && !f->roles.v[e->event].ends)
			continue;
		f->next.v[i] = hash_get(&last, thread); /* HASH_NONE is SPAN_NONE */
		rc = hash_put(&last, thread, (uint32_t)i);
	}
	hash_done(&last);
	return rc;
}

/* Of a function whose first instruction leaves it (a lone RET, a jump to another function) the
 * kernel tells the end first: both probes are at one address. Is `exit` such an end, and which
 * event, the next one of its thread, is the beginning? SPAN_NONE: none. */
static uint32_t beginning_behind(const struct finder *f, uint32_t exit)
{
	const struct profile_log_entry *e = &f->p->log.v[exit], *n;
	const struct role *role = &f->roles.v[e->event];
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
	const struct role role = f->roles.v[f->p->log.v[i].event];
	const uint32_t behind = role.ends ? beginning_behind(f, i) : SPAN_NONE;
	int rc = 0;

	end_tasks(f, f->p->log.v[i].time_ns);
	if (role.begins && f->ret->of_entry.v[i] == SPAN_NONE)
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
	int rc = find_pairs(&f);

	for (size_t i = 0; !rc && i < p->log.n; i++)
		rc = vec_push(&ret->of_entry, SPAN_NONE) || vec_push(&ret->of_exit, SPAN_NONE) ||
		     vec_push(&ret->is_end, 0);
	if (!rc)
		rc = find_next(&f);
	for (uint32_t i = 0; !rc && i < p->log.n; i++)
		rc = take_event(&f, i);
	for (size_t i = 0; !rc && i < f.roles.n; i++)
		rc = vec_push(&ret->has_event, f.roles.v[i].begins || f.roles.v[i].ends);
	finish_all(&f);
	vec_done(&f.next);
	vec_done(&f.roles);
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
	vec_done(&s->has_event);
}
