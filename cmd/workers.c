/* workers.c - the threads: when there are more of them, what each owns, and what they add up to. */
#include "cmd/workers.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/threads.h"
#include "cmd/crew.h"

enum {
	/* A thread costs a good part of a millisecond, and caches of its own: one more for so many
	 * batches that were read, or so much of a file that will be. */
	BATCHES_PER_THREAD = 16,
	BYTES_PER_THREAD = 64 << 20,
	COMPRESSED_TIMES = 8, /* at least, of what stacks are mostly made of */
};

void crew_set_rc(struct crew *c, int rc, const struct err *err)
{
	if (rc < 0 && !c->rc) {
		c->rc = rc;
		c->err = *err;
	}
}

static int worker_open(struct worker *w, struct err *err)
{
	struct crew *c = w->crew;
	int rc = unwinder_new(&w->unwinder, c->p->modules, &c->unwind, err);

	return rc ? rc
		  : verify_init(&w->verify, c->opt->verify_every, c->p->modules, &c->unwind, err);
}

static double thread_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct crew *c = w->crew;
	double start = thread_seconds();
	struct err err;
	int rc = worker_open(w, &err);

	pthread_mutex_lock(&c->lock);
	crew_set_rc(c, rc, &err);
	while (!c->rc && !(c->ended && c->n_added == c->n_read))
		if (crew_run_stage(w))
			pthread_cond_broadcast(&c->changed);
		else if (!crew_look_ahead(w))
			pthread_cond_wait(&c->changed, &c->lock);
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	w->cpu_seconds = thread_seconds() - start;
	return NULL;
}

/* Where no more can be had, those that there are do it. */
void crew_grow(struct crew *c)
{
	struct worker *w = &c->workers[c->n];

	if (c->rc || c->ended || c->n == c->n_max)
		return;
	if (c->n >= c->n_sure && c->n_read < (uint64_t)BATCHES_PER_THREAD * c->n)
		return;
	/* This is the first thread. It takes a seat only if all the others will: a few threads of
	 * many are put by the kernel where they do not share a core. */
	if (c->n == 1 && (c->n_max == 2 || c->n_sure >= c->n_max))
		thread_seats_take(&c->seats, c->n_max);
	if (!thread_seats_start(&c->seats, c->n, &w->thread, worker_main, w)) {
		c->n++;
		return;
	}
	c->n_max = c->n;
	if (c->n == 1)
		thread_seats_leave(&c->seats);
}

static uint64_t threads_sure(const char *path, bool is_compressed)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 1;
	return 1 + (uint64_t)st.st_size * (is_compressed ? COMPRESSED_TIMES : 1) / BYTES_PER_THREAD;
}

static struct crew *crew_new(struct pipeline *p, const struct pipeline_options *opt)
{
	struct crew *c = calloc(1, sizeof *c);
	unsigned i;

	if (!c)
		return NULL;
	c->p = p;
	c->opt = opt;
	c->unwind = opt->unwind;
	c->unwind.places |= !opt->no_stitch;
	c->unwind.jit = p->jit;
	if (!c->unwind.arch)
		c->unwind.arch = perf_file_info(p->file)->arch;
	c->n_max = pipeline_threads(opt);
	if (c->n_max > WORKERS_MAX)
		c->n_max = WORKERS_MAX;
	c->n_sure = threads_sure(opt->input, perf_file_info(p->file)->is_compressed);
	mutex_init_short(&c->lock);
	pthread_cond_init(&c->changed, NULL);
	for (i = 0; i < JOBS; i++)
		c->spare[c->n_spare++] = &c->jobs[i];
	for (i = 0; i < c->n_max; i++) {
		c->workers[i].crew = c;
		c->workers[i].index = i;
	}
	return c;
}

static int crew_open(struct crew *c, struct err *err)
{
	const struct stitch_options so = {.max_frames = c->opt->unwind.max_frames};
	struct pipeline *p = c->p;
	int rc = profile_set_file(p->profile, p->file, err);

	p->depths = stack_depths_new();
	if (!rc && !p->depths)
		rc = err_nomem(err);
	if (!rc && !c->opt->no_stitch)
		rc = stitcher_new(&c->stitcher, &so, err);
	profile_set_jit(p->profile, p->jit);
	return rc;
}

/* This thread is the first worker. */
static void crew_run(struct crew *c)
{
	unsigned i;

	c->n = 1;
	/* Who is sure to get work looks ahead until then. */
	pthread_mutex_lock(&c->lock);
	while (c->n < c->n_sure && c->n < c->n_max)
		crew_grow(c);
	pthread_mutex_unlock(&c->lock);
	worker_main(&c->workers[0]);
	/* The first is done when all is read or something went wrong: no more are started then. */
	for (i = 1; i < c->n; i++)
		pthread_join(c->workers[i].thread, NULL);
	thread_seats_leave(&c->seats);
	for (; c->n_released < c->n_read; c->n_released++)
		perf_batch_release(c->p->file, c->batches[c->n_released % JOBS]);
}

static int crew_sum(struct crew *c, struct err *err)
{
	struct pipeline *p = c->p;
	unsigned i;

	for (i = 0; i < c->n; i++) {
		struct worker *w = &c->workers[i];

		unwind_stats_add(&p->unwind, unwinder_stats(w->unwinder));
		verify_add(&p->verify, &w->verify);
		if (vec_push(&p->thread_seconds, w->cpu_seconds))
			return err_nomem(err);
	}
	if (c->stitcher) {
		p->stitched = *stitcher_stats(c->stitcher);
		p->unwind.frames += p->stitched.frames;
		p->unwind.frames_by_how[FRAME_STITCHED] += p->stitched.frames;
	}
	return 0;
}

static void crew_free(struct crew *c)
{
	unsigned i, k;

	for (i = 0; i < c->n_max; i++) {
		if (c->workers[i].unwinder)
			unwinder_free(c->workers[i].unwinder);
		verify_done(&c->workers[i].verify);
		scratch_done(&c->workers[i].memory);
		scratch_chunks_free(&c->workers[i].put_back);
	}
	for (i = 0; i < JOBS; i++) {
		vec_done(&c->jobs[i].samples);
		vec_done(&c->jobs[i].traces);
		vec_done(&c->jobs[i].digests);
		for (k = 0; k < WORKERS_MAX; k++)
			scratch_chunks_free(&c->jobs[i].frames[k]);
	}
	stitcher_free(c->stitcher);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
	free(c);
}

int workers_run(struct pipeline *p, const struct pipeline_options *opt, struct err *err)
{
	struct crew *c = crew_new(p, opt);
	int rc;

	if (!c)
		return err_nomem(err);
	rc = crew_open(c, err);
	if (!rc) {
		crew_run(c);
		rc = c->rc;
		if (rc)
			*err = c->err;
	}
	if (!rc)
		rc = crew_sum(c, err);
	crew_free(c);
	return rc;
}
