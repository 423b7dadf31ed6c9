/* record.c - the table of record types, and the time of a record. */
#include "reader/record.h"

#include <sys/mman.h>

#include "reader/format.h"

/* perf_event.h, enum perf_event_type. */
static const struct record_row kernel_rows[RECORD_KERNEL_END] = {
	[PERF_RECORD_MMAP] = {RECORD_ORDERED, 41, 40, apply_mmap, 0, TAIL_TRAILER},
	[PERF_RECORD_LOST] = {RECORD_NOW, 24, 0, apply_lost, 0, TAIL_TRAILER},
	[PERF_RECORD_COMM] = {RECORD_ORDERED, 17, 16, apply_comm, 0, TAIL_TRAILER},
	[PERF_RECORD_EXIT] = {RECORD_ORDERED, 32, 0, apply_exit, 0, TAIL_TRAILER},
	[PERF_RECORD_THROTTLE] = {RECORD_NOW, 32, 0, apply_throttle, 0, TAIL_TRAILER},
	[PERF_RECORD_UNTHROTTLE] = {RECORD_IGNORED, 32, 0, NULL, 0, TAIL_TRAILER},
	[PERF_RECORD_FORK] = {RECORD_ORDERED, 32, 0, apply_fork, 0, TAIL_TRAILER},
	[PERF_RECORD_READ] = {RECORD_NOW, 24, 0, check_read, 0},
	[PERF_RECORD_SAMPLE] = {RECORD_ORDERED, 8, 0, NULL, 0, TAIL_OTHER},
	[PERF_RECORD_MMAP2] = {RECORD_ORDERED, 72, 72, apply_mmap2, 0, TAIL_TRAILER},
	[PERF_RECORD_AUX] = {RECORD_IGNORED, 32, 0, NULL, 0, TAIL_TRAILER},
	[PERF_RECORD_ITRACE_START] = {RECORD_IGNORED, 16, 0, NULL, 0, TAIL_TRAILER},
	[PERF_RECORD_LOST_SAMPLES] = {RECORD_NOW, 16, 0, apply_lost_samples, 0, TAIL_TRAILER},
	[PERF_RECORD_SWITCH] = {RECORD_IGNORED, 8, 0, NULL, 0, TAIL_TRAILER},
	[PERF_RECORD_SWITCH_CPU_WIDE] = {RECORD_IGNORED, 16, 0, NULL, 0, TAIL_TRAILER},
	[PERF_RECORD_NAMESPACES] = {RECORD_IGNORED, 24, 0, NULL, 16, TAIL_TRAILER},
	[PERF_RECORD_KSYMBOL] = {RECORD_ORDERED, 25, 24, apply_ksymbol, 0, TAIL_TRAILER},
	[PERF_RECORD_BPF_EVENT] = {RECORD_IGNORED, 24, 0, NULL, 0, TAIL_TRAILER},
	[PERF_RECORD_CGROUP] = {RECORD_IGNORED, 17, 16, NULL, 0, TAIL_TRAILER},
	[PERF_RECORD_TEXT_POKE] = {RECORD_NOW, 20, 0, check_text_poke, 0},
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = {RECORD_IGNORED, 16, 0, NULL, 0, TAIL_TRAILER},
	[RECORD_CALLCHAIN_DEFERRED] = {RECORD_ORDERED, 24, 0, apply_callchain_deferred, 8,
				       TAIL_TRAILER},
};

/* tools/lib/perf/include/perf/event.h, enum perf_user_event_type. For records that have grown over
 * the years, the size of their first version. */
static const struct record_row user_rows[RECORD_USER_END - RECORD_HEADER_ATTR] = {
#define ROW(type) [type - RECORD_HEADER_ATTR]
	ROW(RECORD_HEADER_ATTR) = {RECORD_NOW, 8 + PERF_ATTR_SIZE_VER0, 0, apply_header_attr, 0},
	ROW(RECORD_EVENT_TYPE) = {RECORD_NOW, 17, 0, apply_event_type, 0},
	ROW(RECORD_TRACING_DATA) = {RECORD_IGNORED, 12, 0, NULL, 0},
	ROW(RECORD_BUILD_ID) = {RECORD_NOW, 8 + 4 + 24 + 1, 36, apply_build_id, 0},
	ROW(RECORD_FINISHED_ROUND) = {RECORD_NOW, 8, 0, apply_finished_round, 0, TAIL_NONE},
	ROW(RECORD_ID_INDEX) = {RECORD_IGNORED, 16, 0, NULL, 32},
	ROW(RECORD_AUXTRACE_INFO) = {RECORD_IGNORED, 16, 0, NULL, 0},
	ROW(RECORD_AUXTRACE) = {RECORD_IGNORED, 48, 0, NULL, 0, TAIL_NONE},
	ROW(RECORD_AUXTRACE_ERROR) = {RECORD_IGNORED, 41, 40, NULL, 0},
	ROW(RECORD_THREAD_MAP) = {RECORD_IGNORED, 16, 0, NULL, 24, TAIL_NONE},
	ROW(RECORD_CPU_MAP) = {RECORD_NOW, 12, 0, check_cpu_map, 0},
	ROW(RECORD_STAT_CONFIG) = {RECORD_IGNORED, 16, 0, NULL, 16, TAIL_NONE},
	ROW(RECORD_STAT) = {RECORD_IGNORED, 48, 0, NULL, 0, TAIL_NONE},
	ROW(RECORD_STAT_ROUND) = {RECORD_IGNORED, 24, 0, NULL, 0, TAIL_NONE},
	ROW(RECORD_EVENT_UPDATE) = {RECORD_NOW, 24, 0, apply_event_update, 0},
	ROW(RECORD_TIME_CONV) = {RECORD_IGNORED, 32, 0, NULL, 0},
	ROW(RECORD_HEADER_FEATURE) = {RECORD_NOW, 16, 0, apply_header_feature, 0},
	ROW(RECORD_COMPRESSED) = {RECORD_IGNORED, 8, 0, NULL, 0, TAIL_OTHER},
	ROW(RECORD_FINISHED_INIT) = {RECORD_IGNORED, 8, 0, NULL, 0, TAIL_NONE},
	ROW(RECORD_COMPRESSED2) = {RECORD_IGNORED, 16, 0, NULL, 0, TAIL_OTHER},
	ROW(RECORD_BPF_METADATA) = {RECORD_IGNORED, 8 + 512 + 8, 0, NULL, 64 + 256, TAIL_TRAILER},
	ROW(RECORD_SCHEDSTAT_CPU) = {RECORD_IGNORED, 24, 0, NULL, 0},
	ROW(RECORD_SCHEDSTAT_DOMAIN) = {RECORD_IGNORED, 24, 0, NULL, 0},
#undef ROW
};

static const struct record_row simpleperf_rows[RECORD_SIMPLEPERF_END - RECORD_SIMPLEPERF] = {
#define ROW(type) [RECORD_SIMPLEPERF_##type - RECORD_SIMPLEPERF]
	[0] = {RECORD_IGNORED, 8, 0, NULL, 0},
	ROW(KERNEL_SYMBOL) = {RECORD_NOW, 12, 0, apply_kernel_symbol, 0},
	ROW(DSO) = {RECORD_NOW, 33, 32, apply_dso, 0},
	ROW(SYMBOL) = {RECORD_NOW, 33, 32, apply_symbol, 0},
	ROW(SPLIT) = {RECORD_NOW, 8, 0, apply_split, 0, TAIL_OTHER},
	ROW(SPLIT_END) = {RECORD_NOW, 8, 0, apply_split_end, 0, TAIL_OTHER},
	ROW(EVENT_ID) = {RECORD_NOW, 16, 0, apply_event_id, 0},
	ROW(CALLCHAIN) = {RECORD_ORDERED, 40, 0, apply_callchain, 16}, /* ip, sp */
	ROW(UNWINDING_RESULT) = {RECORD_IGNORED, 8, 0, NULL, 0},
	ROW(TRACING_DATA) = {RECORD_NOW, 12, 0, apply_tracing_data, 0},
	ROW(DEBUG) = {RECORD_IGNORED, 8, 0, NULL, 0},
#undef ROW
};

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
		return cut_neighbours_off(v, payload);
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
