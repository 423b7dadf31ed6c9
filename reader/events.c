/* events.c - perf_event_attr, ids, and the layout of records that follows from sample_type. */
#include "reader/events.h"

#include <string.h>

#include "reader/format.h"
#include "reader/sample_decode.h"

/* A bit field of a big-endian writer begins at the highest bit of each byte. */
static uint64_t flags_from_big_endian(const uint8_t *bytes)
{
	uint64_t flags = 0, precise;

	for (unsigned i = 0; i < 64; i++)
		flags |= (uint64_t)(bytes[i / 8] >> (7 - i % 8) & 1) << i;
	/* precise_ip has two bits (15 and 16), so reversing has exchanged them. */
	precise = flags >> 15 & 3;
	flags &= ~(3ull << 15);
	return flags | (precise & 1) << 16 | (precise >> 1) << 15;
}

void attr_read(struct perf_attr *a, struct buf raw, bool is_big_endian, bool *unknown_tail)
{
	uint8_t body[PERF_ATTR_SIZE_VER7 + 16] = {0}; /* up to config4 */
	size_t n = buf_left(&raw) < sizeof body ? buf_left(&raw) : sizeof body;
	struct buf b = buf_make(body, sizeof body, 0, raw.swap);
	uint64_t flags;

	memcpy(body, buf_take(&raw, n), n);
	while (buf_left(&raw))
		*unknown_tail |= buf_u8(&raw) != 0;
	*a = (struct perf_attr){.type = buf_u32(&b)};
	a->size = buf_u32(&b);
	a->config = buf_u64(&b);
	a->sample_period = buf_u64(&b);
	a->sample_type = buf_u64(&b);
	a->read_format = buf_u64(&b);
	flags = buf_u64(&b);
	a->flags = is_big_endian ? flags_from_big_endian(body + 40) : flags;
	a->wakeup = buf_u32(&b);
	a->bp_type = buf_u32(&b);
	a->config1 = buf_u64(&b);
	a->config2 = buf_u64(&b);
	a->branch_sample_type = buf_u64(&b);
	a->sample_regs_user = buf_u64(&b);
	a->sample_stack_user = buf_u32(&b);
	a->clockid = (int32_t)buf_u32(&b);
	a->sample_regs_intr = buf_u64(&b);
	a->aux_watermark = buf_u32(&b);
	a->sample_max_stack = buf_u16(&b);
	buf_skip(&b, 2);
	a->aux_sample_size = buf_u32(&b);
	buf_skip(&b, 4); /* aux_action */
	a->sig_data = buf_u64(&b);
}

/* Computes the offsets of the fixed fields at the start of a SAMPLE, and of the trailer of other
 * records, which has them in another order: perf_event.h, PERF_RECORD_SAMPLE and struct sample_id.
 */
static void event_lay_out(struct event *e)
{
	static const uint64_t before_id =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	static const uint64_t before_time =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	static const uint64_t trailer = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
					PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
					PERF_SAMPLE_IDENTIFIER;
	const uint64_t type = e->pub.attr.sample_type;

#define WORDS(mask) (8u * (unsigned)__builtin_popcountll(type & (mask)))
	if (type & PERF_SAMPLE_TIME)
		e->sample_time_pos = (uint16_t)(8 + WORDS(before_time));
	if (type & PERF_SAMPLE_IDENTIFIER)
		e->sample_id_pos = 8;
	else if (type & PERF_SAMPLE_ID)
		e->sample_id_pos = (uint16_t)(8 + WORDS(before_id));
	if (!(e->pub.attr.flags & PERF_ATTR_SAMPLE_ID_ALL))
		return;
	e->trailer_bytes = (uint16_t)WORDS(trailer);
	if (type & PERF_SAMPLE_TIME)
		e->trailer_time_pos = (uint16_t)WORDS(trailer & ~(uint64_t)PERF_SAMPLE_TID);
	if (type & PERF_SAMPLE_IDENTIFIER)
		e->trailer_id_pos = 8;
	else if (type & PERF_SAMPLE_ID)
		e->trailer_id_pos =
			(uint16_t)WORDS(PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
#undef WORDS
}

int events_add(struct event_table *t, const struct perf_attr *attr)
{
	struct event *e = arena_alloc(&t->arena, sizeof *e);
	const struct event *first;

	if (!e)
		return -1;
	e->pub = (struct perf_event){.index = (uint32_t)t->v.n, .name = "", .attr = *attr};
	e->layout = sample_layout(attr);
	event_lay_out(e);
	if (vec_push(&t->v, e))
		return -1;
	if (e->sample_id_pos)
		t->sample_id_words |= 1ull << e->sample_id_pos / 8;
	if (e->trailer_id_pos)
		t->trailer_id_words |= 1ull << e->trailer_id_pos / 8;
	t->asks_for_build_ids |= (attr->flags & PERF_ATTR_BUILD_ID) != 0;
	first = t->v.v[0];
	t->same_sample_pos = (t->same_sample_pos || e == first) &&
			     e->sample_id_pos == first->sample_id_pos &&
			     e->sample_time_pos == first->sample_time_pos;
	t->same_trailer = (t->same_trailer || e == first) &&
			  e->trailer_bytes == first->trailer_bytes &&
			  e->trailer_id_pos == first->trailer_id_pos &&
			  e->trailer_time_pos == first->trailer_time_pos;
	return 0;
}

static bool attrs_are_equal(const struct perf_attr *a, const struct perf_attr *b)
{
	const uint64_t of_a[] = {
		a->type,
		a->config,
		a->config1,
		a->config2,
		a->sample_period,
		a->sample_type,
		a->read_format,
		a->flags,
		a->wakeup,
		a->bp_type,
		a->branch_sample_type,
		a->sample_regs_user,
		a->sample_regs_intr,
		a->sample_stack_user,
		(uint64_t)a->clockid,
		a->aux_watermark,
		a->aux_sample_size,
		a->sample_max_stack,
		a->sig_data,
	};
	const uint64_t of_b[] = {
		b->type,
		b->config,
		b->config1,
		b->config2,
		b->sample_period,
		b->sample_type,
		b->read_format,
		b->flags,
		b->wakeup,
		b->bp_type,
		b->branch_sample_type,
		b->sample_regs_user,
		b->sample_regs_intr,
		b->sample_stack_user,
		(uint64_t)b->clockid,
		b->aux_watermark,
		b->aux_sample_size,
		b->sample_max_stack,
		b->sig_data,
	};

	return !memcmp(of_a, of_b, sizeof of_a);
}

const struct event *events_find_equal(const struct event_table *t, size_t n,
				      const struct perf_attr *attr)
{
	const struct event *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!attrs_are_equal(&t->v.v[i]->pub.attr, attr))
			continue;
		if (found)
			return NULL;
		found = t->v.v[i];
	}
	return found;
}

int events_add_id(struct event_table *t, size_t index, uint64_t id)
{
	struct event *e = t->v.v[index];

	if (vec_push(&e->ids, id) || hash_put(&t->by_id, id, (uint32_t)index))
		return -1;
	e->pub.ids = e->ids.v;
	e->pub.n_ids = e->ids.n;
	t->n_ids++;
	return 0;
}

int events_set_name(struct event_table *t, size_t index, const char *name, size_t len)
{
	const char *copy = arena_strndup(&t->arena, name, strnlen(name, len));

	if (!copy)
		return -1;
	t->v.v[index]->pub.name = copy;
	t->v.v[index]->named = true;
	return 0;
}

void events_done(struct event_table *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		vec_done(&t->v.v[i]->ids);
	vec_done(&t->v);
	hash_done(&t->by_id);
	arena_done(&t->arena);
}

struct event *events_find(const struct event_table *t, uint64_t id)
{
	uint32_t i = hash_get(&t->by_id, id);

	return i == HASH_NONE ? NULL : t->v.v[i];
}

const struct event *events_of_sample_id(const struct event_table *t, const struct buf *rec)
{
	const struct event *first = t->v.n ? t->v.v[0] : NULL;
	uint64_t id;

	if (t->same_sample_pos) {
		/* Without ids the samples cannot be attributed to one of the events, but they can
		 * be read. */
		if (!first->sample_id_pos)
			return first;
		id = buf_u64_at(rec, first->sample_id_pos);
		return id ? events_find(t, id) : first;
	}
	for (uint64_t left = t->sample_id_words; left; left &= left - 1) {
		unsigned pos = 8 * (unsigned)__builtin_ctzll(left);
		const struct event *e = events_find(t, buf_u64_at(rec, pos));

		if (e && e->sample_id_pos == pos)
			return e;
	}
	return NULL;
}

const struct event *events_of_trailer(const struct event_table *t, const struct buf *rec)
{
	const struct event *first = t->v.n ? t->v.v[0] : NULL;
	size_t size = (size_t)(rec->end - rec->data);

	if (t->v.n <= 1 || t->same_trailer)
		return first;
	for (uint64_t left = t->trailer_id_words; left; left &= left - 1) {
		unsigned pos = 8 * (unsigned)__builtin_ctzll(left);
		const struct event *e =
			pos <= size ? events_find(t, buf_u64_at(rec, size - pos)) : NULL;

		if (e && e->trailer_id_pos == pos && e->trailer_bytes <= size - 8)
			return e;
	}
	return first;
}
