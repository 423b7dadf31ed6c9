/* growth.c - system calls become bytes of memory that a process has gained. */
#include "reader/growth.h"

#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "reader/file.h"
#include "reader/format.h"
#include "reader/record.h"

enum part { GROWTH_NONE, ENTER_MMAP, ENTER_MREMAP, EXIT_MMAP, EXIT_MREMAP, EXIT_BRK };

/* Of the RAW part: u16 type, u8 flags, u8, s32 pid; s32 number of the call, s32; then its
 * arguments, or what it returned, in words (kernel/trace/trace_syscalls.c). */
enum { WORDS_AT = 16, ERRORS = 4095 /* returned as -1 .. -4095 */ };

static enum part part_of(const struct perf_event *e)
{
	static const char *const names[] = {
		[ENTER_MMAP] = GROWTH_ENTER_MMAP, [ENTER_MREMAP] = GROWTH_ENTER_MREMAP,
		[EXIT_MMAP] = GROWTH_EXIT_MMAP,	  [EXIT_MREMAP] = GROWTH_EXIT_MREMAP,
		[EXIT_BRK] = GROWTH_EXIT_BRK,
	};

	for (size_t i = 1; event_is_tracepoint(e->attr.type) && i < sizeof names / sizeof *names;
	     i++)
		if (!strcmp(e->name, names[i]))
			return (enum part)i;
	return GROWTH_NONE;
}

int growth_settle(struct perf_file *f)
{
	const size_t n = f->events.v.n;
	const struct event *like = NULL;
	struct perf_attr attr;
	struct event *e;

	for (size_t i = 0; i < n; i++) {
		e = f->events.v.v[i];
		e->growth = (uint8_t)part_of(&e->pub);
		if (e->growth >= EXIT_MMAP && !like)
			like = e;
	}
	if (!like || f->growth.event)
		return 0;
	attr = like->pub.attr;
	attr.sample_period = 1;
	if (events_add(&f->events, &attr) ||
	    events_set_name(&f->events, n, GROWTH_EVENT, strlen(GROWTH_EVENT)))
		return err_nomem(&f->err);
	e = f->events.v.v[n];
	e->pub.heap_unit = "bytes";
	f->growth.event = &e->pub;
	return 0;
}

/* Where the value of a number is; NULL when out of memory. */
static uint64_t *value_of(struct growth_values *g, uint32_t key)
{
	uint32_t i = hash_get(&g->index, key);

	if (i == HASH_NONE) {
		i = (uint32_t)g->v.n;
		if (vec_push(&g->v, 0) || hash_put(&g->index, key, i))
			return NULL;
	}
	return &g->v.v[i];
}

static uint64_t word(const struct perf_sample *s, size_t i)
{
	uint64_t v = 0;

	if (s->extra->raw_size >= WORDS_AT + 8 * (i + 1))
		memcpy(&v, s->extra->raw + WORDS_AT + 8 * i, sizeof v);
	return v;
}

static int note_enter(struct perf_file *f, const struct perf_sample *s, enum part part)
{
	uint64_t *wanted = value_of(&f->growth.wanted, s->tid);
	const uint64_t before = part == ENTER_MREMAP ? word(s, 1) : 0;
	const uint64_t after = word(s, part == ENTER_MREMAP ? 2 : 1);

	if (!wanted)
		return err_nomem(&f->err);
	*wanted = after > before ? after - before : 0;
	return 0;
}

/* Returns 1 with what it has grown by, 0, or negative. */
static int grown(struct perf_file *f, const struct perf_sample *s, enum part part, uint64_t *ret)
{
	struct growth *g = &f->growth;
	const uint64_t result = word(s, 0);
	uint64_t *v = part == EXIT_BRK ? value_of(&g->ends, s->pid) : value_of(&g->wanted, s->tid);
	uint64_t before;

	if (!v)
		return err_nomem(&f->err);
	before = *v;
	*v = part == EXIT_BRK ? result : 0;
	if (part == EXIT_BRK)
		*ret = before && result > before ? result - before : 0;
	else
		*ret = result < -(uint64_t)ERRORS ? before : 0;
	return *ret != 0;
}

int growth_sample(struct perf_file *f, struct batch *b, struct perf_sample *s,
		  const struct event *e)
{
	const enum part part = (enum part)e->growth;
	uint64_t bytes = 0;
	int rc;

	if (part < EXIT_MMAP)
		return note_enter(f, s, part);
	rc = grown(f, s, part, &bytes);
	if (rc <= 0)
		return rc;
	s->event = f->growth.event;
	s->period = bytes;
	deliver_commit(f, b, s);
	return 0;
}

int growth_note_space(struct perf_file *f, uint32_t pid, uint32_t parent)
{
	struct growth *g = &f->growth;
	const uint64_t *of_parent = g->event && parent ? value_of(&g->ends, parent) : NULL;
	const uint64_t end = of_parent ? *of_parent : 0;
	uint64_t *own = g->event ? value_of(&g->ends, pid) : NULL;

	if (!g->event)
		return 0;
	if (!own)
		return err_nomem(&f->err);
	*own = end;
	return 0;
}

void growth_done(struct growth *g)
{
	hash_done(&g->wanted.index);
	hash_done(&g->ends.index);
	vec_done(&g->wanted.v);
	vec_done(&g->ends.v);
}
