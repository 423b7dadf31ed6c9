/* touch.c - reads a byte of each missing stack page. */
#include "capture/touch.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "capture/mmap2.h"

/* Limits: on pages of one call (the largest copy, and the thread's own data above its first frame),
 * and on places that are remembered. */
enum { PAGES_PER_CALL = 18, SEEN_MAX = 1 << 16 };

void touch_init(struct touch *t)
{
	*t = (struct touch){.fd = -1};
}

void touch_done(struct touch *t)
{
	if (t->fd >= 0)
		close(t->fd);
	hash_done(&t->seen);
	touch_init(t);
}

static int memory_of(struct touch *t, pid_t pid)
{
	char path[32];

	if (t->pid == pid)
		return t->fd;
	if (t->fd >= 0)
		close(t->fd);
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	t->pid = pid;
	t->fd = open(path, O_RDONLY | O_CLOEXEC);
	return t->fd;
}

/* Reads a byte of the page; true if that worked. The open file may be the memory of the program
 * before an exec, so the first failure opens it again. */
static bool touch_page(struct touch *t, pid_t pid, uint64_t at, bool is_first)
{
	char byte;

	if (memory_of(t, pid) < 0)
		return false;
	if (pread(t->fd, &byte, 1, (off_t)at) == 1)
		return true;
	if (!is_first)
		return false;
	close(t->fd);
	t->fd = -1;
	t->pid = 0;
	return memory_of(t, pid) >= 0 && pread(t->fd, &byte, 1, (off_t)at) == 1;
}

static void touch_pages(struct touch *t, pid_t pid, uint64_t at, uint64_t end)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (unsigned n = 0; n < PAGES_PER_CALL && at < end && touch_page(t, pid, at, !n);
	     n++, at += page)
		t->pages++;
}

void touch_stack(struct touch *t, pid_t pid, pid_t tid, uint64_t at, uint64_t bytes)
{
	uint64_t key = hash_mix((uint64_t)tid, at);

	if (t->seen.n >= SEEN_MAX) /* of threads that have ended, most of them */
		hash_done(&t->seen);
	if (hash_get(&t->seen, key) == HASH_NONE && !hash_put(&t->seen, key, 0))
		touch_pages(t, pid, at, at + bytes);
}

/* ---- stacks of new threads ----------------------------------------------------------------- */

/* Smallest mapping that is taken for a stack. glibc (to 2.41) and musl reserve the address space of
 * stack and guard and then make all but the guard accessible; later versions map the stack itself.
 * Heaps of threads and the main heap begin smaller than this. */
#define STACK_MIN ((uint64_t)256 << 10)

/* Touches the top part of a stack: a copy that reaches the thread's first frame, which is below the
 * thread's own data, begins there. */
static void touch_top(struct touch *t, const struct touch_map *m, uint64_t bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t part = ((bytes + page - 1) / page + 1) * page;

	if (bytes)
		touch_pages(t, m->pid, m->end - m->start > part ? m->end - part : m->start, m->end);
}

/* The kernel merges adjacent mappings and reports their common end: the new mapping ends where a
 * known stack begins. */
static uint64_t end_of_new(const struct touch *t, const struct touch_map *m)
{
	uint64_t end = m->end;

	for (size_t i = 0; i < TOUCH_STACKS; i++) {
		const struct touch_map *o = &t->stacks[i];

		if (o->pid == m->pid && o->start > m->start && o->start < end)
			end = o->start;
	}
	return end;
}

void touch_note_map(struct touch *t, const struct touch_map *m, bool is_reserved)
{
	struct touch_mapper *to = &t->mappers[(unsigned)m->tid % TOUCH_MAPS];
	uint64_t end, n;

	if (to->map.pid != m->pid || to->map.tid != m->tid)
		*to = (struct touch_mapper){.map = {.pid = m->pid, .tid = m->tid}};
	if (is_reserved) {
		to->reserved = m->start;
		to->reserved_end = m->end;
		return;
	}
	end = end_of_new(t, m);
	n = end - m->start;
	if (n < STACK_MIN && (m->start < to->reserved || end > to->reserved_end ||
			      n < (to->reserved_end - to->reserved) / 2))
		return;
	to->map.start = m->start;
	to->map.end = end;
}

/* The stack that was freed last: glibc reuses that one. NULL: none is free. */
static struct touch_map *free_stack(struct touch *t, pid_t pid)
{
	struct touch_map *found = NULL;

	for (size_t i = 0; i < TOUCH_STACKS; i++) {
		struct touch_map *m = &t->stacks[i];

		if (m->end && m->pid == pid && !m->tid && (!found || m->freed > found->freed))
			found = m;
	}
	return found;
}

void touch_thread_began(struct touch *t, pid_t pid, pid_t parent, pid_t tid, uint64_t bytes)
{
	struct touch_map *new = &t->mappers[(unsigned)parent % TOUCH_MAPS].map, *to;

	t->sure[(unsigned)tid % TOUCH_SURE] = 0;
	if (!new->end || new->pid != pid || new->tid != parent) {
		to = free_stack(t, pid);
		if (to)
			to->tid = tid;
		return;
	}
	to = &t->stacks[t->n_stacks++ % TOUCH_STACKS];
	*to = *new;
	to->tid = tid;
	new->end = 0;
	touch_top(t, to, bytes);
}

static struct touch_map *stack_of(struct touch *t, pid_t pid, pid_t tid)
{
	for (size_t i = 0; i < TOUCH_STACKS; i++)
		if (t->stacks[i].pid == pid && t->stacks[i].tid == tid)
			return &t->stacks[i];
	return NULL;
}

static struct touch_map *stack_at(struct touch *t, pid_t pid, uint64_t sp)
{
	for (size_t i = 0; i < TOUCH_STACKS; i++) {
		struct touch_map *m = &t->stacks[i];

		if (m->pid == pid && sp >= m->start && sp < m->end)
			return m;
	}
	return NULL;
}

void touch_note_sample(struct touch *t, pid_t pid, pid_t tid, uint64_t sp)
{
	pid_t *sure = &t->sure[(unsigned)tid % TOUCH_SURE];
	struct touch_map *is, *was;

	if (*sure == tid)
		return;
	*sure = tid;
	is = stack_at(t, pid, sp);
	if (!is || is->tid == tid)
		return;
	was = stack_of(t, pid, tid);
	if (was)
		was->tid = is->tid;
	is->tid = tid;
}

void touch_thread_ended(struct touch *t, pid_t pid, pid_t tid, uint64_t bytes)
{
	struct touch_map *m = stack_of(t, pid, tid);

	t->sure[(unsigned)tid % TOUCH_SURE] = tid; /* its last samples are read after this */
	/* The start of this thread may have been read, from another CPU's ring, before the end of
	 * the thread whose stack it reused. */
	if (!m)
		m = free_stack(t, pid);
	if (!m)
		return;
	m->tid = 0;
	m->freed = ++t->n_freed;
	touch_top(t, m, bytes);
}

/* ---- records --------------------------------------------------------------------------------- */

static void note_map(struct touch *t, const struct mmap2 *m)
{
	const struct touch_map map = {
		.start = m->start,
		.end = m->start + m->bytes,
		.pid = (pid_t)m->pid,
		.tid = (pid_t)m->tid,
	};

	if ((m->prot == PROT_NONE || m->prot == (PROT_READ | PROT_WRITE)) &&
	    !strcmp(m->path, "//anon"))
		touch_note_map(t, &map, m->prot == PROT_NONE);
}

/* Of FORK and EXIT alike: u32 pid, ppid, tid, ptid. */
static void note_thread(struct touch *t, const uint8_t *rec, size_t n, bool began, uint64_t bytes)
{
	struct buf b = buf_make(rec, n, 0, false);
	pid_t pid, ppid, tid, ptid;

	buf_skip(&b, sizeof(struct perf_event_header));
	pid = (pid_t)buf_u32(&b);
	ppid = (pid_t)buf_u32(&b);
	tid = (pid_t)buf_u32(&b);
	ptid = (pid_t)buf_u32(&b);
	if (pid == tid || (began && pid != ppid))
		return;
	t->threads++;
	if (began)
		touch_thread_began(t, pid, ptid, tid, bytes);
	else
		touch_thread_ended(t, pid, tid, bytes);
}

void touch_note_record(struct touch *t, const uint8_t *rec, size_t n, uint64_t stack_bytes)
{
	struct perf_event_header h;
	struct mmap2 m;

	memcpy(&h, rec, sizeof h);
	if (h.type == PERF_RECORD_FORK || h.type == PERF_RECORD_EXIT)
		note_thread(t, rec, n, h.type == PERF_RECORD_FORK, stack_bytes);
	else if (mmap2_parse(rec, n, &m))
		note_map(t, &m);
}
