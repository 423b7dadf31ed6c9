/* stream.c - from bytes to records, through compression where there is one. */
#include "reader/stream.h"

#include <ctype.h>

#include "reader/format.h"

/* More of it is not a description of tracepoints. */
#define TRACING_MAX (64u << 20)

int stream_add(struct perf_file *f, const struct source *source, uint64_t pos, uint64_t end)
{
	struct stream *st = calloc(1, sizeof *st);

	if (!st || vec_push(&f->streams, st)) {
		free(st);
		return err_nomem(&f->err);
	}
	st->source = *source;
	if (f->map)
		source_map(&st->source);
	st->pos = pos;
	st->end = end;
	st->split.swap = f->swap;
	st->split.is_pipe = f->info.is_pipe;
	st->split.max_tail = end - pos;
	return 0;
}

void stream_free(struct perf_file *f, struct stream *st)
{
	splitter_done(&st->split, &f->blocks);
	inflate_free(st->inflate, &f->blocks);
	vec_done(&st->tracing);
	block_store_forget(&f->blocks);
	source_close(&st->source);
	free(st);
}

/* Adds bytes behind the splitter's, or tells it that there are none. */
static int stream_fill(struct perf_file *f, struct stream *st)
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
		n = (ssize_t)source_left(&st->source, st->pos, room);
	else if (st->source.seekable)
		n = source_pread(&st->source, st->pos, b->data + b->n, room, &f->err);
	else
		n = room ? source_read(&st->source, b->data + b->n, room, &f->err) : 0;
	if (n < 0)
		return (int)n;
	b->n += (uint32_t)n;
	st->pos += (uint64_t)n;
	s->max_tail = st->end - st->pos;
	s->eof = !n;
	if (s->eof && st->pos < st->end && st->source.seekable) {
		/* Somebody made it shorter meanwhile. */
		f->stats.truncated = true;
		file_lose(f, st->pos, st->end - st->pos, true);
		st->end = st->pos;
	}
	return 0;
}

/* Goes to a later place of a plain file without reading what lies between. */
static void stream_jump(struct perf_file *f, struct stream *st, uint64_t skip)
{
	splitter_done(&st->split, &f->blocks);
	st->split.rd = 0;
	st->pos += skip;
}

/* The words of a recorder whose standard error went the same way as its data. */
static bool is_text_at_end(const struct splitter *s)
{
	const struct block *b = s->block;

	if (!s->is_pipe || !b || s->bad_bytes > b->n)
		return false;
	for (uint64_t i = b->n - s->bad_bytes; i < b->n; i++)
		if (!isprint(b->data[i]) && !isspace(b->data[i]))
			return false;
	return true;
}

static void count_damage(struct perf_file *f, struct stream *st, struct splitter *s, bool at_end)
{
	if (s->saw_magic) {
		file_note(f, NOTE_CONCATENATED, "another recording begins at offset %#llx",
			  (unsigned long long)s->bad_off);
		f->noted[NOTE_RESYNC] = true;
		if (st->inflate)
			inflate_restart(st->inflate);
	}
	if (s->bad_bytes && at_end && is_text_at_end(s)) {
		f->stats.lost_bytes += s->bad_bytes;
		file_note(f, NOTE_JUNK, "%llu bytes of text behind the last record are ignored",
			  (unsigned long long)s->bad_bytes);
	} else if (s->bad_bytes) {
		file_lose(f, s->bad_off, s->bad_bytes, at_end);
	}
	s->saw_magic = false;
	s->bad_bytes = 0;
}

static int split_inflated(struct perf_file *f, struct stream *st)
{
	struct splitter *s = inflate_splitter(st->inflate);
	struct record r;
	enum split got;
	int rc;

	while ((got = splitter_next(s, &r)) == SPLIT_RECORD) {
		count_damage(f, st, s, false);
		rc = record_take(f, st, s->block, &r);
		if (rc)
			return rc;
	}
	if (got == SPLIT_END)
		count_damage(f, st, s, true);
	return 0;
}

/* n bytes of compressed data. */
static int stream_inflate(struct perf_file *f, struct stream *st, const uint8_t *p, size_t n)
{
	struct inflate_input in = {p, n};
	int more = 1, rc;

	if (!st->inflate) {
		rc = inflate_new(&st->inflate, f->swap, &f->err);
		if (rc)
			return rc;
	}
	f->info.is_compressed = true;
	while (more > 0) {
		struct err err = {0};

		more = inflate_step(st->inflate, &f->blocks, &in, &err);
		if (more == -ERR_DAMAGED) {
			file_note(f, NOTE_COMPRESSION, "%s", err.what);
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

/* The data of a COMPRESSED or COMPRESSED2 record that is all in the block. */
static int take_compressed(struct perf_file *f, struct stream *st, const struct record *r)
{
	struct buf b = buf_make(st->split.block->data + r->off, r->size, 0, f->swap);
	uint64_t n = r->size - sizeof(struct perf_event_header);

	buf_skip(&b, sizeof(struct perf_event_header));
	if (r->type == RECORD_COMPRESSED2)
		n = buf_u64(&b); /* checked by the splitter */
	return stream_inflate(f, st, buf_take(&b, n), n);
}

/* Inside of a run of COMPRESSED2 records with one size for all: begins the next. Its header, whose
 * size is right, is in the block. */
static void next_inner(struct perf_file *f, struct stream *st)
{
	struct splitter *s = &st->split;
	struct buf b = buf_make(s->block->data + s->rd, s->block->n - s->rd, 0, f->swap);
	const uint64_t header = sizeof(struct perf_event_header) + 8;
	uint32_t type = buf_u32(&b);
	uint16_t size;

	buf_skip(&b, 2);
	size = buf_u16(&b);
	if (type != RECORD_COMPRESSED2 || size < header || size > st->tail_left) {
		st->tail_left = 0; /* the splitter looks for records from here */
		return;
	}
	s->rd += (uint32_t)header;
	st->tail_left -= header;
	st->inner_left = size - header;
	f->stats.records++;
}

/* Uses what is in the block of the payload behind a record. */
static int take_tail(struct perf_file *f, struct stream *st)
{
	struct splitter *s = &st->split;
	uint64_t n = s->block->n - s->rd, want = st->tail_left;
	const uint8_t *p = s->block->data + s->rd;

	if (st->tail_type == RECORD_COMPRESSED2) {
		if (!st->inner_left) {
			if (n >= sizeof(struct perf_event_header) + 8)
				next_inner(f, st);
			else if (s->eof)
				st->tail_left = 0;
			return 0;
		}
		want = st->inner_left;
	}
	if (n > want)
		n = want;
	s->rd += (uint32_t)n;
	st->tail_left -= n;
	switch (st->tail_type) {
	case RECORD_COMPRESSED2:
		st->inner_left -= n;
		return stream_inflate(f, st, p, n);
	case RECORD_TRACING_DATA:
		if (vec_reserve(&st->tracing, st->tracing.n + n))
			return err_nomem(&f->err);
		memcpy(st->tracing.v + st->tracing.n, p, n);
		st->tracing.n += n;
		if (!st->tail_left)
			return features_give(f->features, FEATURE_TRACING_DATA, st->tracing.v,
					     st->tracing.n)
				       ? err_nomem(&f->err)
				       : 0;
		return 0;
	}
	return 0;
}

static void begin_tail(struct perf_file *f, struct stream *st, const struct record *r)
{
	st->tail_type = r->type;
	st->tail_left = r->tail;
	st->tracing.n = 0;
	if (r->type == RECORD_COMPRESSED2) {
		file_note(f, NOTE_OVERFLOW,
			  "perf recorded compressed data with wrong sizes; they were put right");
		st->inner_left =
			r->tail < COMPRESSED2_PAYLOAD_MAX ? r->tail : COMPRESSED2_PAYLOAD_MAX;
	} else if (r->type == RECORD_TRACING_DATA && r->tail > TRACING_MAX) {
		st->tail_type = RECORD_AUXTRACE; /* skipped */
	}
}

/* Goes on with the payload behind a record. */
static int stream_tail(struct perf_file *f, struct stream *st)
{
	struct splitter *s = &st->split;
	uint64_t here = s->block->n - s->rd;
	int rc;

	if (st->tail_type == RECORD_AUXTRACE && st->source.seekable && st->tail_left > here) {
		stream_jump(f, st, st->tail_left - here);
		st->tail_left = 0;
		return stream_fill(f, st);
	}
	if (!here || (st->tail_type == RECORD_COMPRESSED2 && !st->inner_left && here < 16)) {
		rc = stream_fill(f, st);
		if (rc)
			return rc;
		if (s->eof && s->block->n == s->rd) {
			f->stats.truncated = true;
			file_lose(f, st->pos, 0, true);
			st->tail_left = 0;
		}
	}
	return take_tail(f, st);
}

/* One step: a record, or a piece of payload, or more bytes. 0: the stream has ended. */
static int stream_step(struct perf_file *f, struct stream *st)
{
	struct splitter *s = &st->split;
	struct record r;
	enum split got;
	int rc;

	if (st->tail_left) {
		rc = stream_tail(f, st);
		return rc ? rc : 1;
	}
	got = splitter_next(s, &r);
	if (got != SPLIT_MORE)
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
		begin_tail(f, st, &r);
	else if (!rc && (r.type == RECORD_COMPRESSED || r.type == RECORD_COMPRESSED2))
		rc = take_compressed(f, st, &r);
	return rc ? rc : 1;
}

static int stream_end(struct perf_file *f, struct stream *st)
{
	if (!st->inflate)
		return 0;
	inflate_splitter(st->inflate)->eof = true;
	return split_inflated(f, st);
}

int stream_pump(struct perf_file *f, struct stream *st)
{
	int rc;

	while ((rc = stream_step(f, st)) > 0) {
		if (!st->round)
			continue;
		st->round = false;
		if (order_round(&f->order, false))
			return err_nomem(&f->err);
		if (order_ready(&f->order))
			return 1;
	}
	return rc ? rc : stream_end(f, st);
}
