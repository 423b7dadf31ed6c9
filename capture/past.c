/* past.c - drops the records of processes that are over. */
#include "capture/past.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "capture/attr.h"
#include "capture/mmap2.h"
#include "reader/format.h"

#define COMPACT_MIN ((size_t)1 << 20)
#define LATE_NS	    5000000000ull /* what rings of other CPUs may still hold */

/* A program that a process runs: from its fork or exec to its end or the next exec. */
struct image {
	uint32_t from;	/* whose maps it has; NO_IMAGE: none */
	uint32_t needs; /* images that have its maps */
	int32_t threads;
	bool leader_ended, replaced, is_over;
};

struct entry {
	uint64_t time_ns;
	size_t at;
	uint32_t image, tid; /* tid: of a thread's FORK, COMM or EXIT; 0: of the process */
	bool drop;
};

#define NO_IMAGE UINT32_MAX

struct sorting {
	VEC(struct entry) entries;
	VEC(struct image) images;
	struct hash_table by_pid; /* -> image */
	struct hash_table ended;  /* image and tid of threads -> 1 */
	struct hash_table by_map; /* image and start -> entry */
	uint64_t sure_ns;	  /* what ended before has ended */
	bool failed;
};

static struct perf_event_header header_at(const struct past *p, size_t at)
{
	struct perf_event_header h;

	memcpy(&h, p->records.vec.v + at, sizeof h);
	return h;
}

static bool is_about_processes(uint32_t type)
{
	return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM ||
	       type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT || type == PERF_RECORD_KSYMBOL;
}

void past_add(struct past *p, const uint8_t *records, size_t n)
{
	for (size_t at = 0; at < n;) {
		struct perf_event_header h;

		memcpy(&h, records + at, sizeof h);
		if (is_about_processes(h.type) && h.size >= sizeof h + ATTR_SAMPLE_ID_BYTES)
			bytes_put(&p->records, records + at, h.size);
		at += h.size;
	}
}

void past_done(struct past *p)
{
	bytes_done(&p->records);
	*p = (struct past){0};
}

/* attr.h: the trailer is pid, tid, time, cpu, reserved, id. */
static uint64_t time_of(const uint8_t *rec, size_t n)
{
	uint64_t t;

	memcpy(&t, rec + n - ATTR_SAMPLE_ID_BYTES + 8, sizeof t);
	return t;
}

/* ---- sorting -------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int sort_entries(struct sorting *s, const struct past *p)
{
	const size_t n = p->records.vec.n;
	struct perf_event_header h;

	for (size_t at = 0; at < n; at += h.size) {
		h = header_at(p, at);
		if (vec_push(&s->entries, (struct entry){time_of(p->records.vec.v + at, h.size), at,
							 NO_IMAGE, 0, false}))
			return -1;
	}
	if (!s->entries.n)
		return 0;
	qsort(s->entries.v, s->entries.n, sizeof *s->entries.v, compare);
	if (s->entries.v[s->entries.n - 1].time_ns > LATE_NS)
		s->sure_ns = s->entries.v[s->entries.n - 1].time_ns - LATE_NS;
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------ */

static void put(struct sorting *s, struct hash_table *h, uint64_t key, uint32_t value)
{
	s->failed |= hash_put(h, key, value) != 0;
}

static uint32_t begin_image(struct sorting *s, uint32_t pid, uint32_t from)
{
	const uint32_t i = (uint32_t)s->images.n;

	if (vec_push(&s->images, (struct image){.from = from})) {
		s->failed = true;
		return NO_IMAGE;
	}
	put(s, &s->by_pid, pid, i);
	if (from != NO_IMAGE)
		s->images.v[from].needs++;
	return i;
}

/* The image that a process has now; one that is not known has been there from the beginning. */
static uint32_t image_of(struct sorting *s, uint32_t pid)
{
	uint32_t i = hash_get(&s->by_pid, pid);

	return i == HASH_NONE ? begin_image(s, pid, NO_IMAGE) : i;
}

/* It is over when nothing runs it, and nothing that runs has its maps. So is then, perhaps, the one
 * whose maps it had. */
static void check_over(struct sorting *s, uint32_t i)
{
	while (i != NO_IMAGE) {
		struct image *m = &s->images.v[i];

		if (m->is_over || m->needs ||
		    !(m->replaced || (m->leader_ended && m->threads <= 0)))
			return;
		m->is_over = true;
		i = m->from;
		if (i != NO_IMAGE)
			s->images.v[i].needs--;
	}
}

static uint64_t thread_key(uint32_t image, uint32_t tid)
{
	return (uint64_t)image << 32 | tid;
}

/* perf_event.h: u32 pid, ppid, tid, ptid. */
static void take_fork(struct sorting *s, struct entry *e, struct buf b, bool is_made_up)
{
	const uint32_t pid = buf_u32(&b), ppid = buf_u32(&b), tid = buf_u32(&b);

	if (pid != ppid) { /* a process: what had its number before is over */
		const uint32_t old = hash_get(&s->by_pid, pid);

		if (old != HASH_NONE && pid) {
			s->images.v[old].replaced = true;
			check_over(s, old);
		}
		e->image = begin_image(s, pid, is_made_up ? NO_IMAGE : image_of(s, ppid));
		return;
	}
	e->image = image_of(s, pid);
	if (e->image == NO_IMAGE)
		return;
	e->tid = tid;
	s->images.v[e->image].threads++;
}

static void take_exit(struct sorting *s, struct entry *e, struct buf b)
{
	const uint32_t pid = buf_u32(&b), tid = (buf_skip(&b, 4), buf_u32(&b));
	struct image *m;

	e->image = image_of(s, pid);
	if (e->image == NO_IMAGE || e->time_ns > s->sure_ns)
		return;
	m = &s->images.v[e->image];
	if (tid == pid) {
		m->leader_ended = true;
	} else {
		m->threads--;
		e->tid = tid;
		put(s, &s->ended, thread_key(e->image, tid), 1);
	}
	check_over(s, e->image);
}

/* u32 pid, tid, then the name. */
static void take_comm(struct sorting *s, struct entry *e, struct buf b, bool is_exec)
{
	const uint32_t pid = buf_u32(&b), tid = buf_u32(&b);
	uint32_t old;

	if (!is_exec) {
		e->image = image_of(s, pid);
		e->tid = tid == pid ? 0 : tid;
		return;
	}
	old = image_of(s, pid);
	e->image = begin_image(s, pid, NO_IMAGE);
	if (old == NO_IMAGE || e->time_ns > s->sure_ns)
		return;
	s->images.v[old].replaced = true;
	check_over(s, old);
}

/* A map with the same start that is no smaller replaces it, unless a child may have the old one. */
static void take_map(struct sorting *s, struct entry *e, const struct past *p, struct buf b)
{
	const uint32_t pid = buf_u32(&b);
	uint64_t start, len, old_len, key;
	uint32_t old;

	buf_skip(&b, 4);
	start = buf_u64(&b);
	len = buf_u64(&b);
	e->image = image_of(s, pid);
	if (e->image == NO_IMAGE)
		return;
	key = hash_mix(e->image, start);
	old = hash_get(&s->by_map, key);
	if (old != HASH_NONE && s->entries.v[old].image == e->image &&
	    !s->images.v[e->image].needs) {
		memcpy(&old_len,
		       p->records.vec.v + s->entries.v[old].at + sizeof(struct perf_event_header) +
			       16,
		       8);
		s->entries.v[old].drop = old_len <= len;
	}
	put(s, &s->by_map, key, (uint32_t)(e - s->entries.v));
}

static void take(struct sorting *s, struct entry *e, const struct past *p)
{
	const struct perf_event_header h = header_at(p, e->at);
	struct buf b = buf_make(p->records.vec.v + e->at, h.size, 0, false);

	buf_skip(&b, sizeof h);
	switch (h.type) {
	case PERF_RECORD_FORK:
		take_fork(s, e, b, h.misc & MISC_FORK_EXEC);
		break;
	case PERF_RECORD_EXIT:
		take_exit(s, e, b);
		break;
	case PERF_RECORD_COMM:
		take_comm(s, e, b, h.misc & PERF_RECORD_MISC_COMM_EXEC);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		take_map(s, e, p, b);
		break;
	default:
		break;
	}
}

static bool is_kept(const struct sorting *s, const struct entry *e)
{
	if (e->drop || (e->image != NO_IMAGE && s->images.v[e->image].is_over))
		return false;
	return !e->tid || e->image == NO_IMAGE ||
	       hash_get(&s->ended, thread_key(e->image, e->tid)) == HASH_NONE;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int keep(const struct sorting *s, struct past *p, bool settles)
{
	struct bytes out = {0};

	for (size_t i = 0; i < s->entries.n; i++) {
		const struct perf_event_header h = header_at(p, s->entries.v[i].at);

		if (!is_kept(s, &s->entries.v[i]))
			continue;
		bytes_put(&out, p->records.vec.v + s->entries.v[i].at, h.size);
		if (settles && !out.failed)
			memset(out.vec.v + out.vec.n - ATTR_SAMPLE_ID_BYTES, 0,
			       ATTR_SAMPLE_ID_BYTES);
	}
	if (out.failed) {
		bytes_done(&out);
		return -1;
	}
	bytes_done(&p->records);
	p->records = out;
	return 0;
}

static int sort_out(struct past *p, bool settles)
{
	struct sorting s = {0};
	int rc = p->records.failed ? -1 : sort_entries(&s, p);

	for (size_t i = 0; i < s.entries.n && !rc && !s.failed; i++)
		take(&s, &s.entries.v[i], p);
	if (!rc)
		rc = s.failed ? -1 : keep(&s, p, settles);
	vec_done(&s.entries);
	vec_done(&s.images);
	hash_done(&s.by_pid);
	hash_done(&s.ended);
	hash_done(&s.by_map);
	return rc;
}

int past_compact(struct past *p)
{
	if (p->records.vec.n < p->compact_bytes || p->records.vec.n < COMPACT_MIN)
		return p->records.failed ? -1 : 0;
	if (sort_out(p, false))
		return -1;
	p->compact_bytes = 2 * p->records.vec.n;
	return 0;
}

int past_settle(struct past *p)
{
	return sort_out(p, true);
}
