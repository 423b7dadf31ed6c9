/* runtime_watch.c - which processes run managed code, and when they are read. */
#include "capture/runtime_watch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/text.h"
#include "capture/attr.h"
#include "capture/code_copy.h"
#include "capture/code_ranges.h"
#include "capture/mmap2.h"
#include "capture/session.h"
#include "capture/v8_watch.h"
#include "functions/functions.h"
#include "runtimes/runtimes.h"

/* Limits: of processes, of methods and of code that stacks may name; of what is written of one
 * process. */
enum { PROCESSES_MAX = 4096, METHODS_MAX = 1 << 16, PLACES_MAX = 1 << 16, LOG_MAX = 128 << 20 };

/* Parts of pages that count as one place. */
enum { LINE_BYTES = 64 };

/* Of stack copies that are searched for methods, in a second. */
#define SCANS_PER_SECOND 2000

/* Where reading cannot wait for a processor, code is known sooner (getpriority(2)). */
enum { NICE = -15 };

/* Time between two readings of a process: it grows, but where a sample shows code that is not
 * known, it is this much. */
#define URGENT_NS 5000000ull
/* Between two comparisons of what was copied with what is there now. */
#define AGAIN_NS   2000000000ull
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

/* What is below `busy` belongs to the reading thread while that is set, else to the thread that
 * holds the lock. */
struct process {
	pid_t pid;
	bool is_jvm, is_v8;
	/* Its stacks are executable, so that memory with code may be a stack, which holds what must
	 * not be in a recording (secrets.h, environs.h): nothing is copied. */
	bool has_code_stacks;
	bool lacks_code; /* such code has run */
	bool is_new;	 /* its program is another one since the last reading */
	/* Times of records, which come in another order where a process has changed its processor:
	 * the program began, the last mapping of each kind was made. */
	uint64_t exec_ns, jvm_ns, v8_ns, stack_ns, ranges_ns;
	bool busy, is_gone;
	bool has_ended; /* as a record says; its number may be given again */
	struct code_ranges ranges;
	uint64_t samples;		     /* since the last reading */
	uint64_t due_ns, again_ns;	     /* of the next one, of the next comparison */
	uint64_t first_ns, last_ns, cost_ns; /* of the first one; the last; all, of a processor */
	/* Addresses on stacks that were not looked at yet: that may be of methods; in code that is
	 * to be copied, or that was not known. seen_*: all of them. */
	VEC(uint64_t) methods;
	VEC(uint64_t) places;
	struct hash_table seen, seen_places;
	struct hotspot *hotspot; /* of the reading thread */
	struct code_copy copy;
	struct v8_watch v8; /* V8's functions */
	struct code_log log;
	struct hotspot_counts counts;
	struct err why; /* code ERR_OK: it could be read */
	unsigned tries;
	bool ended_early; /* there was nothing to read any more */
	bool is_noted;
};

struct runtime_watch {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool has_thread, ends;
	struct hash_table by_pid; /* -> index in processes */
	VEC(struct process *) processes;
	uint64_t second, scans; /* searched in that second */
	size_t reuse;		/* where to look for one that can be forgotten */
	size_t left_out;	/* processes for which there was no room */
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

static void process_done(struct process *p)
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
}

/* In the place of one that has ended and of which nothing was read; NULL: there is none. */
static struct process *reuse(struct runtime_watch *w, uint32_t pid)
{
	for (size_t i = 0; i < w->processes.n; i++) {
		const size_t at = (w->reuse + i) % w->processes.n;
		struct process *p = w->processes.v[at];

		if (!p->has_ended || p->busy || p->log.bytes.n > CODE_LOG_HEADER_BYTES)
			continue;
		if (hash_get(&w->by_pid, (uint64_t)p->pid) == at)
			hash_remove(&w->by_pid, (uint64_t)p->pid);
		process_done(p);
		*p = (struct process){.pid = (pid_t)pid};
		w->reuse = at + 1;
		return hash_put(&w->by_pid, pid, (uint32_t)at) ? NULL : p;
	}
	w->left_out++;
	return NULL;
}

/* NULL: too many, or out of memory. */
static struct process *find_or_add(struct runtime_watch *w, uint32_t pid)
{
	struct process *p = find(w, pid);

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

static bool ends_in(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && !strcmp(path + n - m, end);
}

static void note_kind(bool *is, uint64_t *is_ns, bool now, uint64_t time_ns)
{
	*is |= now;
	if (now && *is_ns < time_ns)
		*is_ns = time_ns;
}

static void note_map(struct runtime_watch *w, const struct mmap2 *m, uint64_t time_ns)
{
	const bool is_jvm = ends_in(m->path, "/libjvm.so"), v8 = v8_watch_is(m->path);
	const bool is_stack = str_starts_with(m->path, "[stack");
	const bool has_code = code_ranges_are(m);
	bool has_ranges = false;
	struct process *p;

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

/* A new program, or process: all that was mapped before is gone. */
static void begin_program(struct process *p, uint64_t time_ns)
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

static void note_exec(struct runtime_watch *w, uint32_t pid, uint64_t time_ns)
{
	struct process *p = find(w, pid);

	if (p && time_ns >= p->exec_ns)
		begin_program(p, time_ns);
}

static void note_fork(struct runtime_watch *w, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	const struct process *from = find(w, parent);
	struct process *p = from && pid != parent ? find_or_add(w, pid) : NULL;

	if (!p || p == from || time_ns < p->exec_ns)
		return;
	begin_program(p, time_ns);
	p->is_gone = p->has_ended = false;
	p->is_jvm |= from->is_jvm;
	p->is_v8 |= from->is_v8;
	p->has_code_stacks |= from->has_code_stacks;
	for (size_t i = 0; i < from->ranges.v.n; i++)
		code_ranges_add(&p->ranges, from->ranges.v.v[i].start, from->ranges.v.v[i].end);
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
	else if (h.type == PERF_RECORD_EXIT && pid == buf_u32(&b) && find(w, pid))
		find(w, pid)->has_ended = true;
	pthread_mutex_unlock(&w->lock);
}

/* ---- samples ----------------------------------------------------------------------------- */

/* When what reading has cost is paid. */
static uint64_t paid_ns(const struct process *p)
{
	return p->cost_ns <= COST_FREE_NS ? 0
					  : p->first_ns + COST_SHARE * (p->cost_ns - COST_FREE_NS);
}

static void may_be_method(struct process *p, uint64_t at)
{
	if (!p->is_jvm || at % 8 || at < 65536 || at >> 47 || p->seen.n >= METHODS_MAX ||
	    hash_get(&p->seen, at) != HASH_NONE || vec_push(&p->methods, at))
		return;
	/* When out of memory it may be looked at twice. */
	(void)hash_put(&p->seen, at, 0);
}

/* Code that is not known is to be read soon, and asked for once. Copies are of whole pages, but a
 * page is read again when other parts of it run: code is added to it. What ran is complete. */
static void want_code(struct runtime_watch *w, struct process *p, uint64_t addr)
{
	const uint64_t key = p->is_jvm ? addr : addr / LINE_BYTES;
	uint64_t due = p->last_ns + URGENT_NS, paid = paid_ns(p);

	if (p->seen_places.n >= PLACES_MAX || hash_get(&p->seen_places, key) != HASH_NONE ||
	    (p->is_jvm && (p->busy || !p->hotspot || hotspot_knows(p->hotspot, addr))))
		return;
	if (hash_put(&p->seen_places, key, 0) || (!p->is_jvm && vec_push(&p->places, addr)))
		return;
	due = due < paid ? paid : due;
	if (p->due_ns > due || !p->is_jvm) {
		p->due_ns = due;
		pthread_cond_signal(&w->wake);
	}
}

/* V8's code keeps frame pointers: only of what has run when a sample was taken the bytes are
 * needed, as it may not have made its frame yet. Names are needed of all. */
static void look_at_v8(struct runtime_watch *w, struct process *p, const struct sample_facts *f)
{
	const uint64_t due = p->last_ns + URGENT_NS, paid = paid_ns(p);

	if (!v8_watch_scan(&p->v8, &p->ranges, f, p->busy))
		return;
	if (p->due_ns > due || !p->due_ns) {
		p->due_ns = due < paid ? paid : due;
		pthread_cond_signal(&w->wake);
	}
}

/* Words that are addresses of code, and interpreter frames of HotSpot: a record whose return
 * address is in code without a file; below it the caller's stack pointer and, at the third word,
 * the method (frame_x86.hpp). */
static void scan_stack(struct runtime_watch *w, struct process *p, const struct sample_facts *f)
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

/* True if its memory is read: of JVMs what they say of themselves, of others copies. */
static bool is_read(const struct process *p)
{
	return p->is_jvm || p->ranges.v.n;
}

static void look_at_sample(struct runtime_watch *w, struct process *p, const struct sample_facts *f)
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
	may_be_method(p, f->bx); /* of the method that is being entered */
	scan_stack(w, p, f);
}

void runtime_watch_sample(struct runtime_watch *w, const struct sample_facts *f)
{
	struct process *p;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	p = find(w, f->pid);
	if (p && is_read(p)) {
		/* The thread has not waited for the turn of a process without samples. */
		if (!p->samples++)
			pthread_cond_signal(&w->wake);
		look_at_sample(w, p, f);
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

/* A JVM that has just started is not ready to be read: it is tried again as long as it runs, in the
 * intervals and at the cost of all readings (plan_next()). */
static void open_jvm(struct process *p)
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
		code_log_begin(&p->log, (uint32_t)p->pid, now_ns(CLOCK_MONOTONIC));
}

/* What the last program had. */
static void forget(struct process *p)
{
	hotspot_free(p->hotspot);
	p->hotspot = NULL;
	p->tries = 0;
	v8_watch_forget(&p->v8, &p->log);
	code_copy_reset(&p->copy);
}

static void read_jvm(struct process *p, const uint64_t *methods, size_t n)
{
	const uint64_t now = now_ns(CLOCK_MONOTONIC);

	open_jvm(p);
	if (!p->hotspot || p->log.bytes.n > LOG_MAX)
		return;
	(void)hotspot_snapshot(p->hotspot, methods, n, now, &p->log, &p->counts);
	if (p->counts.is_gone)
		(void)hotspot_end(p->hotspot, &p->log);
}

/* Readings become rarer, and never cost more than their share. */
static void plan_next(struct process *p, uint64_t now)
{
	uint64_t interval, paid = paid_ns(p);

	if (!p->first_ns)
		p->first_ns = now;
	p->last_ns = now;
	interval = p->is_jvm ? (now - p->first_ns) / AGE_SHARE : AGAIN_NS;
	if (interval < FIRST_NS)
		interval = FIRST_NS;
	if (interval > LONGEST_NS && p->is_jvm)
		interval = LONGEST_NS;
	p->due_ns = now + interval;
	if ((p->places.n || p->v8.todo.n) && p->due_ns > now + URGENT_NS)
		p->due_ns = now + URGENT_NS;
	if (p->due_ns < paid)
		p->due_ns = paid;
}

/* What a reading is given: of the process, while it is not locked. */
struct turn {
	uint64_t *methods, *places;
	size_t n_methods, n_places;
	struct v8_todo v8;
	struct code_ranges ranges;
	bool is_jvm, is_v8, is_new, again;
};

static void begin_turn(struct process *p, struct turn *t)
{
	const uint64_t now = now_ns(CLOCK_MONOTONIC);

	*t = (struct turn){.methods = p->methods.v,
			   .n_methods = p->methods.n,
			   .places = p->places.v,
			   .n_places = p->places.n,
			   .is_jvm = p->is_jvm,
			   .is_v8 = p->is_v8,
			   .is_new = p->is_new,
			   .again = now >= p->again_ns};
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

/* The process is `busy`: its memory is read without the lock. */
static void read_process(struct process *p, const struct turn *t)
{
	const uint64_t now = now_ns(CLOCK_MONOTONIC);

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
	if ((t->is_v8 || v8_watch_probe(&p->v8, p->pid)) && p->log.bytes.n <= LOG_MAX)
		v8_watch_read(&p->v8, p->pid, &t->v8, false, &p->log);
}

/* Called with the lock, which is released meanwhile. */
static void take_turn(struct runtime_watch *w, struct process *p)
{
	const uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
	struct turn t;

	begin_turn(p, &t);
	pthread_mutex_unlock(&w->lock);
	read_process(p, &t);
	free(t.methods);
	free(t.places);
	free(t.v8.v);
	code_ranges_done(&t.ranges);
	pthread_mutex_lock(&w->lock);
	p->busy = false;
	p->is_v8 |= p->v8.v8 && !p->is_new;
	p->is_gone |= p->counts.is_gone || p->copy.is_gone || p->v8.counts.is_gone;
	p->cost_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	plan_next(p, now_ns(CLOCK_MONOTONIC));
}

/* Of what is no JVM. */
static bool has_work(const struct process *p)
{
	return p->places.n || p->copy.pages.n || p->v8.todo.n;
}

/* The process whose turn it is; NULL: none yet, *next_ns: when to look again. */
static struct process *next_turn(const struct runtime_watch *w, uint64_t now, uint64_t *next_ns)
{
	struct process *found = NULL;

	*next_ns = now + LONGEST_NS;
	for (size_t i = 0; i < w->processes.n; i++) {
		struct process *p = w->processes.v[i];

		if (!is_read(p) || p->is_gone || !p->samples || (!p->is_jvm && !has_work(p)))
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
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	section->failed |= !packed || !zstd || p->log.failed;
	if (zstd) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	}
	n = packed && zstd ? ZSTD_compress2(zstd, packed, room, p->log.bytes.v, p->log.bytes.n) : 0;
	ZSTD_freeCCtx(zstd);
	if (packed && n && !ZSTD_isError(n)) {
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

/* A recording is finished again when its bundle is there: once is enough. */
static void note_process(struct process *p, struct capture_result *r)
{
	if (p->is_noted)
		return;
	p->is_noted = true;
	if (p->is_jvm && p->ended_early && !p->tries)
		capture_note(r,
			     "process %d ended before its JVM was read: its Java code has no names",
			     (int)p->pid);
	if (p->why.code == ERR_PERMISSION)
		capture_note(
			r,
			"process %d is a JVM whose memory this user may not read: its code has "
			"no names; record as root, or: sudo sysctl kernel.yama.ptrace_scope=0",
			(int)p->pid);
	else if (p->why.code != ERR_OK && p->why.code != ERR_NOT_FOUND)
		capture_note(r, "process %d: %s %s: its Java code has no names", (int)p->pid,
			     p->why.source, p->why.what);
	if (p->is_jvm && p->hotspot && p->ranges.v.n && p->log.bytes.n <= CODE_LOG_HEADER_BYTES)
		capture_note(r,
			     "process %d: its JVM shows no code that could be read: its Java code "
			     "has no names",
			     (int)p->pid);
	if (p->copy.error == EACCES || p->copy.error == EPERM)
		capture_note(r,
			     "process %d has code without a file, which this user may not read: "
			     "record as root, or: sudo sysctl kernel.yama.ptrace_scope=0",
			     (int)p->pid);
	if (p->lacks_code)
		capture_note(
			r,
			"process %d has code without a file, which is not copied, as its stacks "
			"are executable, too: some of its stacks may end early",
			(int)p->pid);
	if (p->copy.is_cut)
		capture_note(r,
			     "process %d has more code without a file than the %d MB that are "
			     "copied: some of its stacks may end early",
			     (int)p->pid, CODE_COPY_MAX >> 20);
	if (p->v8.counts.is_cut)
		capture_note(r,
			     "process %d has more JavaScript functions than are read: some have "
			     "no names",
			     (int)p->pid);
	if (p->counts.is_cut || (p->is_jvm && p->log.bytes.n > LOG_MAX))
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
		p->again_ns = 0;
		if (!p->is_gone && (p->is_jvm ? p->samples : has_work(p)))
			take_turn(w, p);
		if (p->v8.v8)
			v8_watch_read(&p->v8, p->pid, &(struct v8_todo){0}, true, &p->log);
		note_process(p, r);
		if (p->log.bytes.n > CODE_LOG_HEADER_BYTES)
			add_process(p, section);
	}
	if (w->left_out)
		capture_note(r,
			     "%zu processes with code without a file were not read, as more than "
			     "%d had such: it has no names",
			     w->left_out, PROCESSES_MAX);
	w->left_out = 0;
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

		process_done(p);
		free(p);
	}
	vec_done(&w->processes);
	hash_done(&w->by_pid);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
