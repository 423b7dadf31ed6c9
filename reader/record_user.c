/* record_user.c - records of user space that describe the recording. */
#include "base/err.h"
#include "reader/format.h"
#include "reader/record.h"
#include "reader/unpack_switches.h"

/* Of several recordings in one stream, an event of a former one that is the same. */
static int add_or_find_event(struct perf_file *f, struct buf raw, size_t *index)
{
	const struct event *same = NULL;
	struct perf_attr attr;
	bool tail = false;
	int rc;

	attr_read(&attr, raw, f->is_big_endian, &tail);
	if (!tail)
		same = events_find_equal(&f->events, f->n_events_before, &attr);
	rc = same ? 0 : file_add_event(f, raw);
	*index = same ? same->pub.index : f->events.v.n - 1;
	return rc;
}

int apply_header_attr(struct perf_file *f, struct record_view *v)
{
	struct buf peek = v->b, attr;
	uint32_t size;
	size_t index;
	int rc;

	buf_skip(&peek, 4);
	size = buf_u32(&peek);
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	attr = buf_sub(&v->b, size);
	if (!buf_ok(&attr) || size < PERF_ATTR_SIZE_VER0) {
		file_skip(f, PERF_SKIP_BAD_COUNT, v->type);
		return 0;
	}
	rc = add_or_find_event(f, attr, &index);
	if (rc)
		return rc;
	while (buf_left(&v->b) >= 8)
		if (events_add_id(&f->events, index, buf_u64(&v->b)))
			return err_nomem(&f->err);
	f->names_dirty = true;
	return 0;
}

int apply_header_feature(struct perf_file *f, struct record_view *v)
{
	uint64_t bit = buf_u64(&v->b);
	size_t n = buf_left(&v->b);

	/* Without contents it is the end mark, whose bit number depends on the writer's version. */
	if (!n || bit >= FEATURE_N)
		return 0;
	if (features_give(f->features, (unsigned)bit, v->b.p, n))
		return err_nomem(&f->err);
	f->names_dirty = true;
	return feature_parse(f, (unsigned)bit, v->b);
}

/* From old versions of perf: names by config, for tracepoints. Or of capture: context switches. */
int apply_event_type(struct perf_file *f, struct record_view *v)
{
	uint64_t config = buf_u64(&v->b);
	size_t n = buf_left(&v->b);

	if (switches_are_packed(&v->b))
		return unpack_switches(f, v);
	if (recorded_code_is(v->b.data, (size_t)(v->b.end - v->b.data)))
		return note_recorded_code(f);
	f->names_dirty = true;
	return names_by_config(f, PERF_TYPE_TRACEPOINT, config, (const char *)v->b.p, n)
		       ? err_nomem(&f->err)
		       : 0;
}

int apply_build_id(struct perf_file *f, struct record_view *v)
{
	struct buf rec = v->b;

	buf_seek(&rec, 0);
	return build_id_record(f, rec, true);
}

int apply_event_update(struct perf_file *f, struct record_view *v)
{
	uint64_t kind = buf_u64(&v->b);
	struct event *e = events_find(&f->events, buf_u64(&v->b));
	size_t n = buf_left(&v->b);

	if (kind != EVENT_UPDATE_NAME || !e || !n)
		return 0;
	if (!memchr(v->b.p, 0, n)) {
		file_skip(f, PERF_SKIP_BAD_STRING, v->type);
		return 0;
	}
	return events_set_name(&f->events, e->pub.index, (const char *)v->b.p, n)
		       ? err_nomem(&f->err)
		       : 0;
}

int apply_finished_round(struct perf_file *f, struct record_view *v)
{
	v->stream->round = f->rounds_hold;
	return 0;
}
