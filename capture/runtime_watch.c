/* runtime_watch.c - which processes run managed code, and when they are read. */
#include "capture/runtime_watch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "capture/attr.h"
#include "capture/code_ranges.h"
#include "capture/mmap2.h"
#include "capture/runtime_process.h"
#include "capture/session.h"
#include "capture/v8_watch.h"
#include "reader/format.h"
#include "runtimes/runtimes.h"

/* Limits: of processes, of methods and of code that stacks may name. */
enum { PROCESSES_MAX = 4096, METHODS_MAX = 1 << 16, PLACES_MAX = 1 << 16 };

/* Of records that wait to be taken: no more are made. */
enum { READY_BYTES = 8 << 20 };

/* Parts of pages that count as one place. */
enum { LINE_BYTES = 64 };

/* Of stack copies that are searched for methods, in a second. */
#define SCANS_PER_SECOND 2000

/* Where reading cannot wait for a processor, code is known sooner (getpriority(2)). */
enum { NICE = -15 };

/* After the end of a process its records may still be in the rings. */
#define ENDED_NS 1000000000ull

#define FRAME_BYTES_MAX (64u << 10)
/* A recording waits no longer for what is being read, because its rings fill. */
enum { HOLD_MS = 2, HOLD_TRIES = 50 };

struct runtime_watch {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool has_thread, ends;
	struct hash_table by_pid; /* -> index in processes */
	VEC(struct runtime_process *) processes;
	uint64_t second, scans; /* searched in that second */
	size_t reuse;		/* where to look for one that can be forgotten */
	size_t left_out;	/* processes for which there was no room */
	bool writes;
	struct bytes ready; /* records */
	bool lacks_memory;  /* for some of them */
	unsigned file;	    /* how many have begun */
	uint16_t frame;	    /* the number of the last one in it */
};

/* ---- processes --------------------------------------------------------------------------- */

static struct runtime_process *find(const struct runtime_watch *w, uint32_t pid)
{
	uint32_t i = hash_get(&w->by_pid, pid);

	return i == HASH_NONE ? NULL : w->processes.v[i];
}

/* In the place of one that has ended and of which nothing was read; NULL: there is none. */
static struct runtime_process *reuse(struct runtime_watch *w, uint32_t pid)
{
	for (size_t i = 0; i < w->processes.n; i++) {
		const size_t at = (w->reuse + i) % w->processes.n;
		struct runtime_process *p = w->processes.v[at];

		if (!p->has_ended || p->busy || runtime_process_has_log(p))
			continue;
		if (hash_get(&w->by_pid, (uint64_t)p->pid) == at)
			hash_remove(&w->by_pid, (uint64_t)p->pid);
		runtime_process_done(p);
		*p = (struct runtime_process){.pid = (pid_t)pid};
		w->reuse = at + 1;
		return hash_put(&w->by_pid, pid, (uint32_t)at) ? NULL : p;
	}
	w->left_out++;
	return NULL;
}

/* NULL: too many, or out of memory. */
static struct runtime_process *find_or_add(struct runtime_watch *w, uint32_t pid)
{
	struct runtime_process *p = find(w, pid);

	if (p && p->is_packed)
		runtime_process_unpack(p);
	if (p)
		return p;
	if (w->processes.n >= PROCESSES_MAX)
		return reuse(w, pid);
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->pid = (pid_t)pid;
	if (vec_push(&w->processes, p)) {
		free(p);
		return NULL;
	}
	if (hash_put(&w->by_pid, pid, (uint32_t)w->processes.n - 1)) {
		w->processes.n--;
		free(p);
		return NULL;
	}
	return p;
}

static void note_kind(bool *is, uint64_t *is_ns, bool now, uint64_t time_ns)
{
	*is |= now;
	if (now && *is_ns < time_ns)
		*is_ns = time_ns;
}

static void note_map(struct runtime_watch *w, const struct mmap2 *m, uint64_t time_ns)
{
	const bool is_jvm = str_ends_with(m->path, "/libjvm.so"), v8 = v8_watch_is(m->path);
	const bool is_stack = str_starts_with(m->path, "[stack");
	const bool has_code = code_ranges_are(m);
	bool has_ranges = false;
	struct runtime_process *p;

	if (!(m->prot & PROT_EXEC) || (!is_jvm && !v8 && !has_code && !is_stack))
		return;
	p = find_or_add(w, m->pid);
	if (!p || (time_ns && time_ns < p->exec_ns)) /* 0: it is there now */
		return;
	note_kind(&p->is_jvm, &p->jvm_ns, is_jvm, time_ns);
	note_kind(&p->is_v8, &p->v8_ns, v8, time_ns);
	note_kind(&p->has_code_stacks, &p->stack_ns, is_stack, time_ns);
	if (has_code)
		code_ranges_add(&p->ranges, m->start, m->start + m->bytes);
	note_kind(&has_ranges, &p->ranges_ns, has_code, time_ns);
}

static void note_exec(struct runtime_watch *w, uint32_t pid, uint64_t time_ns)
{
	struct runtime_process *p = find(w, pid);

	if (p && !p->is_packed && time_ns >= p->exec_ns)
		runtime_process_begin(p, time_ns);
}

static void note_fork(struct runtime_watch *w, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	const struct runtime_process *from = find(w, parent);
	struct runtime_process *p = from && pid != parent ? find_or_add(w, pid) : NULL;

	if (!p || p == from || time_ns < p->exec_ns)
		return;
	runtime_process_begin(p, time_ns);
	p->is_gone = p->has_ended = false;
	p->ended_ns = 0;
	p->is_jvm |= from->is_jvm;
	p->is_v8 |= from->is_v8;
	p->has_code_stacks |= from->has_code_stacks;
	for (size_t i = 0; i < from->ranges.v.n; i++)
		code_ranges_add(&p->ranges, from->ranges.v.v[i].start, from->ranges.v.v[i].end);
}

/* Of its first thread: others may still run. */
static void note_exit(struct runtime_watch *w, uint32_t pid, uint64_t time_ns)
{
	struct runtime_process *p = find(w, pid);

	if (!p || p->is_packed)
		return;
	p->has_ended = true;
	p->ended_ns = time_ns;
}

/* attr.h: the trailer is pid, tid, time, cpu, reserved, id. */
static uint64_t time_of(const uint8_t *rec, size_t n)
{
	uint64_t t;

	memcpy(&t, rec + n - ATTR_SAMPLE_ID_BYTES + 8, sizeof t);
	return t;
}

void runtime_watch_record(struct runtime_watch *w, const uint8_t *rec, size_t n)
{
	struct buf b = buf_make(rec, n, 0, false);
	struct perf_event_header h;
	uint32_t pid, other;
	struct mmap2 m;

	if (!w || n < sizeof h + 16 + ATTR_SAMPLE_ID_BYTES)
		return;
	memcpy(&h, rec, sizeof h);
	buf_skip(&b, sizeof h);
	pid = buf_u32(&b);
	other = buf_u32(&b); /* COMM: tid; FORK: parent */
	pthread_mutex_lock(&w->lock);
	if (mmap2_parse(rec, n, &m))
		note_map(w, &m, time_of(rec, n));
	else if (h.type == PERF_RECORD_COMM && h.misc & PERF_RECORD_MISC_COMM_EXEC)
		note_exec(w, pid, time_of(rec, n));
	else if (h.type == PERF_RECORD_FORK)
		note_fork(w, pid, other, time_of(rec, n));
	else if (h.type == PERF_RECORD_EXIT && pid == buf_u32(&b))
		note_exit(w, pid, time_of(rec, n));
	pthread_mutex_unlock(&w->lock);
}

/* ---- samples ----------------------------------------------------------------------------- */

/* A method that is not known is read soon: its class may be unloaded, or the process end. */
static void may_be_method(struct runtime_watch *w, struct runtime_process *p, uint64_t at)
{
	const uint64_t due = runtime_process_soon(p);

	if (!p->is_jvm || at % 8 || at < 65536 || at >> 47 || p->seen.n >= METHODS_MAX ||
	    hash_get(&p->seen, at) != HASH_NONE || vec_push(&p->methods, at))
		return;
	/* When out of memory it may be looked at twice. */
	(void)hash_put(&p->seen, at, 0);
	if (p->busy || !p->hotspot || hotspot_has_seen(p->hotspot, at) || p->due_ns <= due)
		return;
	p->due_ns = due;
	pthread_cond_signal(&w->wake);
}

/* Code that is not known is to be read soon, and asked for once. Copies are of whole pages, but a
 * page is read again when other parts of it run: code is added to it. What ran is complete. */
static void want_code(struct runtime_watch *w, struct runtime_process *p, uint64_t addr)
{
	const uint64_t key = p->is_jvm ? addr : addr / LINE_BYTES;
	const uint64_t due = runtime_process_soon(p);

	if (p->seen_places.n >= PLACES_MAX || hash_get(&p->seen_places, key) != HASH_NONE ||
	    (p->is_jvm && (p->busy || !p->hotspot || hotspot_knows(p->hotspot, addr))))
		return;
	if (hash_put(&p->seen_places, key, 0) || (!p->is_jvm && vec_push(&p->places, addr)))
		return;
	if (p->due_ns > due || !p->is_jvm) {
		p->due_ns = due;
		pthread_cond_signal(&w->wake);
	}
}

/* V8's code keeps frame pointers: only of what has run when a sample was taken the bytes are
 * needed, as it may not have made its frame yet. Names are needed of all. */
static void look_at_v8(struct runtime_watch *w, struct runtime_process *p,
		       const struct sample_facts *f)
{
	const uint64_t due = runtime_process_soon(p);

	if (!v8_watch_scan(&p->v8, &p->ranges, f, p->busy))
		return;
	if (p->due_ns > due || !p->due_ns) {
		p->due_ns = due;
		pthread_cond_signal(&w->wake);
	}
}

/* Words that are addresses of code, and interpreter frames of HotSpot: a record whose return
 * address is in code without a file; below it the caller's stack pointer and, at the third word,
 * the method (frame_x86.hpp). */
static void scan_stack(struct runtime_watch *w, struct runtime_process *p,
		       const struct sample_facts *f)
{
	size_t n = f->stack_bytes / 8;

	for (size_t i = 0; i < n; i++) {
		uint64_t ra, sender, at, method;

		memcpy(&ra, f->stack + 8 * i, sizeof ra);
		if (!ra || !code_ranges_find(&p->ranges, ra - 1))
			continue;
		want_code(w, p, ra - 1);
		if (!p->is_jvm || i < 4)
			continue;
		memcpy(&sender, f->stack + 8 * (i - 2), sizeof sender);
		at = f->sp + 8 * (i - 1);
		if (sender <= at || sender - at > FRAME_BYTES_MAX)
			continue;
		memcpy(&method, f->stack + 8 * (i - 4), sizeof method);
		may_be_method(w, p, method);
	}
}

/* True if another stack copy may be searched: at high rates not all are. */
static bool may_scan(struct runtime_watch *w, uint64_t time_ns)
{
	uint64_t second = time_ns / 1000000000;

	if (second != w->second) {
		w->second = second;
		w->scans = 0;
	}
	return w->scans++ < SCANS_PER_SECOND;
}

static void look_at_sample(struct runtime_watch *w, struct runtime_process *p,
			   const struct sample_facts *f)
{
	p->has_code_stacks |= f->sp && code_ranges_find(&p->ranges, f->sp);
	if (p->has_code_stacks && !p->is_jvm) {
		p->lacks_code |= f->ip && code_ranges_find(&p->ranges, f->ip);
		p->places.n = 0;
		return;
	}
	if (f->ip && code_ranges_find(&p->ranges, f->ip))
		want_code(w, p, f->ip);
	if (!f->stack || !f->sp || !may_scan(w, f->time_ns))
		return;
	if (p->is_v8 && !p->is_jvm) {
		look_at_v8(w, p, f);
		return;
	}
	may_be_method(w, p, f->bx); /* of the method that is being entered */
	scan_stack(w, p, f);
}

void runtime_watch_sample(struct runtime_watch *w, const struct sample_facts *f)
{
	struct runtime_process *p;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	p = find(w, f->pid);
	if (p && runtime_process_is_read(p)) {
		/* The thread has not waited for the turn of a process without samples. */
		if (!p->samples++)
			pthread_cond_signal(&w->wake);
		look_at_sample(w, p, f);
	}
	pthread_mutex_unlock(&w->lock);
}

/* ---- reading ----------------------------------------------------------------------------- */

/* Called with the lock, which is released meanwhile. */
static void take_turn(struct runtime_watch *w, struct runtime_process *p)
{
	struct runtime_turn t;

	runtime_process_begin_turn(p, &t);
	pthread_mutex_unlock(&w->lock);
	runtime_process_read(p, &t);
	pthread_mutex_lock(&w->lock);
	runtime_process_end_turn(p, &t);
}

/* With the lock. Without memory for them they are lost. */
static void put_ready(struct runtime_watch *w, struct bytes *records)
{
	if (!records->failed)
		bytes_put(&w->ready, records->vec.v, records->vec.n);
	w->lacks_memory |= records->failed || w->ready.failed;
	w->ready.failed = false;
	bytes_done(records);
}

/* Called with the lock, which is released meanwhile. */
static void pack(struct runtime_watch *w, struct runtime_process *p)
{
	struct bytes records = {0};

	p->busy = true;
	pthread_mutex_unlock(&w->lock);
	runtime_process_pack(p, w->writes ? &records : NULL);
	pthread_mutex_lock(&w->lock);
	put_ready(w, &records);
	runtime_process_packed(p);
}

/* Likewise: what was read since the last time. */
static void write_log(struct runtime_watch *w, struct runtime_process *p, uint64_t now)
{
	const unsigned file = w->file;
	struct bytes records = {0};

	p->busy = true;
	pthread_mutex_unlock(&w->lock);
	runtime_process_write(p, now, &records);
	pthread_mutex_lock(&w->lock);
	put_ready(w, &records);
	p->busy = false;
	if (file != w->file)
		p->n_written = 0;
}

/* A process of which something is to be written; NULL: none has, or too much is ready already, as
 * the recording's thread is slow to take it. */
static struct runtime_process *next_due(const struct runtime_watch *w, uint64_t now)
{
	for (size_t i = 0; w->writes && w->ready.vec.n < READY_BYTES && i < w->processes.n; i++)
		if (runtime_process_is_due(w->processes.v[i], now))
			return w->processes.v[i];
	return NULL;
}

/* A process that has ended a while ago, so that all records of it were read; NULL: none has. */
static struct runtime_process *next_ended(const struct runtime_watch *w, uint64_t now)
{
	for (size_t i = 0; i < w->processes.n; i++) {
		struct runtime_process *p = w->processes.v[i];

		if ((!p->has_ended && !p->is_gone) || p->is_packed || p->busy || !p->ended_ns ||
		    p->ended_ns >= now || now - p->ended_ns < ENDED_NS)
			continue;
		if (kill(p->pid, 0) && errno == ESRCH)
			return p;
		p->ended_ns = now; /* not all of its threads have, or nothing has waited for it */
	}
	return NULL;
}

/* The process whose turn it is; NULL: none yet, *next_ns: when to look again. */
static struct runtime_process *next_turn(const struct runtime_watch *w, uint64_t now,
					 uint64_t *next_ns)
{
	struct runtime_process *found = NULL;

	*next_ns = now + RUNTIME_LONGEST_NS;
	for (size_t i = 0; i < w->processes.n; i++) {
		struct runtime_process *p = w->processes.v[i];

		if (!runtime_process_is_read(p) || p->is_gone || !p->samples ||
		    !runtime_process_has_work(p))
			continue;
		if (p->due_ns <= now && (!found || p->due_ns < found->due_ns))
			found = p;
		if (p->due_ns < *next_ns)
			*next_ns = p->due_ns;
	}
	return found;
}

static void *reads(void *arg)
{
	struct runtime_watch *w = arg;

	(void)setpriority(PRIO_PROCESS, 0, NICE); /* of this thread */
	pthread_mutex_lock(&w->lock);
	while (!w->ends) {
		uint64_t next;
		struct runtime_process *p = next_turn(w, clock_ns(), &next);
		struct timespec until = {(time_t)(next / 1000000000), (long)(next % 1000000000)};

		if (p)
			take_turn(w, p);
		else if ((p = next_ended(w, clock_ns())) != NULL)
			pack(w, p);
		else if ((p = next_due(w, clock_ns())) != NULL)
			write_log(w, p, clock_ns());
		else
			pthread_cond_timedwait(&w->wake, &w->lock, &until);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- the whole --------------------------------------------------------------------------- */

int runtime_watch_new(struct runtime_watch **ret, bool writes, struct err *err)
{
	struct runtime_watch *w = calloc(1, sizeof *w);
	pthread_condattr_t attr;
	int rc;

	if (!w)
		return err_nomem(err);
	w->writes = writes;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
	rc = pthread_create(&w->thread, NULL, reads, w);
	if (rc) {
		runtime_watch_free(w);
		return err_errno(err, rc, NULL, "start a thread");
	}
	w->has_thread = true;
	*ret = w;
	return 0;
}

static void end_thread(struct runtime_watch *w)
{
	if (!w->has_thread)
		return;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	w->has_thread = false;
}

/* In the order in which they are written. */
static void number_frames(struct runtime_watch *w, struct bytes *records)
{
	struct recorded_code h;

	for (size_t at = 0; at < records->vec.n; at += h.header.size) {
		memcpy(&h, records->vec.v + at, sizeof h);
		w->frame += h.packed && !h.at;
		h.frame = w->frame;
		memcpy(records->vec.v + at, &h, sizeof h);
	}
}

void runtime_watch_take(struct runtime_watch *w, struct bytes *records)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	number_frames(w, &w->ready);
	bytes_put(records, w->ready.vec.v, w->ready.vec.n);
	bytes_done(&w->ready);
	w->ready = (struct bytes){0};
	w->lacks_memory |= records->failed;
	pthread_mutex_unlock(&w->lock);
}

void runtime_watch_begin_file(struct runtime_watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->file++;
	w->frame = 0;
	w->ready.vec.n = 0; /* the process that ends the last file has it, too */
	for (size_t i = 0; i < w->processes.n; i++)
		w->processes.v[i]->n_written = 0;
	pthread_mutex_unlock(&w->lock);
}

void runtime_watch_finish(struct runtime_watch *w, struct bytes *records, struct capture_result *r)
{
	end_thread(w);
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->processes.n; i++) {
		struct runtime_process *p = w->processes.v[i];

		if (p->busy) /* in a process that was forked: what has it is not whole */
			continue;
		p->again_ns = 0;
		if (!p->is_gone && runtime_process_has_work(p))
			take_turn(w, p);
		if (p->v8.v8)
			v8_watch_read(&p->v8, p->pid, &(struct v8_todo){0}, true, &p->log);
		runtime_process_note(p, r);
		runtime_process_write(p, clock_ns(), &w->ready);
	}
	if (w->left_out)
		capture_note(r,
			     "%zu processes with code without a file were not read, as more than "
			     "%d had such: it has no names",
			     w->left_out, PROCESSES_MAX);
	w->left_out = 0;
	if (w->lacks_memory || w->ready.failed)
		capture_note(r,
			     "there was no memory for code that runtimes made: some of it has no "
			     "names");
	w->lacks_memory = false;
	pthread_mutex_unlock(&w->lock);
	runtime_watch_take(w, records);
	if (w->frame)
		recorded_code_put_mark(records, w->frame);
}

/* The last one takes its place. */
static void remove_at(struct runtime_watch *w, size_t i)
{
	struct runtime_process *p = w->processes.v[i], *last = w->processes.v[w->processes.n - 1];

	hash_remove(&w->by_pid, (uint64_t)p->pid);
	if (last != p) /* as it is there, no memory is needed */
		(void)hash_put(&w->by_pid, (uint64_t)last->pid, (uint32_t)i);
	w->processes.v[i] = last;
	w->processes.n--;
	runtime_process_done(p);
	free(p);
}

void runtime_watch_forget(struct runtime_watch *w, uint64_t time_ns)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	for (size_t i = w->processes.n; i-- > 0;)
		if (w->processes.v[i]->is_packed && w->processes.v[i]->ended_ns < time_ns)
			remove_at(w, i);
	pthread_mutex_unlock(&w->lock);
}

static bool is_busy(const struct runtime_watch *w)
{
	for (size_t i = 0; i < w->processes.n; i++)
		if (w->processes.v[i]->busy)
			return true;
	return false;
}

void runtime_watch_hold(struct runtime_watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	for (int i = 0; is_busy(w) && i < HOLD_TRIES; i++) {
		pthread_mutex_unlock(&w->lock);
		poll(NULL, 0, HOLD_MS);
		pthread_mutex_lock(&w->lock);
	}
}

void runtime_watch_release(struct runtime_watch *w)
{
	if (w)
		pthread_mutex_unlock(&w->lock);
}

void runtime_watch_forked(struct runtime_watch *w)
{
	if (!w)
		return;
	w->has_thread = false;
	pthread_mutex_unlock(&w->lock);
}

void runtime_watch_free(struct runtime_watch *w)
{
	if (!w)
		return;
	end_thread(w);
	for (size_t i = 0; i < w->processes.n; i++) {
		struct runtime_process *p = w->processes.v[i];

		runtime_process_done(p);
		free(p);
	}
	vec_done(&w->processes);
	bytes_done(&w->ready);
	hash_done(&w->by_pid);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
