/* record_check.c - records that are not used here but count items: without those items they are
 * damaged. */
#include "reader/format.h"
#include "reader/record.h"

static int check(struct perf_file *f, const struct record_view *v, bool good)
{
	if (!good)
		file_skip(f, PERF_SKIP_BAD_COUNT, v->type);
	return 0;
}

/* perf_event.h: u64 addr, u16 old_len, u16 new_len, then the old and the new code. */
int check_text_poke(struct perf_file *f, struct record_view *v)
{
	uint32_t old, new;

	buf_skip(&v->b, 8);
	old = buf_u16(&v->b);
	new = buf_u16(&v->b);
	return check(f, v, old + new <= buf_left(&v->b));
}

/* The event whose counter was read, or the counters of whose group. NULL if unknown. */
static const struct event *event_of_read(const struct perf_file *f, const struct record_view *v)
{
	const struct event *e = events_of_trailer(&f->events, &v->b);
	const size_t size = (size_t)(v->b.end - v->b.data);

	if (!e || f->events.v.n == 1)
		return e;
	return e->trailer_id_pos && e->trailer_bytes <= size - 8
		       ? events_find(&f->events, buf_u64_at(&v->b, size - e->trailer_id_pos))
		       : NULL;
}

/* pid, tid, then the values that read(2) of the event returns: perf_event.h, enum
 * perf_event_read_format. */
int check_read(struct perf_file *f, struct record_view *v)
{
	const struct event *e = event_of_read(f, v);
	const uint64_t format = e ? e->pub.attr.read_format : 0;
	const uint64_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	const uint64_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_FORMAT_LOST);
	uint64_t words, need = times, n = 1;

	if (!e)
		return 0;
	buf_skip(&v->b, 8);
	words = buf_left(&v->b) / 8;
	need += e->trailer_bytes / 8;
	if (format & PERF_FORMAT_GROUP) {
		n = buf_u64(&v->b);
		need++;
	}
	return check(f, v, need <= words && n <= (words - need) / each);
}

/* tools/lib/perf/include/perf/event.h, struct perf_record_cpu_map_data: packed. */
int check_cpu_map(struct perf_file *f, struct record_view *v)
{
	enum { CPUS, MASK, RANGE_CPUS };
	const uint16_t type = buf_u16(&v->b), n = buf_u16(&v->b);
	uint16_t long_size;

	switch (type) {
	case CPUS:
		return check(f, v, n <= buf_left(&v->b) / 2);
	case MASK:
		long_size = buf_u16(&v->b);
		if (long_size == 8)
			buf_skip(&v->b, 4);
		return check(f, v,
			     buf_ok(&v->b) && (long_size == 4 || long_size == 8) &&
				     n <= buf_left(&v->b) / long_size);
	case RANGE_CPUS: /* any, padding (read as n); start, end */
		return check(f, v, buf_left(&v->b) >= 4);
	default:
		return 0;
	}
}
