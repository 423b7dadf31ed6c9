/* walk.h - a second reader of record headers, small enough to be right at sight: how many records a
 * recording has that end before any place, for little-endian ones that are neither compressed nor
 * damaged. */
#ifndef TESTS_READER_WALK_H
#define TESTS_READER_WALK_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>

#include "base/vec.h"
#include "reader/format.h"

struct walk_record {
	size_t end;	/* with what follows outside of its size */
	size_t samples; /* SAMPLE records up to here */
};

struct walk {
	bool is_pipe;
	size_t start, end; /* of the data, as the header says */
	VEC(struct walk_record) records;
};

static inline uint64_t walk_word(const uint8_t *data, size_t at)
{
	uint64_t v;

	memcpy(&v, data + at, sizeof v);
	return v;
}

/* Where attributes and ids end: behind it, or the recording is none of ours. */
static inline bool walk_head_is_first(const uint8_t *data, size_t size, size_t start)
{
	uint64_t stride = walk_word(data, 16), at = walk_word(data, 24), n = walk_word(data, 32);

	if (stride < 80 || at > start || n > start - at)
		return false;
	for (; n >= stride; at += stride, n -= stride) {
		uint64_t ids = walk_word(data, at + stride - 16);
		uint64_t bytes = walk_word(data, at + stride - 8);

		if (ids > start || bytes > start - ids)
			return false;
	}
	return size >= start;
}

/* False: nothing can be said. */
static inline bool walk_records(struct walk *w, const uint8_t *data, size_t size)
{
	struct perf_event_header h;
	size_t at, samples = 0;

	*w = (struct walk){.start = 16, .end = size};
	if (size < 104 || memcmp(data, PERFDATA_MAGIC, 8) != 0)
		return false;
	w->is_pipe = walk_word(data, 8) == 16;
	if (!w->is_pipe) {
		w->start = walk_word(data, 40);
		w->end = walk_word(data, 48);
		if (w->start > size || !w->end || w->end > size - w->start ||
		    !walk_head_is_first(data, size, w->start))
			return false;
		w->end += w->start;
	}
	for (at = w->start; w->end - at >= sizeof h;
	     vec_push(&w->records, (struct walk_record){at, samples})) {
		uint64_t tail = 0;

		memcpy(&h, data + at, sizeof h);
		if (h.size < sizeof h || h.size > w->end - at || h.type == RECORD_COMPRESSED ||
		    h.type == RECORD_COMPRESSED2 || h.type >= RECORD_USER_END)
			return false;
		if (h.type == RECORD_AUXTRACE)
			tail = walk_word(data, at + sizeof h);
		if (h.type == RECORD_TRACING_DATA && w->is_pipe)
			tail = walk_word(data, at + sizeof h) & UINT32_MAX;
		samples += h.type == PERF_RECORD_SAMPLE;
		at += h.size;
		if (tail > w->end - at)
			return false;
		at += tail;
	}
	return at == w->end;
}

/* How many records end at or before `cut`. */
static inline size_t walk_count(const struct walk *w, size_t cut)
{
	size_t lo = 0, hi = w->records.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->records.v[mid].end <= cut)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

#endif
