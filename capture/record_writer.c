/* record_writer.c - takes records, and has a thread write them (block_writer.h). */
#include "capture/record_writer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "capture/block_writer.h"

/* On a busy machine a fair share of a CPU is not enough, and the queue fills. On Linux each thread
 * has its own nice value. If it may not be lowered, the helper keeps its own. */
#define HELPER_NICE (-15)

struct record_writer {
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
	struct block_writer to;
};

/* ---- the helper -------------------------------------------------------------------------- */

/* With the lock, which is released meanwhile. */
static void wait_for_block(struct record_writer *s)
{
	struct timespec until = {0};

	if (!s->to.opt.window) {
		pthread_cond_wait(&s->wake, &s->lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 1 + (time_t)(s->to.opt.window->length_ns / WINDOW_SEGMENTS / 1000000000);
	if (pthread_cond_timedwait(&s->wake, &s->lock, &until) == ETIMEDOUT && !s->first)
		block_writer_age_window(&s->to);
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
		rc = block_writer_put(&s->to, b, rc);
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
		block_writer_end_frame(&s->to);
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
	block_writer_done(&s->to);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	pthread_cond_destroy(&s->idle);
	free(s);
}

int record_writer_start(struct record_writer **ret, const struct record_writer_options *opt,
			struct err *err)
{
	struct record_writer *s = calloc(1, sizeof *s);
	pthread_condattr_t attr;
	int rc;

	if (!s)
		return err_nomem(err);
	s->last = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_cond_init(&s->idle, NULL);
	if (block_writer_init(&s->to, opt)) {
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
		s->error = block_writer_put(&s->to, s->open, s->error);
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
	full = s->queued * BLOCK_BYTES >= s->to.opt.queue_bytes;
	pthread_mutex_unlock(&s->lock);
	return full;
}

uint64_t record_writer_data_bytes(struct record_writer *s)
{
	return __atomic_load_n(&s->to.data_bytes, __ATOMIC_RELAXED);
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

void record_writer_spill(struct record_writer *s, const struct record_writer_options *to,
			 struct window_totals *ret)
{
	struct window *w = s->to.opt.window;

	*ret = (struct window_totals){0};
	if (s->open)
		queue_open_block(s);
	if (s->has_helper)
		end_helper(s);
	s->to.opt.fd = to->fd;
	s->to.opt.data_off = to->data_off;
	s->to.opt.size_field_off = to->size_field_off;
	s->to.opt.reserve_bytes = to->reserve_bytes;
	s->to.opt.window = NULL;
	s->to.data_bytes = to->data_bytes;
	window_drop_old(w, to->end_ns);
	if (!s->error)
		s->error = block_writer_put_window(&s->to, w, &s->raw_bytes, ret);
	/* A forked process has no thread that packs the blocks which wait. */
	for (struct block *b = s->first; b; b = b->next) {
		ret->samples += block_samples(b);
		s->raw_bytes += b->n;
		s->error = block_writer_put(&s->to, b, s->error);
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
		block_writer_end_frame(&s->to);
	rc = s->error;
	*ret = (struct record_writer_totals){s->raw_bytes, s->to.data_bytes, s->to.lost_samples};
	stream_free(s);
	return rc;
}
