/* runtime_watch.c - which processes run managed code, and when they are read. */
#include "capture/runtime_watch.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "capture/mmap2.h"
#include "capture/session.h"
#include "functions/functions.h"
#include "runtimes/runtimes.h"

/* Limits: of processes, of their pieces of memory with code, of methods that stacks may name; of
 * what is written of one process. */
enum {
	PROCESSES_MAX = 4096,
	RANGES_MAX = 64,
	METHODS_MAX = 1 << 16,
	LOG_MAX = 128 << 20,
	TRIES_MAX = 32
};

/* Of stack copies that are searched for methods, in a second. */
#define SCANS_PER_SECOND 2000

/* Time between two readings of a process: it grows. */
#define FIRST_NS   50000000ull
#define LONGEST_NS 1000000000ull
#define AGE_SHARE  8 /* of the time since the first one: most code is made at the start */
/* Of a processor: the reciprocal; the first readings, which have much to read, may take this much
 * more. */
#define COST_SHARE	100
#define COST_FREE_NS	300000000ull
#define ZSTD_LEVEL	3
#define FRAME_BYTES_MAX (64u << 10)
/* A recording waits no longer for what is being read, because its rings fill. */
enum { HOLD_MS = 2, HOLD_TRIES = 50 };

struct range {
	uint64_t start, end;
};

/* What is below `busy` belongs to the reading thread while that is set, else to the thread that
 * holds the lock. */
struct process {
	pid_t pid;
	bool is_jvm;
	bool is_new; /* its program is another one since the last reading */
	bool busy, is_gone;
	struct range ranges[RANGES_MAX]; /* executable memory without a file */
	size_t n_ranges;
	uint64_t samples;	    /* since the last reading */
	uint64_t due_ns;	    /* of the next one */
	uint64_t first_ns, cost_ns; /* of the first one; of all, of a processor */
	struct hash_table seen;	    /* addresses that may be of methods, on stacks */
	VEC(uint64_t) methods;	    /* those that were not looked at yet */
	struct hotspot *hotspot;    /* of the reading thread */
	struct code_log log;
	struct hotspot_counts counts;
	struct err why; /* code ERR_OK: it could be read */
	unsigned tries;
};

struct runtime_watch {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool has_thread, ends;
	struct hash_table by_pid; /* -> index in processes */
	VEC(struct process *) processes;
	uint64_t second, scans; /* searched in that second */
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts = {0};

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- processes --------------------------------------------------------------------------- */

static struct process *find(const struct runtime_watch *w, uint32_t pid)
{
	uint32_t i = hash_get(&w->by_pid, pid);

	return i == HASH_NONE ? NULL : w->processes.v[i];
}

/* NULL: too many, or out of memory. */
static struct process *find_or_add(struct runtime_watch *w, uint32_t pid)
{
	struct process *p = find(w, pid);

	if (p || w->processes.n >= PROCESSES_MAX)
		return p;
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

static void add_range(struct process *p, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < p->n_ranges; i++) {
		struct range *r = &p->ranges[i];

		if (start <= r->end && end >= r->start) {
			r->start = start < r->start ? start : r->start;
			r->end = end > r->end ? end : r->end;
			return;
		}
	}
	if (p->n_ranges < RANGES_MAX)
		p->ranges[p->n_ranges++] = (struct range){start, end};
}

static bool is_code(const struct process *p, uint64_t addr)
{
	for (size_t i = 0; i < p->n_ranges; i++)
		if (addr >= p->ranges[i].start && addr < p->ranges[i].end)
			return true;
	return false;
}

static bool ends_in(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && !strcmp(path + n - m, end);
}

static void note_map(struct runtime_watch *w, const struct mmap2 *m)
{
	bool is_jvm = ends_in(m->path, "/libjvm.so");
	struct process *p;

	if (!(m->prot & PROT_EXEC) || (!is_jvm && strcmp(m->path, "//anon") != 0))
		return;
	p = find_or_add(w, m->pid);
	if (!p)
		return;
	p->is_jvm |= is_jvm;
	if (!is_jvm)
		add_range(p, m->start, m->start + m->bytes);
}

/* A new program: all that was mapped is gone. */
static void note_exec(struct runtime_watch *w, uint32_t pid)
{
	struct process *p = find(w, pid);

	if (!p)
		return;
	p->is_jvm = false;
	p->is_new = true;
	p->n_ranges = 0;
	p->methods.n = 0;
	hash_done(&p->seen);
}

static void note_fork(struct runtime_watch *w, uint32_t pid, uint32_t parent)
{
	const struct process *from = find(w, parent);
	struct process *p = from && pid != parent ? find_or_add(w, pid) : NULL;

	if (!p)
		return;
	note_exec(w, pid);
	p->is_gone = false;
	p->is_jvm = from->is_jvm;
	p->n_ranges = from->n_ranges;
	memcpy(p->ranges, from->ranges, sizeof p->ranges);
}

void runtime_watch_record(struct runtime_watch *w, const uint8_t *rec, size_t n)
{
	struct buf b = buf_make(rec, n, 0, false);
	struct perf_event_header h;
	uint32_t pid, other;
	struct mmap2 m;

	if (!w || n < sizeof h + 16)
		return;
	memcpy(&h, rec, sizeof h);
	buf_skip(&b, sizeof h);
	pid = buf_u32(&b);
	other = buf_u32(&b); /* COMM: tid; FORK: parent */
	pthread_mutex_lock(&w->lock);
	if (mmap2_parse(rec, n, &m))
		note_map(w, &m);
	else if (h.type == PERF_RECORD_COMM && h.misc & PERF_RECORD_MISC_COMM_EXEC)
		note_exec(w, pid);
	else if (h.type == PERF_RECORD_FORK)
		note_fork(w, pid, other);
	pthread_mutex_unlock(&w->lock);
}

/* ---- samples ----------------------------------------------------------------------------- */

static void may_be_method(struct process *p, uint64_t at)
{
	if (at % 8 || at < 65536 || at >> 47 || p->seen.n >= METHODS_MAX ||
	    hash_get(&p->seen, at) != HASH_NONE || vec_push(&p->methods, at))
		return;
	/* When out of memory it may be looked at twice. */
	(void)hash_put(&p->seen, at, 0);
}

/* An interpreter frame: a record whose return address is in code without a file; below it the
 * caller's stack pointer and, at the third word, the method (frame_x86.hpp). */
static void scan_stack(struct process *p, const struct sample_facts *f)
{
	size_t n = f->stack_bytes / 8;

	for (size_t i = 3; i + 1 < n; i++) {
		uint64_t ra, sender, at, method;

		memcpy(&ra, f->stack + 8 * (i + 1), sizeof ra);
		if (!is_code(p, ra))
			continue;
		memcpy(&sender, f->stack + 8 * (i - 1), sizeof sender);
		at = f->sp + 8 * i;
		if (sender <= at || sender - at > FRAME_BYTES_MAX)
			continue;
		memcpy(&method, f->stack + 8 * (i - 3), sizeof method);
		may_be_method(p, method);
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

void runtime_watch_sample(struct runtime_watch *w, const struct sample_facts *f)
{
	struct process *p;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	p = find(w, f->pid);
	if (p && p->is_jvm) {
		if (!p->samples++ && !p->due_ns)
			pthread_cond_signal(&w->wake);
		if (f->stack && f->sp && may_scan(w, f->time_ns)) {
			may_be_method(p, f->bx); /* of the method that is being entered */
			scan_stack(p, f);
		}
	}
	pthread_mutex_unlock(&w->lock);
}

/* ---- reading ----------------------------------------------------------------------------- */

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
		if (ends_in(line, "/libjvm.so") || ends_in(line, "/libjvm.so (deleted)"))
			start = strtoull(line, NULL, 16);
	}
	if (f)
		fclose(f);
	return start;
}

/* A JVM that has just started is not ready to be read: it is tried again. */
static void open_jvm(struct process *p)
{
	uint64_t base = find_libjvm(p->pid);

	if (p->is_new) {
		hotspot_free(p->hotspot);
		p->hotspot = NULL;
		p->is_new = false;
		p->tries = 0;
	}
	if (p->hotspot || p->tries >= TRIES_MAX || !base)
		return;
	p->tries++;
	p->why = (struct err){0};
	if (!hotspot_open(&p->hotspot, p->pid, base, &p->why) && !p->log.bytes.n)
		code_log_begin(&p->log, (uint32_t)p->pid, now_ns(CLOCK_MONOTONIC));
}

/* The process is `busy`: its memory is read without the lock. */
static void read_process(struct process *p, const uint64_t *methods, size_t n)
{
	const uint64_t now = now_ns(CLOCK_MONOTONIC);

	open_jvm(p);
	if (!p->hotspot || p->log.bytes.n > LOG_MAX)
		return;
	if (hotspot_snapshot(p->hotspot, now, &p->log, &p->counts))
		return;
	for (size_t i = 0; i < n && !p->counts.is_gone; i++)
		if (hotspot_method(p->hotspot, methods[i], now, &p->log, &p->counts))
			return;
}

/* Readings become rarer, and never cost more than their share. */
static void plan_next(struct process *p, uint64_t now)
{
	uint64_t paid, interval;

	if (!p->first_ns)
		p->first_ns = now;
	interval = (now - p->first_ns) / AGE_SHARE;
	if (interval < FIRST_NS)
		interval = FIRST_NS;
	if (interval > LONGEST_NS)
		interval = LONGEST_NS;
	p->due_ns = now + interval;
	if (p->cost_ns <= COST_FREE_NS)
		return;
	paid = p->first_ns + COST_SHARE * (p->cost_ns - COST_FREE_NS);
	if (p->due_ns < paid)
		p->due_ns = paid;
}

/* Called with the lock, which is released meanwhile. */
static void take_turn(struct runtime_watch *w, struct process *p)
{
	const uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t *methods = p->methods.v;
	size_t n = p->methods.n;

	p->methods.v = NULL;
	p->methods.n = p->methods.cap = 0;
	p->samples = 0;
	p->busy = true;
	pthread_mutex_unlock(&w->lock);
	read_process(p, methods, n);
	free(methods);
	pthread_mutex_lock(&w->lock);
	p->busy = false;
	p->is_gone |= p->counts.is_gone;
	p->cost_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	plan_next(p, now_ns(CLOCK_MONOTONIC));
}

/* The process whose turn it is; NULL: none yet, *next_ns: when to look again. */
static struct process *next_turn(const struct runtime_watch *w, uint64_t now, uint64_t *next_ns)
{
	struct process *found = NULL;

	*next_ns = now + LONGEST_NS;
	for (size_t i = 0; i < w->processes.n; i++) {
		struct process *p = w->processes.v[i];

		if (!p->is_jvm || p->is_gone || !p->samples)
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

	pthread_mutex_lock(&w->lock);
	while (!w->ends) {
		uint64_t next;
		struct process *p = next_turn(w, now_ns(CLOCK_MONOTONIC), &next);
		struct timespec until = {(time_t)(next / 1000000000), (long)(next % 1000000000)};

		if (p)
			take_turn(w, p);
		else
			pthread_cond_timedwait(&w->wake, &w->lock, &until);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- the whole --------------------------------------------------------------------------- */

int runtime_watch_new(struct runtime_watch **ret, struct err *err)
{
	struct runtime_watch *w = calloc(1, sizeof *w);
	pthread_condattr_t attr;
	int rc;

	if (!w)
		return err_nomem(err);
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

static void add_process(const struct process *p, struct bytes *section)
{
	size_t room = ZSTD_compressBound(p->log.bytes.n), n;
	uint8_t *packed = malloc(room);

	section->failed |= !packed || p->log.failed;
	n = packed ? ZSTD_compress(packed, room, p->log.bytes.v, p->log.bytes.n, ZSTD_LEVEL) : 0;
	if (packed && !ZSTD_isError(n)) {
		if (!section->vec.n) {
			bytes_u32(section, RUNTIME_CODE_MAGIC);
			bytes_u32(section, RUNTIME_CODE_VERSION);
		}
		bytes_u32(section, (uint32_t)p->pid);
		bytes_u32(section, 0);
		bytes_u64(section, p->log.bytes.n);
		bytes_u64(section, n);
		bytes_put(section, packed, n);
	}
	free(packed);
}

static void note_process(const struct process *p, struct capture_result *r)
{
	if (p->why.code == ERR_PERMISSION)
		capture_note(
			r,
			"process %d is a JVM whose memory this user may not read: its code has "
			"no names; record as root, or: sudo sysctl kernel.yama.ptrace_scope=0",
			(int)p->pid);
	else if (p->why.code != ERR_OK && p->why.code != ERR_NOT_FOUND)
		capture_note(r, "process %d: %s %s: its Java code has no names", (int)p->pid,
			     p->why.source, p->why.what);
	if (p->counts.is_cut || p->log.bytes.n > LOG_MAX)
		capture_note(r,
			     "process %d has more code than is read: some Java code has no names",
			     (int)p->pid);
}

void runtime_watch_finish(struct runtime_watch *w, struct bytes *section, struct capture_result *r)
{
	end_thread(w);
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->processes.n; i++) {
		struct process *p = w->processes.v[i];

		if (p->busy) /* in a process that was forked: what has it is not whole */
			continue;
		if (p->is_jvm && !p->is_gone && p->samples)
			take_turn(w, p);
		note_process(p, r);
		if (p->log.bytes.n)
			add_process(p, section);
	}
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
		struct process *p = w->processes.v[i];

		hash_done(&p->seen);
		vec_done(&p->methods);
		hotspot_free(p->hotspot);
		code_log_done(&p->log);
		free(p);
	}
	vec_done(&w->processes);
	hash_done(&w->by_pid);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
