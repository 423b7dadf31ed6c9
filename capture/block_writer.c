/* block_writer.c - writes blocks of records to the data section of a file, compressed. */
#include "capture/block_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/write_all.h"
#include "reader/format.h"

/* 2 MiB: the next dump of a thread is often further away than the 512 KiB window of level 1. */
#define WINDOW_LOG 21

/* For records that are written one by one because the disk is nearly full. */
#define TIGHT_BYTES ((size_t)4 << 10)

/* What becomes one record of the file. */
struct piece {
	const uint8_t *bytes;
	size_t n;
	bool ends_frame;
};

/* Room for a compressed block: each piece becomes a record of at most 64 KiB. */
#define OUT_BYTES ((BLOCK_BYTES / RECORD_WRITER_PIECE_BYTES + 2) * 65536)

_Static_assert(RECORD_WRITER_PIECE_BYTES + 256 + sizeof(struct perf_event_header) < 65536,
	       "an incompressible piece must fit into one record");

static ZSTD_CStream *zstd_new(int level)
{
	ZSTD_CStream *z = ZSTD_createCStream();

	if (z) {
		ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, level);
		ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, WINDOW_LOG);
		ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	}
	return z;
}

int block_writer_init(struct block_writer *s, const struct record_writer_options *opt)
{
	*s = (struct block_writer){
		.opt = *opt,
		.data_bytes = opt->data_bytes,
		.out = malloc(OUT_BYTES),
		.zstd = opt->level ? zstd_new(opt->level) : NULL,
	};
	return !s->out || (opt->level && !s->zstd) ? -1 : 0;
}

void block_writer_done(struct block_writer *s)
{
	ZSTD_freeCStream(s->zstd);
	free(s->out);
}

/* May the file grow by n bytes, with the user's limit and the space on the disk? Returns 0 or an
 * errno. */
static int may_grow(const struct block_writer *s, uint64_t off, uint64_t n)
{
	struct rlimit limit;
	struct statvfs fs;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && off + n > limit.rlim_cur)
		return EFBIG;
	if (s->no_fallocate && !fstatvfs(s->opt.fd, &fs) && fs.f_blocks &&
	    n > (uint64_t)fs.f_bavail * fs.f_frsize)
		return ENOSPC;
	return 0;
}

/* Makes sure that after n more bytes there is still room for the end of the file. */
static int reserve_space(struct block_writer *s, size_t n)
{
	const uint64_t off = s->opt.data_off + s->data_bytes;
	const uint64_t want = n + s->opt.reserve_bytes;

	if (!s->opt.reserve_bytes)
		return 0;
	if (!s->no_fallocate &&
	    fallocate(s->opt.fd, FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)want)) {
		if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
			return errno;
		s->no_fallocate = true; /* this file system, pipe or device cannot */
	}
	return may_grow(s, off, want);
}

/* Appends to the file, then updates the header, so that data.size is never larger than the data. */
static int put_data(struct block_writer *s, const uint8_t *p, size_t n)
{
	uint64_t off = s->opt.data_off + s->data_bytes, size = s->data_bytes + n;
	int rc;

	if (s->opt.window) {
		window_put(s->opt.window, p, n);
		return s->opt.window->failed ? ENOMEM : 0;
	}
	rc = reserve_space(s, n);
	if (!rc && s->opt.is_pipe)
		rc = write_all(s->opt.fd, p, n);
	else if (!rc)
		rc = write_all_at(s->opt.fd, p, n, off);
	if (!rc && !s->opt.is_pipe)
		rc = write_all_at(s->opt.fd, &size, sizeof size, s->opt.size_field_off);
	if (!rc)
		__atomic_store_n(&s->data_bytes, size, __ATOMIC_RELAXED);
	return rc;
}

/* Writes one PERF_RECORD_COMPRESSED to out. Returns 0 or an errno. */
static int compress_piece(struct block_writer *s, struct piece p, uint8_t *out, size_t *ret_n)
{
	struct perf_event_header h = {.type = RECORD_COMPRESSED};
	ZSTD_inBuffer in = {p.bytes, p.n, 0};
	ZSTD_outBuffer to = {out + sizeof h, UINT16_MAX - sizeof h, 0};
	size_t rest =
		ZSTD_compressStream2(s->zstd, &to, &in, p.ends_frame ? ZSTD_e_end : ZSTD_e_flush);

	if (ZSTD_getErrorCode(rest) == ZSTD_error_memory_allocation)
		return ENOMEM;
	if (ZSTD_isError(rest) || rest || in.pos != p.n)
		return EIO;
	h.size = (uint16_t)(sizeof h + to.pos);
	memcpy(out, &h, sizeof h);
	*ret_n = h.size;
	return 0;
}

/* Writes the bytes for the file that stand for a piece to out. */
static int encode_piece(struct block_writer *s, struct piece p, uint8_t *out, size_t *ret_n)
{
	if (s->zstd)
		return compress_piece(s, p, out, ret_n);
	memcpy(out, p.bytes, p.n);
	*ret_n = p.n;
	return 0;
}

/* Returns the size of the records at pos of a block that fit into `most` bytes, at least one; of a
 * record larger than a piece, the size of its next part. */
static size_t whole_records(const struct block *b, size_t pos, size_t most)
{
	size_t at = 0, n = 0;

	while (at < b->n) {
		struct perf_event_header h;

		memcpy(&h, b->bytes + at, sizeof h);
		at += h.size;
		if (at <= pos)
			continue;
		if (n && at - pos > most)
			break;
		n = at - pos;
	}
	return n < RECORD_WRITER_PIECE_BYTES ? n : RECORD_WRITER_PIECE_BYTES;
}

/* If the disk may become full, writes small pieces of whole records one by one, so that as many as
 * possible are kept. *kept: bytes of the block that are in the file. */
static int write_tight(struct block_writer *s, const struct block *b, size_t *kept)
{
	while (*kept < b->n) {
		const size_t len = whole_records(b, *kept, TIGHT_BYTES);
		size_t n;
		int rc = encode_piece(s, (struct piece){b->bytes + *kept, len, false}, s->out, &n);

		if (!rc)
			rc = put_data(s, s->out, n);
		if (rc)
			return rc;
		*kept += len;
	}
	return 0;
}

static int write_roomy(struct block_writer *s, const struct block *b, size_t *kept)
{
	struct window *w = s->opt.window;
	const bool ends_frame = s->frame_bytes + b->n + BLOCK_BYTES > RECORD_WRITER_FRAME_BYTES ||
				(w && window_is_due(w));
	size_t n = 0, got, len;
	int rc;

	if (w)
		window_note(w, b->bytes, b->n);
	for (size_t pos = 0; pos < b->n; pos += len, n += got) {
		len = b->n - pos < RECORD_WRITER_PIECE_BYTES ? b->n - pos
							     : RECORD_WRITER_PIECE_BYTES;
		rc = encode_piece(
			s, (struct piece){b->bytes + pos, len, ends_frame && pos + len == b->n},
			s->out + n, &got);
		if (rc)
			return rc;
	}
	rc = n ? put_data(s, s->out, n) : 0;
	if (rc)
		return rc;
	s->frame_bytes = ends_frame ? 0 : s->frame_bytes + b->n;
	if (w && ends_frame)
		window_cut(w);
	*kept = b->n;
	return 0;
}

/* Left out where there is no room: the rest of it is for samples. */
static int write_packed(struct block_writer *s, const struct block *b, size_t *kept)
{
	*kept = b->n;
	return reserve_space(s, b->n) ? 0 : put_data(s, b->bytes, b->n);
}

static int write_block(struct block_writer *s, const struct block *b, size_t *kept)
{
	static const struct perf_event_header round = {.type = RECORD_FINISHED_ROUND,
						       .size = sizeof round};
	int rc;

	if (b->is_packed)
		rc = write_packed(s, b, kept);
	else if (reserve_space(s, OUT_BYTES))
		rc = write_tight(s, b, kept);
	else
		rc = write_roomy(s, b, kept);
	if (rc || !b->ends_round)
		return rc;
	return put_data(s, (const uint8_t *)&round, sizeof round);
}

/* The number of samples of a block that are not completely in its first `kept` bytes. */
static uint64_t samples_behind(const struct block *b, size_t kept)
{
	uint64_t n = 0;

	for (size_t at = 0; at < b->n;) {
		struct perf_event_header h;

		memcpy(&h, b->bytes + at, sizeof h);
		at += h.size;
		n += h.type == PERF_RECORD_SAMPLE && at > kept;
	}
	return n;
}

uint64_t block_samples(const struct block *b)
{
	return samples_behind(b, 0);
}

/* With a record that has no effect, because perf takes a compressed record without any record in it
 * for damage. If there is no room the frame stays open. */
void block_writer_end_frame(struct block_writer *s)
{
	static const struct perf_event_header round = {.type = RECORD_FINISHED_ROUND,
						       .size = sizeof round};
	size_t n;

	if (s->zstd && s->frame_bytes &&
	    !encode_piece(s, (struct piece){(const uint8_t *)&round, sizeof round, true}, s->out,
			  &n))
		(void)put_data(s, s->out, n);
	s->frame_bytes = 0;
}

int block_writer_put(struct block_writer *s, const struct block *b, int error)
{
	size_t kept = 0;
	int rc = error ? error : write_block(s, b, &kept);

	if (rc)
		s->lost_samples += samples_behind(b, kept);
	return rc;
}

/* ---- with a window -------------------------------------------------------------------------- */

void block_writer_age_window(struct block_writer *s)
{
	if (!window_is_due(s->opt.window))
		return;
	block_writer_end_frame(s);
	window_cut(s->opt.window);
}

/* Writes records in a frame of their own, whatever frame is open, and a round. */
static int put_records(struct block_writer *s, const struct bytes *records)
{
	static const struct perf_event_header round = {.type = RECORD_FINISHED_ROUND,
						       .size = sizeof round};
	const size_t n = records->vec.n;
	ZSTD_CStream *open = s->zstd;
	int rc = 0;

	if (open)
		s->zstd = zstd_new(s->opt.level);
	if (open && !s->zstd)
		rc = ENOMEM;
	for (size_t pos = 0, len, got; pos < n && !rc; pos += len) {
		len = n - pos < RECORD_WRITER_PIECE_BYTES ? n - pos : RECORD_WRITER_PIECE_BYTES;
		rc = encode_piece(s, (struct piece){records->vec.v + pos, len, pos + len == n},
				  s->out, &got);
		if (!rc)
			rc = put_data(s, s->out, got);
	}
	if (open) {
		ZSTD_freeCStream(s->zstd);
		s->zstd = open;
	}
	return rc || !n ? rc : put_data(s, (const uint8_t *)&round, sizeof round);
}

int block_writer_put_window(struct block_writer *s, struct window *w, uint64_t *raw_bytes,
			    struct window_totals *ret)
{
	int rc = w->failed || past_settle(&w->past) ? ENOMEM : put_records(s, &w->past.records);

	*raw_bytes = w->past.records.vec.n;
	for (size_t i = 0; i < w->segments.n && !rc; i++) {
		const struct segment *g = &w->segments.v[i];

		rc = g->data.vec.n ? put_data(s, g->data.vec.v, g->data.vec.n) : 0;
		if (rc)
			break;
		*raw_bytes += g->raw_bytes;
		ret->samples += g->samples;
		if (g->first_sample_ns &&
		    (!ret->first_sample_ns || g->first_sample_ns < ret->first_sample_ns))
			ret->first_sample_ns = g->first_sample_ns;
	}
	return rc;
}
