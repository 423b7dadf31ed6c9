/* unpack_switches.c - records of context switches out of one that holds many. */
#include "reader/unpack_switches.h"

#include <string.h>

#include "base/err.h"
#include "reader/file.h"
#include "reader/record.h"
#include "reader/record_stream.h"

/* Three bytes, one when compressed, become 40. Rows that never change become as many as there are
 * bytes, but gigabytes of them are of no use. */
#define EXPANSION_FREE	(1ull << 30)
#define EXPANSION_RATIO 1000

enum { HEADER = sizeof(struct perf_event_header) };

struct unpacking {
	unsigned record_bytes, time_at, n_rows;
	uint32_t n;
	uint64_t time_ns; /* of the last one */
	unsigned row;	  /* likewise, */
	bool is_first;	  /* unless there is none yet */
	const uint8_t *rows;
	struct buf places, deltas;
	bool swap;
};

bool switches_are_packed(const struct buf *b)
{
	const size_t at = offsetof(struct packed_switches, magic);

	return (size_t)(b->end - b->data) >= sizeof(struct packed_switches) &&
	       !memcmp(b->data + at, PACKED_SWITCHES_MAGIC, 8);
}

/* Modulo 2^64; a tenth byte is the last. */
static uint64_t varint(struct buf *b)
{
	uint64_t v = 0;
	uint8_t byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && shift < 64; shift += 7) {
		byte = buf_u8(b);
		v |= (uint64_t)(byte & 0x7f) << shift;
	}
	return v;
}

/* Of each row the header: what it is, and as long as it says. */
static bool rows_are_switches(const struct unpacking *u)
{
	for (unsigned i = 0; i < u->n_rows; i++) {
		const struct perf_event_header h =
			header_at(u->rows + (size_t)i * (u->record_bytes - 8), u->swap);

		if ((h.type != PERF_RECORD_SWITCH && h.type != PERF_RECORD_SWITCH_CPU_WIDE) ||
		    h.size != u->record_bytes)
			return false;
	}
	return true;
}

/* The parts of the record; false: they are not as they should be. */
static bool find_parts(struct unpacking *u, struct buf b)
{
	uint32_t places_bytes;

	u->swap = b.swap;
	buf_seek(&b, offsetof(struct packed_switches, record_bytes));
	u->record_bytes = buf_u16(&b);
	u->time_at = buf_u16(&b);
	u->n_rows = buf_u16(&b);
	u->n = buf_u32(&b);
	places_bytes = buf_u32(&b);
	u->time_ns = buf_u64(&b);
	if (u->record_bytes % 8 || u->record_bytes > PACKED_SWITCH_BYTES_MAX || u->time_at % 8 ||
	    u->time_at < HEADER || u->time_at + 8 > u->record_bytes || !u->n_rows)
		return false;
	u->rows = buf_take(&b, (uint64_t)u->n_rows * (u->record_bytes - 8));
	u->places = buf_sub(&b, places_bytes);
	u->deltas = b;
	/* A byte each, at least. */
	return buf_ok(&b) && u->n <= places_bytes && u->n <= buf_left(&b) && rows_are_switches(u);
}

/* Room for one more record. NULL, with f->err: there is none. */
static uint8_t *room_for(struct perf_file *f, struct unpacked_switches *to, unsigned bytes,
			 uint64_t data_off)
{
	struct block *old = to->block;

	if (!old || BLOCK_BYTES - old->n < bytes) {
		to->block = block_new(&f->blocks, NULL, &f->err);
		if (old)
			block_unpin(&f->blocks, old);
		if (!to->block)
			return NULL;
		to->block->data_off = data_off;
	}
	return to->block->data + to->block->n;
}

/* Which row comes next; -1: there is no such one. */
static int next_row(struct unpacking *u, uint16_t *follower)
{
	const uint64_t place = varint(&u->places);

	if (!place)
		return follower[u->row];
	return place <= u->n_rows ? (int)place - 1 : -1;
}

/* Writes the next record to dst, which has room for it. False: there is none. */
static bool unpack_next(struct unpacking *u, uint16_t *follower, uint8_t *dst)
{
	const int row = next_row(u, follower);
	const size_t behind = u->time_at + 8;
	const uint8_t *from;
	uint64_t time_ns;

	u->time_ns += varint(&u->deltas);
	if (row < 0 || !buf_ok(&u->places) || !buf_ok(&u->deltas))
		return false;
	from = u->rows + (size_t)row * (u->record_bytes - 8);
	time_ns = u->swap ? __builtin_bswap64(u->time_ns) : u->time_ns;
	memcpy(dst, from, u->time_at);
	memcpy(dst + u->time_at, &time_ns, sizeof time_ns);
	memcpy(dst + behind, from + u->time_at, u->record_bytes - behind);
	if (!u->is_first)
		follower[u->row] = (uint16_t)row;
	u->is_first = false;
	u->row = (unsigned)row;
	return true;
}

static int check_expansion(struct perf_file *f, const struct record_stream *st)
{
	const uint64_t n = st->unpacked.bytes;

	if (n > EXPANSION_FREE && n / EXPANSION_RATIO > st->pos)
		return err_set(&f->err, ERR_LIMIT, f->info.path,
			       "records of context switches grow more than %d times",
			       EXPANSION_RATIO);
	return 0;
}

static int unpack_all(struct perf_file *f, struct record_stream *st, struct unpacking *u,
		      uint64_t data_off)
{
	struct unpacked_switches *to = &st->unpacked;
	int rc = 0;

	to->bytes += (uint64_t)u->n * u->record_bytes;
	rc = check_expansion(f, st);
	for (uint32_t i = 0; i < u->n && !rc; i++) {
		uint8_t *dst = room_for(f, to, u->record_bytes, data_off);
		struct record r = {.size = u->record_bytes};
		struct perf_event_header h;

		if (!dst)
			return -ERR_NOMEM;
		if (!unpack_next(u, to->follower.v, dst)) {
			file_skip(f, PERF_SKIP_BAD_COUNT, RECORD_EVENT_TYPE);
			return 0;
		}
		h = header_at(dst, f->swap);
		r.type = h.type;
		r.misc = h.misc;
		r.off = to->block->n;
		to->block->n += u->record_bytes;
		rc = record_take(f, st, to->block, &r);
	}
	return rc;
}

int unpack_switches(struct perf_file *f, const struct record_view *v)
{
	struct unpacked_switches *to = &v->stream->unpacked;
	struct unpacking u = {.is_first = true};
	struct buf b = v->b;

	buf_seek(&b, offsetof(struct packed_switches, version));
	if (f->names_dirty && file_settle_names(f))
		return -ERR_NOMEM;
	if (buf_u16(&b) != PACKED_SWITCHES_VERSION) {
		file_note(f, NOTE_SWITCHES,
			  "context switches were written by a newer version of capture, in a way "
			  "that this one cannot read: nothing is known of waiting");
		f->stats.damaged = true;
		return 0;
	}
	if (!f->switches.on)
		return 0; /* nothing is weighed by them */
	if (!find_parts(&u, v->b)) {
		file_skip(f, PERF_SKIP_BAD_COUNT, v->type);
		return 0;
	}
	if (vec_reserve(&to->follower, u.n_rows))
		return err_nomem(&f->err);
	memset(to->follower.v, 0, u.n_rows * sizeof *to->follower.v);
	return unpack_all(f, v->stream, &u, v->b.base_off);
}

void unpacked_switches_done(struct unpacked_switches *u, struct block_store *store)
{
	if (u->block)
		block_unpin(store, u->block);
	u->block = NULL;
	vec_done(&u->follower);
}
