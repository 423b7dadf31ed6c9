/* heap.c - samples of allocations become objects and bytes. */
#include "reader/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "reader/file.h"
#include "reader/format.h"
#include "reader/record.h"

static const struct {
	const char *name, *unit;
} values[PERF_HEAP_VALUES] = {
	[PERF_HEAP_ALLOC_OBJECTS] = {"alloc_objects", "count"},
	[PERF_HEAP_ALLOC_SPACE] = {"alloc_space", "bytes"},
	[PERF_HEAP_INUSE_OBJECTS] = {"inuse_objects", "count"},
	[PERF_HEAP_INUSE_SPACE] = {"inuse_space", "bytes"},
};

static enum perf_heap_part part_of(const struct perf_event *e)
{
	if (!event_is_tracepoint(e->attr.type))
		return PERF_HEAP_NONE;
	return str_starts_with(e->name, HEAP_STACK_EVENT) ? PERF_HEAP_STACK
	       : !strcmp(e->name, HEAP_ENTRY_EVENT)	  ? PERF_HEAP_ENTRY
	       : !strcmp(e->name, HEAP_RETURN_EVENT)	  ? PERF_HEAP_RETURN
	       : !strcmp(e->name, HEAP_STORED_EVENT)	  ? PERF_HEAP_STORED
	       : !strcmp(e->name, HEAP_FREE_EVENT)	  ? PERF_HEAP_FREE
							  : PERF_HEAP_NONE;
}

static int add_event(struct perf_file *f, const struct perf_event *like, size_t value)
{
	struct perf_attr attr = like->attr;
	struct event *e;

	attr.sample_period = 1;
	if (events_add(&f->events, &attr) ||
	    events_set_name(&f->events, f->events.v.n - 1, values[value].name,
			    strlen(values[value].name)))
		return err_nomem(&f->err);
	e = f->events.v.v[f->events.v.n - 1];
	e->pub.heap_unit = values[value].unit;
	f->heap.events[value] = &e->pub;
	return 0;
}

int heap_settle(struct perf_file *f)
{
	const size_t n = f->events.v.n;
	const struct perf_event *first = NULL;
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		struct perf_event *e = &f->events.v.v[i]->pub;

		e->heap = e->heap_unit ? PERF_HEAP_NONE : (uint8_t)part_of(e);
		if (!first && e->heap == PERF_HEAP_STACK)
			first = e;
	}
	if (f->heap.events[0])
		return 0;
	for (size_t i = 0; first && !rc && i < PERF_HEAP_VALUES; i++)
		rc = add_event(f, first, i);
	return rc;
}

bool perf_file_has_heap(const struct perf_file *f)
{
	return f->heap.events[0] != NULL;
}

void perf_file_set_heap(struct perf_file *f, const struct perf_heap_weight *weights, size_t n,
			const struct perf_heap_rest *rest, size_t n_rest)
{
	f->heap.weights = weights;
	f->heap.n = n;
	f->heap.rest = rest;
	f->heap.n_rest = n_rest;
}

/* A uprobe's RAW part: u16 type, u8 flags, u8, s32 pid; u64 address, of a return two of them, the
 * function's first; then its fields (include/linux/trace_events.h, struct trace_entry;
 * kernel/trace/trace_uprobe.c, struct uprobe_trace_entry_head). */
bool perf_heap_call(const struct perf_sample *s, struct perf_heap_call *ret)
{
	static const size_t fields[] = {
		[PERF_HEAP_STACK] = 6,
		[PERF_HEAP_ENTRY] = 6,
		[PERF_HEAP_RETURN] = 3,
		[PERF_HEAP_FREE] = 3,
		[PERF_HEAP_STORED] = 4 + HEAP_STORED_WORDS,
	};
	const enum perf_heap_part part = (enum perf_heap_part)s->event->heap;
	uint64_t v[4 + HEAP_STORED_WORDS] = {0};

	*ret = (struct perf_heap_call){0};
	if (part == PERF_HEAP_NONE || s->extra->raw_size < 8 + 8 * fields[part])
		return false;
	memcpy(v, s->extra->raw + 8, 8 * fields[part]);
	ret->function = v[0];
	if (part == PERF_HEAP_RETURN) {
		ret->pointer = v[2];
	} else if (part == PERF_HEAP_STORED) {
		ret->pointer = v[2];
		ret->sp = v[3];
		ret->words = s->extra->raw + 8 + 8 * 4;
	} else if (part == PERF_HEAP_FREE) {
		ret->pointer = v[1];
		ret->sp = v[2];
	} else {
		ret->size = v[1];
		ret->n = v[2];
		ret->old = v[3];
		if (!ret->n && ret->old) {
			ret->n = 1;
			ret->where = ret->old;
			ret->old = 0;
		}
		ret->sp = v[4];
		ret->ra = v[5];
	}
	return true;
}

uint64_t perf_heap_stored(const struct perf_heap_call *stored, uint64_t where)
{
	const uint64_t at = where - stored->sp;
	uint64_t word = 0;

	if (stored->words && where >= stored->sp && at <= 8 * (HEAP_STORED_WORDS - 1))
		memcpy(&word, stored->words + at, sizeof word);
	return word;
}

static int by_offset(const void *key, const void *element)
{
	const uint64_t off = *(const uint64_t *)key;
	const struct perf_heap_weight *w = element;

	return off < w->file_off ? -1 : off > w->file_off;
}

/* Returns false if it stands for nothing: a call within another one, or one that failed. */
static bool find_values(const struct perf_file *f, const struct perf_sample *s,
			uint64_t ret[PERF_HEAP_VALUES])
{
	const struct heap *h = &f->heap;
	const struct perf_heap_weight *w;
	struct perf_heap_call call;

	memset(ret, 0, PERF_HEAP_VALUES * sizeof *ret);
	if (!h->weights && perf_heap_call(s, &call)) {
		ret[PERF_HEAP_ALLOC_OBJECTS] = s->event->attr.sample_period;
		ret[PERF_HEAP_ALLOC_SPACE] = s->event->attr.sample_period * call.size * call.n;
		return true;
	}
	w = h->weights ? bsearch(&s->file_off, h->weights, h->n, sizeof *w, by_offset) : NULL;
	if (w)
		memcpy(ret, w->values, sizeof w->values);
	return w != NULL;
}

int heap_sample(struct perf_file *f, struct batch *b, struct perf_sample *s)
{
	const struct perf_sample one = *s;
	uint64_t v[PERF_HEAP_VALUES];

	if (f->heap.as_recorded) {
		deliver_commit(f, b, s);
		return 0;
	}
	if (one.event->heap != PERF_HEAP_STACK || !find_values(f, &one, v))
		return 0;
	for (size_t i = 0; i < PERF_HEAP_VALUES; i++) {
		struct perf_sample *room = v[i] ? deliver_room(b) : NULL;

		if (v[i] && !room)
			return err_nomem(&f->err);
		if (!room)
			continue;
		*room = one;
		room->event = f->heap.events[i];
		room->period = v[i];
		deliver_commit(f, b, room);
	}
	return 0;
}

int heap_end_some(struct perf_file *f)
{
	struct heap *h = &f->heap;
	const size_t all = h->n_rest * PERF_HEAP_VALUES;

	while (h->rest_done < all) {
		const struct perf_heap_rest *r = &h->rest[h->rest_done / PERF_HEAP_VALUES];
		const size_t i = h->rest_done++ % PERF_HEAP_VALUES;
		int rc;

		if (!r->values[i])
			continue;
		rc = deliver_bare(f, r->pid, r->pid, r->time_ns, h->events[i], r->values[i], NULL);
		return rc ? rc : 1;
	}
	return 0;
}
