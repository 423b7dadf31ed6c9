/* record_writer.c - writes records to the data section of a file; a thread compresses them. */
#include "capture/record_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/write_all.h"
#include "reader/format.h"

#define BLOCK_BYTES ((size_t)1 << 20)

/* 2 MiB: the next dump of a thread is often further away than the 512 KiB window of level 1. */
#define WINDOW_LOG 21

/* On a busy machine a fair share of a CPU is not enough, and the queue fills. On Linux each thread
 * has its own nice value. If it may not be lowered, the helper keeps its own. */
#define HELPER_NICE (-15)

/* For records that are written one by one because the disk is nearly full. */
#define TIGHT_BYTES ((size_t)4 << 10)

/* Appended records on their way to the helper. */
struct block {
	struct block *next;
	size_t n;
	bool ends_round;
	bool is_packed; /* written as it is, whatever frame is open */
	uint8_t bytes[BLOCK_BYTES];
};

struct record_writer {
	struct record_writer_options opt;
	/* of the appending thread */
	struct block *open; /* being filled, or NULL */
	size_t round_bytes;
	uint64_t raw_bytes;
	/* shared, under lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;	     /* a block was queued, or closing was set */
	struct block *first, **last; /* the queue */
	struct block *spare;	     /* used blocks, for reuse */
	size_t queued;		     /* blocks in the queue or at the helper */
	bool closing, busy;	     /* busy: the helper works, without the lock */
	pthread_cond_t idle;	     /* no longer busy */
	int error;
	/* of the helper thread */
	pthread_t helper;
	bool has_helper; /* else the appending thread does its work */
	ZSTD_CStream *zstd;
	uint8_t *out;
	size_t out_cap;
	uint64_t data_bytes;
	uint64_t lost_samples; /* of blocks that could not be written */
	size_t frame_bytes;    /* before compression, in the frame that is open */
	bool no_fallocate;
};

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

/* ---- the helper -------------------------------------------------------------------------- */

/* May the file grow by n bytes, with the user's limit and the space on the disk? Returns 0 or an
 * errno. */
static int may_grow(const struct record_writer *s, uint64_t off, uint64_t n)
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
static int reserve_space(struct record_writer *s, size_t n)
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
static int put_data(struct record_writer *s, const uint8_t *p, size_t n)
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
static int compress_piece(struct record_writer *s, struct piece p, uint8_t *out, size_t *ret_n)
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
static int encode_piece(struct record_writer *s, struct piece p, uint8_t *out, size_t *ret_n)
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
static int write_tight(struct record_writer *s, const struct block *b, size_t *kept)
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

static int write_roomy(struct record_writer *s, const struct block *b, size_t *kept)
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
static int write_packed(struct record_writer *s, const struct block *b, size_t *kept)
{
	*kept = b->n;
	return reserve_space(s, b->n) ? 0 : put_data(s, b->bytes, b->n);
}

static int write_block(struct record_writer *s, const struct block *b, size_t *kept)
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

/* Ends the last frame, so that it has its checksum, with a record that has no effect, because perf
 * takes a compressed record without any record in it for damage. If there is no room the frame
 * stays open. */
static void end_last_frame(struct record_writer *s)
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

/* Nothing was appended for some time: what is old is dropped all the same. */
static void age_window(struct record_writer *s)
{
	if (!window_is_due(s->opt.window))
		return;
	end_last_frame(s);
	window_cut(s->opt.window);
}

/* Writes a block, unless writing has failed before. Returns 0 or an errno. */
static int take_block(struct record_writer *s, const struct block *b, int error)
{
	size_t kept = 0;
	int rc = error ? error : write_block(s, b, &kept);

	if (rc)
		s->lost_samples += samples_behind(b, kept);
	return rc;
}

/* With the lock, which is released meanwhile. */
static void wait_for_block(struct record_writer *s)
{
	struct timespec until = {0};

	if (!s->opt.window) {
		pthread_cond_wait(&s->wake, &s->lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 1 + (time_t)(s->opt.window->length_ns / WINDOW_SEGMENTS / 1000000000);
	if (pthread_cond_timedwait(&s->wake, &s->lock, &until) == ETIMEDOUT && !s->first)
		age_window(s);
}

static void *helper_main(void *arg)
{
	struct record_writer *s = arg;
	int rc;

	(void)setpriority(PRIO_PROCESS, 0, HELPER_NICE);
	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct block *b = s->first;

		if (!b) {
			if (s->closing)
				break;
			wait_for_block(s);
			continue;
		}
		s->first = b->next;
		if (!s->first)
			s->last = &s->first;
		rc = s->error;
		s->busy = true;
		pthread_mutex_unlock(&s->lock);
		rc = take_block(s, b, rc);
		pthread_mutex_lock(&s->lock);
		s->busy = false;
		pthread_cond_signal(&s->idle);
		s->error = rc;
		s->queued--;
		b->next = s->spare;
		s->spare = b;
	}
	rc = s->error;
	pthread_mutex_unlock(&s->lock);
	if (!rc)
		end_last_frame(s);
	return NULL;
}

/* ---- the appending side ------------------------------------------------------------------ */

static void free_blocks(struct block *b)
{
	while (b) {
		struct block *next = b->next;

		free(b);
		b = next;
	}
}

static void stream_free(struct record_writer *s)
{
	free_blocks(s->first);
	free_blocks(s->spare);
	free(s->open);
	ZSTD_freeCStream(s->zstd);
	free(s->out);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	pthread_cond_destroy(&s->idle);
	free(s);
}

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

int record_writer_start(struct record_writer **ret, const struct record_writer_options *opt,
			struct err *err)
{
	struct record_writer *s = calloc(1, sizeof *s);
	pthread_condattr_t attr;
	int rc;

	if (!s)
		return err_nomem(err);
	s->opt = *opt;
	s->data_bytes = opt->data_bytes;
	s->last = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_cond_init(&s->idle, NULL);
	s->out = malloc(OUT_BYTES);
	if (opt->level)
		s->zstd = zstd_new(opt->level);
	if (!s->out || (opt->level && !s->zstd)) {
		stream_free(s);
		return err_nomem(err);
	}
	rc = pthread_create(&s->helper, NULL, helper_main, s);
	if (rc) {
		stream_free(s);
		return err_errno(err, rc, NULL, "start the thread that writes");
	}
	s->has_helper = true;
	*ret = s;
	return 0;
}

static struct block *block_new(struct record_writer *s)
{
	struct block *b;

	pthread_mutex_lock(&s->lock);
	b = s->spare;
	if (b)
		s->spare = b->next;
	pthread_mutex_unlock(&s->lock);
	if (!b)
		b = malloc(sizeof *b);
	if (b) {
		b->next = NULL;
		b->n = 0;
		b->ends_round = b->is_packed = false;
	}
	return b;
}

static void queue_open_block(struct record_writer *s)
{
	if (!s->has_helper) {
		s->error = take_block(s, s->open, s->error);
		s->open->next = s->spare;
		s->spare = s->open;
		s->open = NULL;
		return;
	}
	pthread_mutex_lock(&s->lock);
	*s->last = s->open;
	s->last = &s->open->next;
	s->queued++;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	s->open = NULL;
}

static uint8_t *reserve(struct record_writer *s, size_t n, bool is_packed)
{
	assert(n <= UINT16_MAX + 7);
	if (s->open && (BLOCK_BYTES - s->open->n < n || s->open->is_packed != is_packed))
		queue_open_block(s);
	if (!s->open) {
		s->open = block_new(s);
		if (s->open)
			s->open->is_packed = is_packed;
	}
	return s->open ? s->open->bytes + s->open->n : NULL;
}

uint8_t *record_writer_reserve(struct record_writer *s, size_t n)
{
	return reserve(s, n, false);
}

void record_writer_commit(struct record_writer *s, size_t n)
{
	s->open->n += n;
	s->round_bytes += n;
	s->raw_bytes += n;
}

int record_writer_append(struct record_writer *s, const void *rec, size_t n)
{
	uint8_t *to = record_writer_reserve(s, n);

	if (!to)
		return -1;
	memcpy(to, rec, n);
	record_writer_commit(s, n);
	return 0;
}

int record_writer_append_packed(struct record_writer *s, const void *rec, size_t n)
{
	uint8_t *to = reserve(s, n, true);

	if (!to)
		return -1;
	memcpy(to, rec, n);
	record_writer_commit(s, n);
	return 0;
}

bool record_writer_is_full(struct record_writer *s)
{
	bool full;

	pthread_mutex_lock(&s->lock);
	full = s->queued * BLOCK_BYTES >= s->opt.queue_bytes;
	pthread_mutex_unlock(&s->lock);
	return full;
}

uint64_t record_writer_data_bytes(struct record_writer *s)
{
	return __atomic_load_n(&s->data_bytes, __ATOMIC_RELAXED);
}

size_t record_writer_round_bytes(const struct record_writer *s)
{
	return s->round_bytes;
}

int record_writer_end_round(struct record_writer *s)
{
	if (!s->round_bytes)
		return 0;
	if (!s->open && !record_writer_reserve(s, 0))
		return -1;
	s->open->ends_round = true;
	s->round_bytes = 0;
	queue_open_block(s);
	return 0;
}

void record_writer_flush(struct record_writer *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->queued)
		pthread_cond_wait(&s->idle, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

int record_writer_error(struct record_writer *s)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = s->error;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static void end_helper(struct record_writer *s)
{
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->helper, NULL);
	s->has_helper = false;
}

/* ---- with a fork ----------------------------------------------------------------------------- */

void record_writer_leave(struct record_writer *s)
{
	pthread_mutex_lock(&s->lock);
	s->error = ECANCELED;
	pthread_mutex_unlock(&s->lock);
	end_helper(s);
	stream_free(s);
}

void record_writer_hold(struct record_writer *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->busy)
		pthread_cond_wait(&s->idle, &s->lock);
}

void record_writer_release(struct record_writer *s)
{
	pthread_mutex_unlock(&s->lock);
}

void record_writer_forked(struct record_writer *s)
{
	s->has_helper = false;
	/* The helper that is not here waited for these, and they would wait for it to leave. */
	pthread_cond_init(&s->wake, NULL);
	pthread_cond_init(&s->idle, NULL);
	pthread_mutex_unlock(&s->lock);
}

/* ---- with a window -------------------------------------------------------------------------- */

/* Writes records in a frame of their own, whatever frame is open, and a round. */
static int put_records(struct record_writer *s, const struct bytes *records)
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

/* Returns 0 or an errno. */
static int put_window(struct record_writer *s, struct window *w, struct window_totals *ret)
{
	int rc = w->failed || past_settle(&w->past) ? ENOMEM : put_records(s, &w->past.records);

	s->raw_bytes = w->past.records.vec.n;
	for (size_t i = 0; i < w->segments.n && !rc; i++) {
		const struct segment *g = &w->segments.v[i];

		rc = g->data.vec.n ? put_data(s, g->data.vec.v, g->data.vec.n) : 0;
		if (rc)
			break;
		s->raw_bytes += g->raw_bytes;
		ret->samples += g->samples;
		if (g->first_sample_ns &&
		    (!ret->first_sample_ns || g->first_sample_ns < ret->first_sample_ns))
			ret->first_sample_ns = g->first_sample_ns;
	}
	return rc;
}

static uint64_t samples_of(const struct block *b)
{
	return samples_behind(b, 0);
}

void record_writer_spill(struct record_writer *s, const struct record_writer_options *to,
			 struct window_totals *ret)
{
	struct window *w = s->opt.window;

	*ret = (struct window_totals){0};
	if (s->open)
		queue_open_block(s);
	if (s->has_helper)
		end_helper(s);
	s->opt.fd = to->fd;
	s->opt.data_off = to->data_off;
	s->opt.size_field_off = to->size_field_off;
	s->opt.reserve_bytes = to->reserve_bytes;
	s->opt.window = NULL;
	s->data_bytes = to->data_bytes;
	window_drop_old(w, to->end_ns);
	if (!s->error)
		s->error = put_window(s, w, ret);
	/* A forked process has no thread that packs the blocks which wait. */
	for (struct block *b = s->first; b; b = b->next) {
		ret->samples += samples_of(b);
		s->raw_bytes += b->n;
		s->error = take_block(s, b, s->error);
	}
}

int record_writer_finish(struct record_writer *s, struct record_writer_totals *ret)
{
	int rc;

	if (!s)
		return 0;
	if (s->open)
		queue_open_block(s);
	if (s->has_helper)
		end_helper(s);
	else if (!s->error)
		end_last_frame(s);
	rc = s->error;
	*ret = (struct record_writer_totals){s->raw_bytes, s->data_bytes, s->lost_samples};
	stream_free(s);
	return rc;
}
