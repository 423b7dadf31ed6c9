/* window.c - keeps the segments of the last seconds. */
#include "capture/window.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "capture/attr.h"
#include "capture/switch_pack.h"

/* The segment that is open. NULL when out of memory. */
static struct segment *open_segment(struct window *w)
{
	if (!w->segments.n && vec_push(&w->segments, (struct segment){.begin_ns = clock_ns()})) {
		w->failed = true;
		return NULL;
	}
	return &w->segments.v[w->segments.n - 1];
}

static void put(struct window *w, struct bytes *to, const uint8_t *data, size_t n)
{
	bytes_put(to, data, n);
	w->failed |= to->failed;
	w->bytes += n;
}

void window_put(struct window *w, const uint8_t *data, size_t n)
{
	struct segment *s = open_segment(w);

	if (s)
		put(w, &s->data, data, n);
}

/* attr.c: a sample begins with its id, its address, pid and tid, and then its time. */
static uint64_t sample_time(const uint8_t *rec, size_t n)
{
	uint64_t t = 0;

	if (n >= sizeof(struct perf_event_header) + 32)
		memcpy(&t, rec + sizeof(struct perf_event_header) + 24, sizeof t);
	return t;
}

/* attr.h: other records end with pid and tid, and then their time. */
static uint64_t trailer_time(const uint8_t *rec, size_t n)
{
	uint64_t t = 0;

	if (n >= sizeof(struct perf_event_header) + ATTR_SAMPLE_ID_BYTES)
		memcpy(&t, rec + n - ATTR_SAMPLE_ID_BYTES + 8, sizeof t);
	return t;
}

static void note_time(uint64_t *first, uint64_t t)
{
	if (t && (!*first || t < *first))
		*first = t;
}

static bool is_of_samples(uint32_t type)
{
	return type == PERF_RECORD_SAMPLE || is_switch_record(type) || type == RECORD_EVENT_TYPE ||
	       type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES ||
	       type == PERF_RECORD_THROTTLE || type == PERF_RECORD_UNTHROTTLE;
}

void window_note(struct window *w, const uint8_t *records, size_t n)
{
	struct segment *s = open_segment(w);
	struct perf_event_header h;

	if (!s)
		return;
	s->raw_bytes += n;
	for (size_t at = 0; at < n; at += h.size) {
		memcpy(&h, records + at, sizeof h);
		if (h.type == PERF_RECORD_SAMPLE) {
			s->samples++;
			note_time(&s->first_sample_ns, sample_time(records + at, h.size));
		} else if (is_switch_record(h.type)) {
			note_time(&s->first_ns, trailer_time(records + at, h.size));
		} else if (h.type == RECORD_EVENT_TYPE) {
			note_time(&s->first_ns, switch_pack_first_ns(records + at, h.size));
		} else if (!is_of_samples(h.type)) {
			put(w, &s->records, records + at, h.size);
		}
	}
	note_time(&s->first_ns, s->first_sample_ns);
}

bool window_is_due(const struct window *w)
{
	const struct segment *s = w->segments.n ? &w->segments.v[w->segments.n - 1] : NULL;

	return s && (clock_ns() - s->begin_ns >= w->length_ns / WINDOW_SEGMENTS ||
		     s->data.vec.n >= w->max_bytes / WINDOW_SEGMENTS);
}

static void drop_first(struct window *w)
{
	struct segment *s = &w->segments.v[0];

	past_add(&w->past, s->records.vec.v, s->records.vec.n);
	if (past_compact(&w->past))
		w->failed = true;
	w->bytes -= s->data.vec.n + s->records.vec.n;
	bytes_done(&s->data);
	bytes_done(&s->records);
	w->segments.n--;
	memmove(s, s + 1, w->segments.n * sizeof *s);
}

void window_drop_old(struct window *w, uint64_t now)
{
	while (w->segments.n > 1 && now > w->length_ns &&
	       w->segments.v[0].end_ns < now - w->length_ns)
		drop_first(w);
	/* One that is closed stays, however large it is. */
	while (w->segments.n > 2 && w->bytes > w->max_bytes) {
		drop_first(w);
		w->cut_short++;
	}
}

void window_cut(struct window *w)
{
	const uint64_t now = clock_ns();

	if (!window_is_due(w))
		return;
	w->segments.v[w->segments.n - 1].end_ns = now;
	if (vec_push(&w->segments, (struct segment){.begin_ns = now}))
		w->failed = true;
	window_drop_old(w, now);
}

uint64_t window_begin_ns(const struct window *w)
{
	const struct segment *s = w->segments.n ? &w->segments.v[0] : NULL;

	if (!s)
		return 0;
	return s->first_ns && s->first_ns < s->begin_ns ? s->first_ns : s->begin_ns;
}

void window_done(struct window *w)
{
	for (size_t i = 0; i < w->segments.n; i++) {
		bytes_done(&w->segments.v[i].data);
		bytes_done(&w->segments.v[i].records);
	}
	vec_done(&w->segments);
	past_done(&w->past);
}
