/* scheduler.c - the threads: when there are more of them, what each does next, what they add up to.
 *
 * A batch goes through four stages: it is read, its samples are unwound, cut stacks are completed
 * from others of the batch and of those before, and all are added to the profile. Only unwinding
 * needs nothing but the sample, so any number of threads do it side by side, for several batches;
 * each other stage takes one batch after the other, reading on whichever thread is free and the
 * last two always on the same. So what comes out does not depend on the number of threads. */
#include "base/err.h"
#include "base/vec.h"
#include "load/pipeline.h"
#include "reader/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/threads.h"
#include "load/stages.h"

enum {
	/* A thread costs a good part of a millisecond, and has its own caches: one more for this
	 * many batches that were read, or will be, by the size of the file. */
	BATCHES_PER_THREAD = 16,
	BYTES_PER_THREAD = 64 << 20,
	COMPRESSED_TIMES = 8, /* at least, of what stacks are mostly made of */
	/* HEADER_TRACING_DATA of tools/perf/Documentation/perf.data-file-format.txt. */
	TRACING_DATA = 1,
};

/* Has a tracepoint such a field: "field:u64 a0;" of arguments of functions (capture --args),
 * "field:u64 ret;" of what they return? */
static bool has_field(const struct perf_file *f, const char *field)
{
	const uint8_t *formats;
	size_t n;

	formats = perf_file_feature(f, TRACING_DATA, &n);
	return formats && memmem(formats, n, field, strlen(field));
}

static void settle_values(struct scheduler *c)
{
	const bool traces = c->opt->keep & PROFILE_KEEP_TRACE;

	c->values.innermost = traces && has_field(c->p->file, "field:u64 a0;");
	c->values.results = traces && has_field(c->p->file, "field:u64 ret;");
	c->unwind.registers = values_are_wanted(&c->values);
}

static int worker_open(struct worker *w, struct err *err)
{
	struct scheduler *c = w->scheduler;
	int rc = unwinder_new(&w->unwinder, c->p->modules, &c->unwind, err);

	if (!rc && values_are_wanted(&c->values))
		rc = values_new(&w->values, c->p->modules, w->unwinder, &c->values, err);
	return rc ? rc
		  : verify_init(&w->verify, c->opt->verify_every, c->p->modules, &c->unwind, err);
}

static double thread_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *worker_main(void *arg);

/* Starts another thread if there is work for it. If that fails, the existing threads do the work.
 */
static void grow(struct scheduler *c)
{
	struct worker *w = &c->workers[c->n];

	if (c->rc || c->ended || c->n == c->n_max)
		return;
	if (c->n >= c->n_sure && c->n_read < (uint64_t)BATCHES_PER_THREAD * c->n)
		return;
	if (threads_start(&w->thread, worker_main, w))
		c->n_max = c->n;
	else
		c->n++;
}

static bool read_and_grow(struct worker *w)
{
	bool is_read = read_stage(w);

	if (is_read)
		grow(w->scheduler);
	return is_read;
}

/* What a stage remembers of earlier batches is in the cache of the worker that ran it last, and
 * slow to fetch from there. So the first worker reads and adds stacks, and the second, which has
 * unwound most of them if there are two, completes them. Other workers run these stages only before
 * they would sleep, because waking up may take longer. A single worker does everything, one batch
 * after the other. */
static bool run_stage(struct worker *w)
{
	bool is_first = !w->index, has_help = w->scheduler->n > 1;

	return (is_first && add_stage(w)) || (w->index == has_help && stitch_stage(w)) ||
	       (is_first && has_help && read_and_grow(w)) || unwind_stage(w) || read_and_grow(w) ||
	       stitch_stage(w) || add_stage(w);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct scheduler *c = w->scheduler;
	double start = thread_seconds();
	struct err err;
	int rc = worker_open(w, &err);

	pthread_mutex_lock(&c->lock);
	scheduler_set_rc(c, rc, &err);
	while (!c->rc && !(c->ended && c->n_added == c->n_read))
		if (run_stage(w))
			pthread_cond_broadcast(&c->changed);
		else if (!prefault_stage(w))
			pthread_cond_wait(&c->changed, &c->lock);
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	w->cpu_seconds = thread_seconds() - start;
	return NULL;
}

static uint64_t threads_sure(const char *path, bool is_compressed)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 1;
	return 1 + (uint64_t)st.st_size * (is_compressed ? COMPRESSED_TIMES : 1) / BYTES_PER_THREAD;
}

static struct scheduler *scheduler_new(struct loaded *p, const struct load_options *opt)
{
	struct scheduler *c = calloc(1, sizeof *c);
	unsigned i;

	if (!c)
		return NULL;
	c->p = p;
	c->opt = opt;
	c->unwind = opt->unwind;
	c->unwind.places |= !opt->no_stitch || p->jit;
	c->values = opt->values;
	c->unwind.jit = p->jit;
	if (!c->unwind.arch)
		c->unwind.arch = perf_file_info(p->file)->arch;
	c->n_max = pipeline_threads(opt);
	if (c->n_max > WORKERS_MAX)
		c->n_max = WORKERS_MAX;
	c->n_sure = threads_sure(p->path, perf_file_info(p->file)->is_compressed);
	mutex_init_short(&c->lock);
	pthread_cond_init(&c->changed, NULL);
	for (i = 0; i < JOBS; i++)
		c->spare[c->n_spare++] = &c->jobs[i];
	for (i = 0; i < c->n_max; i++) {
		c->workers[i].scheduler = c;
		c->workers[i].index = i;
	}
	return c;
}

static int scheduler_open(struct scheduler *c, struct err *err)
{
	const struct stitch_options so = {.max_frames = c->opt->unwind.max_frames};
	struct loaded *p = c->p;
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
static void threads_run(struct scheduler *c)
{
	unsigned i;

	c->n = 1;
	pthread_mutex_lock(&c->lock);
	/* What a pipe holds stands in records before its first sample. */
	if (perf_file_info(c->p->file)->is_pipe)
		read_stage(&c->workers[0]);
	settle_values(c);
	/* Threads that are certain to get work prefault until then. */
	while (c->n < c->n_sure && c->n < c->n_max)
		grow(c);
	pthread_mutex_unlock(&c->lock);
	worker_main(&c->workers[0]);
	/* The first worker returns when all is read or after an error: no threads are started after
	 * that. */
	for (i = 1; i < c->n; i++)
		pthread_join(c->workers[i].thread, NULL);
	for (; c->n_released < c->n_read; c->n_released++)
		perf_batch_release(c->p->file, c->batches[c->n_released % JOBS]);
}

static int scheduler_sum(struct scheduler *c, struct err *err)
{
	struct loaded *p = c->p;
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

static void scheduler_free(struct scheduler *c)
{
	unsigned i, k;

	for (i = 0; i < c->n_max; i++) {
		values_free(c->workers[i].values);
		if (c->workers[i].unwinder)
			unwinder_free(c->workers[i].unwinder);
		verify_done(&c->workers[i].verify);
		returned_done(&c->workers[i].returned);
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

int scheduler_run(struct loaded *p, const struct load_options *opt, struct err *err)
{
	struct scheduler *c = scheduler_new(p, opt);
	int rc;

	if (!c)
		return err_nomem(err);
	rc = scheduler_open(c, err);
	if (!rc) {
		threads_run(c);
		rc = c->rc;
		if (rc)
			*err = c->err;
	}
	if (!rc)
		rc = scheduler_sum(c, err);
	/* Events that a pipe describes, and no sample is of. */
	if (!rc && perf_file_info(p->file)->is_pipe)
		rc = profile_set_file(p->profile, p->file, err);
	scheduler_free(c);
	return rc;
}
