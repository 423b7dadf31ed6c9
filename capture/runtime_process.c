/* runtime_process.c - reads a process that runs managed code. */
#include "capture/runtime_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

/* Time between two readings of a process: it grows, but where a sample shows code that is not
 * known, it is this much. */
#define URGENT_NS 5000000ull
/* Between two comparisons of what was copied with what is there now. */
#define AGAIN_NS  2000000000ull
#define FIRST_NS  50000000ull
#define AGE_SHARE 8 /* of the time since the first one: most code is made at the start */
/* Of a processor: the reciprocal; the first readings, which have much to read, may take this much
 * more. */
#define COST_SHARE   100
#define COST_FREE_NS 300000000ull

void runtime_process_begin(struct runtime_process *p, uint64_t time_ns)
{
	p->exec_ns = time_ns;
	p->is_jvm &= p->jvm_ns > time_ns;
	p->is_v8 &= p->v8_ns > time_ns;
	p->has_code_stacks &= p->stack_ns > time_ns;
	p->is_new = true;
	if (p->ranges_ns <= time_ns)
		p->ranges.v.n = 0;
	p->methods.n = p->places.n = 0;
	hash_done(&p->seen);
	hash_done(&p->seen_places);
	p->v8.todo.n = 0;
	hash_done(&p->v8.seen);
}

/* When what reading has cost is paid. */
static uint64_t paid_ns(const struct runtime_process *p)
{
	return p->cost_ns <= COST_FREE_NS ? 0
					  : p->first_ns + COST_SHARE * (p->cost_ns - COST_FREE_NS);
}

bool runtime_process_is_read(const struct runtime_process *p)
{
	return !p->is_packed && (p->is_jvm || p->ranges.v.n);
}

bool runtime_process_has_work(const struct runtime_process *p)
{
	return p->is_jvm ? p->samples : p->places.n || p->copy.pages.n || p->v8.todo.n;
}

uint64_t runtime_process_soon(const struct runtime_process *p)
{
	const uint64_t due = p->last_ns + URGENT_NS, paid = paid_ns(p);

	return due < paid ? paid : due;
}

/* The first mapping of libjvm.so; 0: none. */
static uint64_t find_libjvm(pid_t pid)
{
	char line[4096 + 128];
	uint64_t start = 0;
	FILE *f;

	snprintf(line, sizeof line, "/proc/%d/maps", (int)pid);
	f = fopen(line, "re");
	while (f && !start && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (str_ends_with(line, "/libjvm.so") ||
		    str_ends_with(line, "/libjvm.so (deleted)"))
			start = strtoull(line, NULL, 16);
	}
	if (f)
		fclose(f);
	return start;
}

/* A JVM that has just started is not ready to be read: it is tried again as long as it runs, in the
 * intervals and at the cost of all readings (plan_next()). */
static void open_jvm(struct runtime_process *p)
{
	uint64_t base;

	if (p->hotspot)
		return;
	errno = 0;
	base = find_libjvm(p->pid);
	if (!base) {
		if (errno == EACCES || errno == EPERM)
			(void)err_errno(&p->why, errno, "/proc/PID/maps", "open");
		p->ended_early = !p->tries && !p->why.code;
		return;
	}
	p->tries++;
	p->why = (struct err){0};
	if (!hotspot_open(&p->hotspot, p->pid, base, &p->why) && !p->log.bytes.n)
		code_log_begin(&p->log, (uint32_t)p->pid, clock_ns());
}

/* What the last program had. */
static void forget(struct runtime_process *p)
{
	hotspot_free(p->hotspot);
	p->hotspot = NULL;
	p->tries = 0;
	v8_watch_forget(&p->v8, &p->log);
	code_copy_reset(&p->copy);
}

static void read_jvm(struct runtime_process *p, const uint64_t *methods, size_t n)
{
	const uint64_t now = clock_ns();

	open_jvm(p);
	if (!p->hotspot || p->log.bytes.n > RUNTIME_LOG_MAX)
		return;
	(void)hotspot_snapshot(p->hotspot, methods, n, now, &p->log, &p->counts);
	if (p->counts.is_gone)
		(void)hotspot_end(p->hotspot, &p->log);
}

/* Readings become rarer, and never cost more than their share. */
static void plan_next(struct runtime_process *p, uint64_t now)
{
	uint64_t interval, paid = paid_ns(p);

	if (!p->first_ns)
		p->first_ns = now;
	p->last_ns = now;
	interval = p->is_jvm ? (now - p->first_ns) / AGE_SHARE : AGAIN_NS;
	if (interval < FIRST_NS)
		interval = FIRST_NS;
	if (interval > RUNTIME_LONGEST_NS && p->is_jvm)
		interval = RUNTIME_LONGEST_NS;
	p->due_ns = now + interval;
	if ((p->places.n || p->v8.todo.n) && p->due_ns > now + URGENT_NS)
		p->due_ns = now + URGENT_NS;
	if (p->due_ns < paid)
		p->due_ns = paid;
}

void runtime_process_begin_turn(struct runtime_process *p, struct runtime_turn *t)
{
	const uint64_t now = clock_ns();

	*t = (struct runtime_turn){.methods = p->methods.v,
				   .n_methods = p->methods.n,
				   .places = p->places.v,
				   .n_places = p->places.n,
				   .is_jvm = p->is_jvm,
				   .is_v8 = p->is_v8,
				   .is_new = p->is_new,
				   .again = now >= p->again_ns,
				   .begin_ns = clock_ns_of(CLOCK_THREAD_CPUTIME_ID)};
	t->v8 = v8_watch_take(&p->v8, t->again);
	if (t->again)
		p->again_ns = now + AGAIN_NS;
	if (!p->is_jvm)
		code_ranges_copy(&t->ranges, &p->ranges);
	p->methods.v = p->places.v = NULL;
	p->methods.n = p->methods.cap = p->places.n = p->places.cap = 0;
	hash_done(&p->seen); /* what is at these addresses may change */
	p->samples = 0;
	p->is_new = false;
	p->busy = true;
}

void runtime_process_read(struct runtime_process *p, const struct runtime_turn *t)
{
	const uint64_t now = clock_ns();

	if (t->is_new)
		forget(p);
	if (t->is_jvm) {
		read_jvm(p, t->methods, t->n_methods);
		return;
	}
	if (!p->log.bytes.n)
		code_log_begin(&p->log, (uint32_t)p->pid, now);
	p->copy.alone = t->is_v8;
	code_copy_take(&p->copy, p->pid, &t->ranges, t->places, t->n_places, t->again, now,
		       &p->log);
	if ((t->is_v8 || v8_watch_probe(&p->v8, p->pid)) && p->log.bytes.n <= RUNTIME_LOG_MAX)
		v8_watch_read(&p->v8, p->pid, &t->v8, false, &p->log);
}

void runtime_process_end_turn(struct runtime_process *p, struct runtime_turn *t)
{
	free(t->methods);
	free(t->places);
	free(t->v8.v);
	code_ranges_done(&t->ranges);
	p->busy = false;
	p->is_v8 |= p->v8.v8 && !p->is_new;
	p->is_gone |= p->counts.is_gone || p->copy.is_gone || p->v8.counts.is_gone;
	if (p->is_gone && !p->ended_ns)
		p->ended_ns = clock_ns();
	p->cost_ns += clock_ns_of(CLOCK_THREAD_CPUTIME_ID) - t->begin_ns;
	plan_next(p, clock_ns());
}

void runtime_process_done(struct runtime_process *p)
{
	hash_done(&p->seen);
	hash_done(&p->seen_places);
	vec_done(&p->methods);
	vec_done(&p->places);
	code_ranges_done(&p->ranges);
	code_copy_done(&p->copy);
	hotspot_free(p->hotspot);
	v8_watch_done(&p->v8);
	code_log_done(&p->log);
	bytes_done(&p->packed);
}
