/* record.c - the table of record types, and the time of a record. */
#include "reader/record.h"

#include <sys/mman.h>

#include "base/err.h"
#include "reader/format.h"
#include "reader/unpack_switches.h"

/* The beginning of a row: when a record counts, and what it does. */
#define ORDERED(function) .when = RECORD_ORDERED, .apply = (function)
#define NOW(function)	  .when = RECORD_NOW, .apply = (function)
#define IGNORED		  .when = RECORD_IGNORED

/* perf_event.h, enum perf_event_type. */
static const struct record_row kernel_rows[RECORD_KERNEL_END] = {
	[PERF_RECORD_MMAP] = {ORDERED(apply_mmap), .min_size = 41, .string_off = 40,
			      .tail = TAIL_TRAILER},
	[PERF_RECORD_LOST] = {NOW(apply_lost), .min_size = 24, .tail = TAIL_TRAILER},
	[PERF_RECORD_COMM] = {ORDERED(apply_comm), .min_size = 17, .string_off = 16,
			      .tail = TAIL_TRAILER},
	[PERF_RECORD_EXIT] = {ORDERED(apply_exit), .min_size = 32, .tail = TAIL_TRAILER},
	[PERF_RECORD_THROTTLE] = {NOW(apply_throttle), .min_size = 32, .tail = TAIL_TRAILER},
	[PERF_RECORD_UNTHROTTLE] = {IGNORED, .min_size = 32, .tail = TAIL_TRAILER},
	[PERF_RECORD_FORK] = {ORDERED(apply_fork), .min_size = 32, .tail = TAIL_TRAILER},
	[PERF_RECORD_READ] = {NOW(check_read), .min_size = 24},
	[PERF_RECORD_SAMPLE] = {ORDERED(NULL), .min_size = 8, .tail = TAIL_OTHER},
	[PERF_RECORD_MMAP2] = {ORDERED(apply_mmap2), .min_size = 72, .string_off = 72,
			       .tail = TAIL_TRAILER},
	[PERF_RECORD_AUX] = {IGNORED, .min_size = 32, .tail = TAIL_TRAILER},
	[PERF_RECORD_ITRACE_START] = {IGNORED, .min_size = 16, .tail = TAIL_TRAILER},
	[PERF_RECORD_LOST_SAMPLES] = {NOW(apply_lost_samples), .min_size = 16,
				      .tail = TAIL_TRAILER},
	[PERF_RECORD_SWITCH] = {ORDERED(apply_switch), .min_size = 8, .tail = TAIL_TRAILER},
	[PERF_RECORD_SWITCH_CPU_WIDE] = {ORDERED(apply_switch), .min_size = 16,
					 .tail = TAIL_TRAILER},
	[PERF_RECORD_NAMESPACES] = {IGNORED, .min_size = 24, .each = 16, .tail = TAIL_TRAILER},
	[PERF_RECORD_KSYMBOL] = {ORDERED(apply_ksymbol), .min_size = 25, .string_off = 24,
				 .tail = TAIL_TRAILER},
	[PERF_RECORD_BPF_EVENT] = {IGNORED, .min_size = 24, .tail = TAIL_TRAILER},
	[PERF_RECORD_CGROUP] = {ORDERED(apply_cgroup), .min_size = 17, .string_off = 16,
				.tail = TAIL_TRAILER},
	[PERF_RECORD_TEXT_POKE] = {NOW(check_text_poke), .min_size = 20},
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = {IGNORED, .min_size = 16, .tail = TAIL_TRAILER},
	[RECORD_CALLCHAIN_DEFERRED] = {ORDERED(apply_callchain_deferred), .min_size = 24, .each = 8,
				       .tail = TAIL_TRAILER},
};

/* tools/lib/perf/include/perf/event.h, enum perf_user_event_type. For records that have grown over
 * the years, the size of their first version. */
static const struct record_row user_rows[RECORD_USER_END - RECORD_HEADER_ATTR] = {
#define ROW(type) [type - RECORD_HEADER_ATTR]
	ROW(RECORD_HEADER_ATTR) = {NOW(apply_header_attr), .min_size = 8 + PERF_ATTR_SIZE_VER0},
	ROW(RECORD_EVENT_TYPE) = {NOW(apply_event_type), .min_size = 17},
	ROW(RECORD_TRACING_DATA) = {IGNORED, .min_size = 12},
	ROW(RECORD_BUILD_ID) = {NOW(apply_build_id), .min_size = 8 + 4 + 24 + 1, .string_off = 36},
	ROW(RECORD_FINISHED_ROUND) = {NOW(apply_finished_round), .min_size = 8, .tail = TAIL_NONE},
	ROW(RECORD_ID_INDEX) = {IGNORED, .min_size = 16, .each = 32},
	ROW(RECORD_AUXTRACE_INFO) = {IGNORED, .min_size = 16},
	ROW(RECORD_AUXTRACE) = {IGNORED, .min_size = 48, .tail = TAIL_NONE},
	ROW(RECORD_AUXTRACE_ERROR) = {IGNORED, .min_size = 41, .string_off = 40},
	ROW(RECORD_THREAD_MAP) = {IGNORED, .min_size = 16, .each = 24, .tail = TAIL_NONE},
	ROW(RECORD_CPU_MAP) = {NOW(check_cpu_map), .min_size = 12},
	ROW(RECORD_STAT_CONFIG) = {IGNORED, .min_size = 16, .each = 16, .tail = TAIL_NONE},
	ROW(RECORD_STAT) = {IGNORED, .min_size = 48, .tail = TAIL_NONE},
	ROW(RECORD_STAT_ROUND) = {IGNORED, .min_size = 24, .tail = TAIL_NONE},
	ROW(RECORD_EVENT_UPDATE) = {NOW(apply_event_update), .min_size = 24},
	ROW(RECORD_TIME_CONV) = {IGNORED, .min_size = 32},
	ROW(RECORD_HEADER_FEATURE) = {NOW(apply_header_feature), .min_size = 16},
	ROW(RECORD_COMPRESSED) = {IGNORED, .min_size = 8, .tail = TAIL_OTHER},
	ROW(RECORD_FINISHED_INIT) = {IGNORED, .min_size = 8, .tail = TAIL_NONE},
	ROW(RECORD_COMPRESSED2) = {IGNORED, .min_size = 16, .tail = TAIL_OTHER},
	ROW(RECORD_BPF_METADATA) = {IGNORED, .min_size = 8 + 512 + 8, .each = 64 + 256,
				    .tail = TAIL_TRAILER},
	ROW(RECORD_SCHEDSTAT_CPU) = {IGNORED, .min_size = 24},
	ROW(RECORD_SCHEDSTAT_DOMAIN) = {IGNORED, .min_size = 24},
#undef ROW
};

static const struct record_row simpleperf_rows[RECORD_SIMPLEPERF_END - RECORD_SIMPLEPERF] = {
#define ROW(type) [RECORD_SIMPLEPERF_##type - RECORD_SIMPLEPERF]
	[0] = {IGNORED, .min_size = 8},
	ROW(KERNEL_SYMBOL) = {NOW(apply_kernel_symbol), .min_size = 12},
	ROW(DSO) = {NOW(apply_dso), .min_size = 33, .string_off = 32},
	ROW(SYMBOL) = {NOW(apply_symbol), .min_size = 33, .string_off = 32},
	ROW(SPLIT) = {NOW(apply_split), .min_size = 8, .tail = TAIL_OTHER},
	ROW(SPLIT_END) = {NOW(apply_split_end), .min_size = 8, .tail = TAIL_OTHER},
	ROW(EVENT_ID) = {NOW(apply_event_id), .min_size = 16},
	ROW(CALLCHAIN) = {ORDERED(apply_callchain), .min_size = 40, .each = 16}, /* ip, sp */
	ROW(UNWINDING_RESULT) = {IGNORED, .min_size = 8},
	ROW(TRACING_DATA) = {NOW(apply_tracing_data), .min_size = 12},
	ROW(DEBUG) = {IGNORED, .min_size = 8},
#undef ROW
};

#undef ORDERED
#undef NOW
#undef IGNORED

const struct record_row *record_row(uint32_t type)
{
	if (is_simpleperf_record(type))
		return &simpleperf_rows[type - RECORD_SIMPLEPERF];
	if (type > 0 && type < RECORD_KERNEL_END)
		return &kernel_rows[type];
	if (type >= RECORD_HEADER_ATTR && type < RECORD_USER_END)
		return &user_rows[type - RECORD_HEADER_ATTR];
	return NULL;
}

bool record_mmap2_lacks_prot(const struct record_view *v)
{
	struct buf b = v->b;
	uint32_t prot;

	buf_seek(&b, 64);
	prot = buf_u32(&b);
	return !record_is_file_mode(prot) &&
	       (prot & ~PERF_MAP_JIT_SYMBOLS) > (PROT_READ | PROT_WRITE | PROT_EXEC);
}

enum perf_skip record_check(const struct record_row *row, const struct record_view *v,
			    size_t *payload)
{
	const uint8_t *data = v->b.data, *nul;
	size_t size = (size_t)(v->b.end - data), off = row->string_off;

	*payload = row->min_size;
	if (size < row->min_size)
		return PERF_SKIP_TOO_SHORT;
	if (row->each) {
		/* The number of items is the last fixed field. */
		uint64_t n = buf_u64_at(&v->b, row->min_size - 8);

		*payload += n * row->each;
		return n <= (size - row->min_size) / row->each ? PERF_SKIP_N : PERF_SKIP_BAD_COUNT;
	}
	if (!off)
		return PERF_SKIP_N;
	if (v->type == PERF_RECORD_MMAP2 && record_mmap2_lacks_prot(v))
		off -= 8;
	nul = memchr(data + off, 0, size - off);
	if (!nul)
		return PERF_SKIP_BAD_STRING;
	*payload = ((size_t)(nul - data) + 8) & ~(size_t)7;
	return PERF_SKIP_N;
}

/* Until the events are known, any size of a trailer is accepted. */
static bool is_trailer(const struct perf_file *f, size_t rest)
{
	if (!rest)
		return true;
	for (size_t i = 0; i < f->events.v.n; i++)
		if (f->events.v.v[i]->trailer_bytes == rest)
			return true;
	return !f->events.v.n;
}

/* Do the bytes from here to the end consist of whole records? */
static bool holds_records(struct buf b)
{
	enum { RECORDS_MAX = 32 };

	for (int i = 0; i < RECORDS_MAX && buf_left(&b) >= sizeof(struct perf_event_header); i++) {
		const struct record_row *row = record_row(buf_u32(&b));
		uint16_t size;

		buf_skip(&b, 2);
		size = buf_u16(&b);
		if (!row || size < row->min_size)
			return false;
		buf_skip(&b, size - sizeof(struct perf_event_header));
	}
	return buf_ok(&b) && !buf_left(&b);
}

/* If the size of a record with a variable end is too large, so that it includes whole records after
 * it, cuts these off. Sizes are multiples of 8, except those of features in pipes of perf 6.1. */
static bool cut_neighbours_off(struct record_view *v, size_t payload)
{
	const unsigned align = v->type == RECORD_HEADER_FEATURE ? 4 : 8;
	struct buf b = v->b;

	for (size_t at = payload & ~(align - 1); buf_seek(&b, at), buf_ok(&b); at += align)
		if (buf_left(&b) && holds_records(b)) {
			v->b.end = b.p;
			return true;
		}
	return false;
}

/* Does the record's size include the records after it? */
static bool is_too_long(const struct perf_file *f, const struct record_row *row,
			struct record_view *v, size_t payload)
{
	const size_t rest = (size_t)(v->b.end - v->b.data) - payload;

	switch (row->tail) {
	case TAIL_OPEN:
		return !switches_are_packed(&v->b) && cut_neighbours_off(v, payload);
	case TAIL_TRAILER:
		return !is_trailer(f, rest);
	case TAIL_NONE:
		return rest != 0;
	default:
		return false;
	}
}

enum record_time { TIME_KNOWN, TIME_UNKNOWN, TIME_AT_ONCE, TIME_CUT_OFF };

static enum record_time sample_time(const struct perf_file *f, const struct record_view *v,
				    uint64_t *time)
{
	const struct event *e =
		f->events.same_sample_pos ? f->events.v.v[0] : events_of_sample(&f->events, &v->b);

	if (!e || !e->sample_time_pos)
		return TIME_UNKNOWN;
	if (e->sample_time_pos + 8 > v->b.end - v->b.data)
		return TIME_CUT_OFF;
	*time = buf_u64_at(&v->b, e->sample_time_pos);
	return TIME_KNOWN;
}

/* The time of a record that is not a SAMPLE. perf makes up records for what existed before the
 * recording; their trailers are zeros or missing, and they are applied at once. Without
 * sample_id_all, FORK and EXIT still have a time among their fields. */
static enum record_time other_time(const struct perf_file *f, const struct record_view *v,
				   size_t payload, uint64_t *time)
{
	const struct event *e = events_of_trailer(&f->events, &v->b);
	const size_t size = (size_t)(v->b.end - v->b.data);

	if (v->type == RECORD_SIMPLEPERF_CALLCHAIN) {
		*time = buf_u64_at(&v->b, 24);
	} else if (e && e->trailer_bytes) {
		if (payload + e->trailer_bytes > size)
			return TIME_AT_ONCE;
		if (!e->trailer_time_pos)
			return TIME_UNKNOWN;
		*time = buf_u64_at(&v->b, size - e->trailer_time_pos);
	} else if (v->type == PERF_RECORD_FORK || v->type == PERF_RECORD_EXIT) {
		*time = buf_u64_at(&v->b, 24);
	} else {
		return TIME_UNKNOWN;
	}
	return *time && *time != UINT64_MAX ? TIME_KNOWN : TIME_AT_ONCE;
}

static inline int enter_into_order(struct perf_file *f, struct block *b, uint32_t off,
				   uint64_t time)
{
	int rc = order_push(&f->order, time, where_make(b->no, off), &f->err);

	b->refs += !rc;
	return rc;
}

/* The same as record_take() for ordinary samples, without its checks. */
int record_take_samples(struct perf_file *f, struct record_stream *st, struct splitter *s)
{
	const struct event *e = f->events.same_sample_pos ? f->events.v.v[0] : NULL;
	const uint32_t least = e && e->sample_time_pos ? e->sample_time_pos + 8u : 0;
	struct block *b = s->block;
	uint64_t n = 0;
	uint32_t off;
	int rc = 0;

	if (!least || f->names_dirty || !splitter_in_step(s))
		return 0;
	for (; !rc && splitter_next_sample(s, least, &off); n++) {
		const struct buf time = buf_make(b->data + off + least - 8, 8, 0, f->swap);

		st->last_time = buf_u64_at(&time, 0);
		rc = enter_into_order(f, b, off, st->last_time);
	}
	f->stats.records += n;
	f->stats.sample_records += n;
	return rc;
}

int record_take(struct perf_file *f, struct record_stream *st, struct block *b,
		const struct record *r)
{
	const struct record_row *row = record_row(r->type);
	struct record_view v = record_view(f, b->data + r->off, r->size, b->data_off + r->off);
	uint64_t time = st->last_time;
	enum record_time known;
	enum perf_skip skip;
	size_t payload;

	f->stats.records++;
	f->stats.sample_records += r->type == PERF_RECORD_SAMPLE;
	v.stream = st;
	if (!row) {
		file_skip(f, PERF_SKIP_UNKNOWN_TYPE, r->type);
		return 0;
	}
	if (is_simpleperf_record(r->type)) {
		if (r->tail)
			return 0; /* its end is yet to come */
		f->simpleperf.n_unused[r->type - RECORD_SIMPLEPERF] += !row->apply;
	}
	skip = record_check(row, &v, &payload);
	if (skip == PERF_SKIP_N && is_too_long(f, row, &v, payload))
		skip = PERF_SKIP_TOO_LONG;
	if (skip != PERF_SKIP_N)
		file_skip(f, skip, r->type);
	if (skip != PERF_SKIP_N && !(skip == PERF_SKIP_TOO_LONG && row->tail == TAIL_OPEN))
		return 0;
	if (row->when == RECORD_IGNORED)
		return 0;
	if (row->when == RECORD_NOW)
		return row->apply(f, &v);
	if (f->names_dirty && file_settle_names(f))
		return -ERR_NOMEM;
	if (row->apply == apply_switch && !f->switches.on)
		return 0; /* nothing is weighed by it */
	known = r->type == PERF_RECORD_SAMPLE && f->events.v.n ? sample_time(f, &v, &time)
							       : other_time(f, &v, payload, &time);
	if (known == TIME_CUT_OFF) {
		file_skip(f, PERF_SKIP_TOO_SHORT, r->type);
		return 0;
	}
	if (known == TIME_AT_ONCE && row->apply)
		return row->apply(f, &v);
	if (known == TIME_KNOWN)
		st->last_time = time;
	return enter_into_order(f, b, r->off, time);
}
