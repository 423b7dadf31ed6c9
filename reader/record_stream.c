/* record_stream.c - turns the bytes of a stream into records, through decompression if necessary.
 */
#include "reader/record_stream.h"

#include <ctype.h>

#include "base/err.h"
#include "base/vec.h"
#include "reader/format.h"
#include "reader/record.h"

/* A larger section cannot be a description of tracepoints. */
#define TRACING_MAX (64u << 20)

enum { HEADER = sizeof(struct perf_event_header) };

int record_stream_add(struct perf_file *f, const struct byte_source *source, uint64_t pos,
		      uint64_t end)
{
	struct record_stream *st = calloc(1, sizeof *st);

	if (!st || vec_push(&f->streams, st)) {
		free(st);
		return err_nomem(&f->err);
	}
	st->source = *source;
	if (f->map)
		byte_source_map(&st->source, f->alone);
	st->pos = pos;
	st->end = end;
	st->split.swap = f->swap;
	st->split.is_pipe = f->info.is_pipe;
	st->split.max_tail = end - pos;
	return 0;
}

void record_stream_free(struct perf_file *f, struct record_stream *st)
{
	splitter_done(&st->split, &f->blocks);
	zstd_stream_free(st->zstd, &f->blocks);
	unpacked_switches_done(&st->unpacked, &f->blocks);
	vec_done(&st->tail.bytes);
	vec_done(&st->tail_inflated.bytes);
	block_store_forget(&f->blocks);
	byte_source_close(&st->source);
	free(st);
}

/* Tells prefault.h how far the reader is. For streams with parts that are skipped it offers
 * nothing: pages there would be faulted in, and perhaps read from the disk, for nothing, and never
 * be unmapped. */
static void stream_ahead(struct perf_file *f, const struct record_stream *st)
{
	const struct byte_source *s = &st->source;
	uint64_t end = st->end < s->map_bytes ? st->end : s->map_bytes;

	prefault_move(&f->prefault, s->map + st->pos, s->map + (st->jumps ? st->pos : end));
}

/* Appends bytes to those of the splitter, or tells it that the stream has ended. */
static int stream_fill(struct perf_file *f, struct record_stream *st)
{
	struct splitter *s = &st->split;
	struct block *b = s->block;
	uint64_t room;
	ssize_t n;

	if (!b || b->n == BLOCK_BYTES) {
		uint8_t *mapped = st->source.map ? st->source.map + st->pos : NULL;
		int rc = splitter_roll(s, &f->blocks, mapped, &f->err);

		if (rc)
			return rc;
		if (!b) {
			s->block->data_off = st->pos;
			s->block->file_off = st->pos;
			s->block->fd = st->source.seekable ? st->source.fd : -1;
		}
		b = s->block;
	}
	room = BLOCK_BYTES - b->n;
	if (room > st->end - st->pos)
		room = st->end - st->pos;
	if (st->source.map)
		n = (ssize_t)byte_source_left(&st->source, st->pos, room);
	else if (st->source.seekable)
		n = byte_source_pread(&st->source, st->pos, b->data + b->n, room, &f->err);
	else
		n = room ? byte_source_read(&st->source, b->data + b->n, room, &f->err) : 0;
	if (n < 0)
		return (int)n;
	b->n += (uint32_t)n;
	st->pos += (uint64_t)n;
	s->eof = !n;
	f->stats.truncated |= s->eof && !st->source.seekable && f->stop && *f->stop;
	if (s->eof && st->pos < st->end && st->source.seekable) {
		/* It was made shorter meanwhile. */
		f->stats.truncated = true;
		file_lose(f, st->pos, "", st->end - st->pos, true);
		st->end = st->pos;
	}
	s->max_tail = st->end - st->pos;
	if (st->source.map)
		stream_ahead(f, st);
	return 0;
}

/* Continues at a later offset of a plain file without reading the bytes in between. */
static void stream_jump(struct perf_file *f, struct record_stream *st, uint64_t skip)
{
	splitter_done(&st->split, &f->blocks);
	st->split.rd = 0;
	st->pos += skip;
	st->jumps = true;
}

/* Messages of a recorder whose standard error went to the same file as its data. The first bytes of
 * a header may look like a letter. */
static bool is_text_at_end(const struct record_stream *st, const struct splitter *s)
{
	const struct block *b = s->block;

	if (s != &st->split || !s->is_pipe || !b || s->bad_bytes > b->n || s->bad_bytes < HEADER)
		return false;
	for (uint64_t i = b->n - s->bad_bytes; i < b->n; i++)
		if (!isprint(b->data[i]) && !isspace(b->data[i]))
			return false;
	return true;
}

/* A stream tells nowhere how long it is: that it was cut shows by its last record, of which these
 * bytes are the beginning. */
static bool ends_in_record(const struct perf_file *f, const struct record_stream *st,
			   const struct splitter *s)
{
	const struct block *b = s->block;
	struct perf_event_header h;

	if (s != &st->split || !s->is_pipe || !b || s->bad_bytes > b->n)
		return false;
	if (s->bad_bytes < HEADER)
		return true;
	h = header_at(b->data + b->n - s->bad_bytes, f->swap);
	return record_row(h.type) && h.size > s->bad_bytes;
}

static bool found_damage(const struct splitter *s)
{
	return s->saw_magic || s->bad_bytes || s->wrong_size;
}

/* Missing bytes between records may have been compressed data, if there are more of them than the
 * record that marks a round has. */
static bool may_miss_compressed(const struct record_stream *st, const struct splitter *s)
{
	return s == &st->split && (s->wrong_size || s->bad_bytes > HEADER);
}

static void count_damage(struct perf_file *f, struct record_stream *st, struct splitter *s,
			 bool at_end)
{
	const char *const where = s == &st->split ? "" : " of the decompressed data";

	if (st->zstd && (s->saw_magic || may_miss_compressed(st, s)))
		zstd_stream_break(st->zstd);
	if (s->saw_magic) {
		f->n_events_before = f->events.v.n;
		file_note(f, NOTE_CONCATENATED, "another recording begins at offset %#llx",
			  (unsigned long long)s->bad_off);
		f->noted[NOTE_RESYNC] = true;
	}
	if (s->bad_bytes && at_end && is_text_at_end(st, s)) {
		f->stats.lost_bytes += s->bad_bytes;
		file_note(f, NOTE_JUNK, "%llu bytes of text behind the last record are ignored",
			  (unsigned long long)s->bad_bytes);
	} else if (s->bad_bytes && at_end && ends_in_record(f, st, s)) {
		f->stats.lost_bytes += s->bad_bytes;
		f->stats.damaged = true;
		file_note(f, NOTE_TRUNCATED,
			  "the stream ends inside of a record, at offset %#llx: what followed is "
			  "missing",
			  (unsigned long long)(s->bad_off + s->bad_bytes));
	} else if (s->bad_bytes) {
		file_lose(f, s->bad_off, where, s->bad_bytes, at_end);
	}
	if (s->wrong_size)
		file_lose(f, s->bad_off, where, 0, false);
	s->saw_magic = s->wrong_size = false;
	s->bad_bytes = 0;
}

/* Only records of compressed data have odd sizes, so this record of unknown type was one. */
static void miss_compressed(const struct record_stream *st, const struct record *r)
{
	if (st->zstd && r->size % 8 && !record_row(r->type))
		zstd_stream_break(st->zstd);
}

static int split_inflated(struct perf_file *f, struct record_stream *st);

/* Decompresses n bytes at an offset of the stream. */
static int stream_inflate(struct perf_file *f, struct record_stream *st, uint64_t off,
			  const uint8_t *p, size_t n)
{
	struct zstd_input in = {p, n};
	int more = 1, rc;

	if (!st->zstd) {
		rc = zstd_stream_new(&st->zstd, f->swap, &f->err);
		if (rc)
			return rc;
		zstd_stream_splitter(st->zstd)->is_pipe = st->split.is_pipe;
		zstd_stream_splitter(st->zstd)->max_tail = UINT64_MAX;
	}
	f->info.is_compressed = true;
	if (zstd_stream_begins_anew(st->zstd, &in)) {
		st->tail_inflated.left = 0;
		if (found_damage(zstd_stream_splitter(st->zstd)))
			count_damage(f, st, zstd_stream_splitter(st->zstd), false);
	}
	while (more > 0) {
		struct err err = {0};

		more = zstd_stream_step(st->zstd, &f->blocks, &in, &err);
		if (more == -ERR_DAMAGED) {
			file_note(f, NOTE_COMPRESSION,
				  "compressed data is damaged at offset %#llx: %s",
				  (unsigned long long)off, err.what);
			file_skip(f, PERF_SKIP_COMPRESSION, RECORD_COMPRESSED);
			f->stats.lost_bytes += n;
		} else if (more < 0) {
			f->err = err;
			return more;
		}
		rc = split_inflated(f, st);
		if (rc)
			return rc;
	}
	return 0;
}

/* Decompresses the data of a COMPRESSED or COMPRESSED2 record that is completely in the block. */
static int take_compressed(struct perf_file *f, struct record_stream *st, const struct record *r)
{
	struct buf b = buf_make(st->split.block->data + r->off, r->size, 0, f->swap);
	uint64_t n = r->size - sizeof(struct perf_event_header);

	buf_skip(&b, sizeof(struct perf_event_header));
	if (r->type == RECORD_COMPRESSED2)
		n = buf_u64(&b); /* checked by the splitter */
	return stream_inflate(f, st, st->split.block->data_off + r->off, buf_take(&b, n), n);
}

/* ---- payload behind records -------------------------------------------------------------- */

/* In a run of COMPRESSED2 records where the first has one data_size for all: begins the next
 * record. Its header is in the block, and its own size is right. */
static void next_inner(struct perf_file *f, struct record_stream *st)
{
	struct splitter *s = &st->split;
	struct buf b = buf_make(s->block->data + s->rd, s->block->n - s->rd, 0, f->swap);
	const uint64_t header = sizeof(struct perf_event_header) + 8;
	uint32_t type = buf_u32(&b);
	uint16_t size;

	buf_skip(&b, 2);
	size = buf_u16(&b);
	if (type != RECORD_COMPRESSED2 || size < header || size > st->tail.left) {
		st->tail.left = 0; /* the splitter looks for records from here */
		return;
	}
	s->rd += (uint32_t)header;
	st->tail.left -= header;
	st->tail.inner_left = size - header;
	f->stats.records++;
}

static int begin_tail(struct perf_file *f, struct tail *t, const struct splitter *s,
		      const struct record *r)
{
	t->type = r->type;
	t->left = r->tail;
	t->bytes.n = 0;
	t->skip = true;
	if (r->type == RECORD_COMPRESSED2) {
		t->skip = false;
		file_note(f, NOTE_OVERFLOW,
			  "perf recorded compressed data with wrong sizes; they were put right");
		t->inner_left =
			r->tail < COMPRESSED2_PAYLOAD_MAX ? r->tail : COMPRESSED2_PAYLOAD_MAX;
	} else if (r->type == RECORD_TRACING_DATA) {
		t->skip = r->tail > TRACING_MAX;
	} else if (is_simpleperf_record(r->type)) {
		/* Assembles the record in memory, beginning with its header. */
		t->skip = r->tail > SIMPLEPERF_BIG_MAX;
		if (t->skip) {
			f->simpleperf.n_unused[r->type - RECORD_SIMPLEPERF]++;
			return 0;
		}
		if (vec_reserve(&t->bytes, HEADER))
			return err_nomem(&f->err);
		memcpy(t->bytes.v, s->block->data + r->off, HEADER);
		t->bytes.n = HEADER;
	}
	return 0;
}

static int end_tail(struct perf_file *f, struct tail *t)
{
	f->names_dirty |= t->type == RECORD_TRACING_DATA;
	if (t->type == RECORD_TRACING_DATA)
		return features_give(f->features, FEATURE_TRACING_DATA, t->bytes.v, t->bytes.n)
			       ? err_nomem(&f->err)
			       : 0;
	return simpleperf_take_big(f, t->bytes.v, t->bytes.n);
}

/* Uses the part of a payload that is in the splitter's block. */
static int take_tail(struct perf_file *f, struct splitter *s, struct tail *t)
{
	uint64_t n = s->block->n - s->rd;
	const uint8_t *p = s->block->data + s->rd;

	if (n > t->left)
		n = t->left;
	s->rd += (uint32_t)n;
	s->synced_at = s->rd;
	t->left -= n;
	if (t->skip)
		return 0;
	if (vec_reserve(&t->bytes, t->bytes.n + n))
		return err_nomem(&f->err);
	if (n)
		memcpy(t->bytes.v + t->bytes.n, p, n);
	t->bytes.n += n;
	return t->left ? 0 : end_tail(f, t);
}

/* The same for COMPRESSED2 records of one frame that have one size for all. */
static int take_compressed_tail(struct perf_file *f, struct record_stream *st)
{
	struct splitter *s = &st->split;
	uint64_t n = s->block->n - s->rd;
	const uint8_t *p = s->block->data + s->rd;

	if (!st->tail.inner_left) {
		if (n >= HEADER + 8)
			next_inner(f, st);
		else if (s->eof)
			st->tail.left = 0;
		return 0;
	}
	if (n > st->tail.inner_left)
		n = st->tail.inner_left;
	s->rd += (uint32_t)n;
	s->synced_at = s->rd;
	st->tail.left -= n;
	st->tail.inner_left -= n;
	return stream_inflate(f, st, s->block->data_off + s->rd - n, p, n);
}

/* Continues with the payload that follows a record. */
static int stream_tail(struct perf_file *f, struct record_stream *st)
{
	struct splitter *s = &st->split;
	const bool compressed = st->tail.type == RECORD_COMPRESSED2;
	uint64_t here = s->block->n - s->rd;
	int rc;

	if (st->tail.skip && st->source.seekable && st->tail.left > here) {
		stream_jump(f, st, st->tail.left - here);
		st->tail.left = 0;
		return stream_fill(f, st);
	}
	if (!here || (compressed && !st->tail.inner_left && here < 16)) {
		rc = stream_fill(f, st);
		if (rc)
			return rc;
		if (s->eof && s->block->n == s->rd) {
			f->stats.truncated = true;
			file_lose(f, st->pos, "", 0, true);
			st->tail.left = 0;
		}
	}
	return compressed ? take_compressed_tail(f, st) : take_tail(f, s, &st->tail);
}

/* ---- records ----------------------------------------------------------------------------- */

/* Handles the records in the block of decompressed data. */
static int split_inflated(struct perf_file *f, struct record_stream *st)
{
	struct splitter *s = zstd_stream_splitter(st->zstd);
	struct tail *t = &st->tail_inflated;
	struct record r;
	enum split got = SPLIT_RECORD;
	int rc = 0;

	while (!rc && got == SPLIT_RECORD) {
		if (t->left && s->block && s->rd == s->block->n)
			return 0;
		if (t->left) {
			rc = take_tail(f, s, t);
			continue;
		}
		rc = record_take_samples(f, st, s);
		if (rc)
			break;
		got = splitter_next(s, &r);
		if (got != SPLIT_MORE && found_damage(s))
			count_damage(f, st, s, got == SPLIT_END);
		if (got != SPLIT_RECORD)
			break;
		rc = record_take(f, st, s->block, &r);
		if (!rc && r.tail)
			rc = begin_tail(f, t, s, &r);
		t->skip |=
			/* Compressed data holds no compressed records. */
			r.type == RECORD_COMPRESSED2;
	}
	return rc;
}

/* One step: handles samples and another record, or a piece of payload, or reads more bytes. Returns
 * 0 at the end of the stream. */
static int stream_step(struct perf_file *f, struct record_stream *st)
{
	struct splitter *s = &st->split;
	struct record r;
	enum split got;
	int rc;

	if (st->tail.left) {
		rc = stream_tail(f, st);
		return rc ? rc : 1;
	}
	rc = record_take_samples(f, st, s);
	if (rc)
		return rc;
	got = splitter_next(s, &r);
	if (got != SPLIT_MORE && found_damage(s))
		count_damage(f, st, s, got == SPLIT_END);
	switch (got) {
	case SPLIT_END:
		return 0;
	case SPLIT_MORE:
		rc = stream_fill(f, st);
		return rc ? rc : 1;
	case SPLIT_RECORD:
		break;
	}
	rc = record_take(f, st, s->block, &r);
	if (!rc && r.tail)
		rc = begin_tail(f, &st->tail, s, &r);
	else if (!rc && (r.type == RECORD_COMPRESSED || r.type == RECORD_COMPRESSED2))
		rc = take_compressed(f, st, &r);
	else
		miss_compressed(st, &r);
	return rc ? rc : 1;
}

static int stream_end(struct perf_file *f, struct record_stream *st)
{
	if (!st->zstd)
		return 0;
	zstd_stream_splitter(st->zstd)->eof = true;
	if (st->tail_inflated.left) {
		f->stats.truncated = true;
		file_lose(f, st->pos, "", 0, true);
	}
	return split_inflated(f, st);
}

int record_stream_pump(struct perf_file *f, struct record_stream *st)
{
	int rc;

	while ((rc = stream_step(f, st)) > 0) {
		if (!st->round)
			continue;
		st->round = false;
		rc = order_round(&f->order, false, &f->err);
		if (rc)
			return rc;
		if (order_ready(&f->order))
			return 1;
	}
	return rc ? rc : stream_end(f, st);
}
