/* stream.c - records to the data section of a file, compressed by a thread of its own. */
#include "capture/stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "reader/format.h"

#define BLOCK_BYTES ((size_t)1 << 20)

/* 2 MiB: the next dump of the same thread often comes later than level 1's own 512 KiB reach back.
 */
#define WINDOW_LOG 21

/* On a machine that is busy with others a fair share is not enough, and the queue gets full. Linux
 * has a nice value for each thread. Without the right to it things go on as they are. */
#define HELPER_NICE (-15)

/* Appended records on their way to the helper. */
struct block {
	struct block *next;
	size_t n;
	bool ends_round;
	uint8_t bytes[BLOCK_BYTES];
};

struct stream {
	struct stream_options opt;
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
	bool closing;
	int error;
	/* of the helper thread */
	pthread_t helper;
	ZSTD_CStream *zstd;
	uint8_t *out;
	size_t out_cap;
	uint64_t data_bytes;
	bool no_fallocate;
};

/* Room for what a block becomes: its pieces, each of them a record at most 64 KiB long. */
#define OUT_BYTES ((BLOCK_BYTES / STREAM_PIECE_BYTES + 2) * 65536)

_Static_assert(STREAM_PIECE_BYTES + 256 + sizeof(struct perf_event_header) < 65536,
	       "an incompressible piece must fit into one record");

/* ---- the helper -------------------------------------------------------------------------- */

static int write_at(int fd, const uint8_t *p, size_t n, uint64_t off)
{
	while (n) {
		ssize_t put = pwrite(fd, p, n, (off_t)off);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno;
		if (!put)
			return ENOSPC;
		p += put;
		off += (uint64_t)put;
		n -= (size_t)put;
	}
	return 0;
}

/* Makes sure that after n more bytes there is still room for the end of the file. */
static int reserve_space(struct stream *s, uint64_t off, size_t n)
{
	if (s->no_fallocate || !s->opt.reserve_bytes)
		return 0;
	if (!fallocate(s->opt.fd, FALLOC_FL_KEEP_SIZE, (off_t)off,
		       (off_t)(n + s->opt.reserve_bytes)))
		return 0;
	if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
		return errno;
	s->no_fallocate = true; /* this file system, pipe or device cannot */
	return 0;
}

/* Appends to the file and then tells the header, so that data.size never promises too much. */
static int put_data(struct stream *s, const uint8_t *p, size_t n)
{
	uint64_t off = s->opt.data_off + s->data_bytes, size = s->data_bytes + n;
	int rc = reserve_space(s, off, n);

	if (!rc)
		rc = write_at(s->opt.fd, p, n, off);
	if (!rc)
		rc = write_at(s->opt.fd, (const uint8_t *)&size, sizeof size,
			      s->opt.size_field_off);
	if (!rc)
		s->data_bytes = size;
	return rc;
}

/* The same for whole records, as many of them as the disk has room for. */
static int put_records(struct stream *s, const uint8_t *p, size_t n)
{
	int rc = put_data(s, p, n);
	struct perf_event_header h;

	if (rc != ENOSPC && rc != EDQUOT && rc != EFBIG)
		return rc;
	for (size_t at = 0; at < n; at += h.size) {
		memcpy(&h, p + at, sizeof h);
		rc = put_data(s, p + at, h.size);
		if (rc)
			return rc;
	}
	return 0;
}

/* One PERF_RECORD_COMPRESSED at out. 0 or an errno. */
static int compress_piece(struct stream *s, const uint8_t *p, size_t n, uint8_t *out, size_t *ret_n)
{
	struct perf_event_header h = {.type = RECORD_COMPRESSED};
	ZSTD_inBuffer in = {p, n, 0};
	ZSTD_outBuffer to = {out + sizeof h, UINT16_MAX - sizeof h, 0};
	size_t rest = ZSTD_compressStream2(s->zstd, &to, &in, ZSTD_e_flush);

	if (ZSTD_getErrorCode(rest) == ZSTD_error_memory_allocation)
		return ENOMEM;
	if (ZSTD_isError(rest) || rest || in.pos != n)
		return EIO;
	h.size = (uint16_t)(sizeof h + to.pos);
	memcpy(out, &h, sizeof h);
	*ret_n = h.size;
	return 0;
}

static int write_block(struct stream *s, const struct block *b)
{
	static const struct perf_event_header round = {.type = RECORD_FINISHED_ROUND,
						       .size = sizeof round};
	const uint8_t *from = b->bytes;
	size_t n = b->n;

	if (s->zstd) {
		n = 0;
		for (size_t pos = 0; pos < b->n;) {
			size_t len =
				b->n - pos < STREAM_PIECE_BYTES ? b->n - pos : STREAM_PIECE_BYTES;
			size_t got;
			int rc = compress_piece(s, b->bytes + pos, len, s->out + n, &got);

			if (rc)
				return rc;
			n += got;
			pos += len;
		}
		from = s->out;
	}
	if (!b->ends_round)
		return n ? put_records(s, from, n) : 0;
	if (!s->zstd)
		memcpy(s->out, from, n);
	memcpy(s->out + n, &round, sizeof round);
	return put_records(s, s->out, n + sizeof round);
}

static void *helper_main(void *arg)
{
	struct stream *s = arg;

	(void)setpriority(PRIO_PROCESS, 0, HELPER_NICE);
	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct block *b = s->first;
		int rc;

		if (!b) {
			if (s->closing)
				break;
			pthread_cond_wait(&s->wake, &s->lock);
			continue;
		}
		s->first = b->next;
		if (!s->first)
			s->last = &s->first;
		rc = s->error;
		pthread_mutex_unlock(&s->lock);
		if (!rc)
			rc = write_block(s, b);
		pthread_mutex_lock(&s->lock);
		s->error = rc;
		s->queued--;
		b->next = s->spare;
		s->spare = b;
	}
	pthread_mutex_unlock(&s->lock);
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

static void stream_free(struct stream *s)
{
	free_blocks(s->first);
	free_blocks(s->spare);
	free(s->open);
	ZSTD_freeCStream(s->zstd);
	free(s->out);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	free(s);
}

int stream_start(struct stream **ret, const struct stream_options *opt, struct err *err)
{
	struct stream *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return err_nomem(err);
	s->opt = *opt;
	s->data_bytes = opt->data_bytes;
	s->last = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	s->out = malloc(OUT_BYTES);
	if (opt->level)
		s->zstd = ZSTD_createCStream();
	if (!s->out || (opt->level && !s->zstd)) {
		stream_free(s);
		return err_nomem(err);
	}
	if (s->zstd) {
		ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, opt->level);
		ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_windowLog, WINDOW_LOG);
	}
	rc = pthread_create(&s->helper, NULL, helper_main, s);
	if (rc) {
		stream_free(s);
		return err_errno(err, rc, NULL, "start the thread that writes");
	}
	*ret = s;
	return 0;
}

static struct block *block_new(struct stream *s)
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
		b->ends_round = false;
	}
	return b;
}

static void queue_open_block(struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	*s->last = s->open;
	s->last = &s->open->next;
	s->queued++;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	s->open = NULL;
}

uint8_t *stream_reserve(struct stream *s, size_t n)
{
	assert(n <= UINT16_MAX + 7);
	if (s->open && BLOCK_BYTES - s->open->n < n)
		queue_open_block(s);
	if (!s->open)
		s->open = block_new(s);
	return s->open ? s->open->bytes + s->open->n : NULL;
}

void stream_commit(struct stream *s, size_t n)
{
	s->open->n += n;
	s->round_bytes += n;
	s->raw_bytes += n;
}

int stream_append(struct stream *s, const void *rec, size_t n)
{
	uint8_t *to = stream_reserve(s, n);

	if (!to)
		return -1;
	memcpy(to, rec, n);
	stream_commit(s, n);
	return 0;
}

bool stream_is_full(struct stream *s)
{
	bool full;

	pthread_mutex_lock(&s->lock);
	full = s->queued * BLOCK_BYTES >= s->opt.queue_bytes;
	pthread_mutex_unlock(&s->lock);
	return full;
}

size_t stream_round_bytes(const struct stream *s)
{
	return s->round_bytes;
}

int stream_end_round(struct stream *s)
{
	if (!s->round_bytes)
		return 0;
	if (!stream_reserve(s, 0))
		return -1;
	s->open->ends_round = true;
	s->round_bytes = 0;
	queue_open_block(s);
	return 0;
}

int stream_error(struct stream *s)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = s->error;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int stream_finish(struct stream *s, struct stream_totals *ret)
{
	int rc;

	if (!s)
		return 0;
	if (s->open)
		queue_open_block(s);
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->helper, NULL);
	rc = s->error;
	*ret = (struct stream_totals){s->raw_bytes, s->data_bytes};
	stream_free(s);
	return rc;
}
