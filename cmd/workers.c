/* workers.c - one thread reads batches, the others unwind their share of each. */
#include "cmd/workers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/threads.h"

enum {
	BATCHES_HELD = 4, /* what the reader allows */
	WORKERS_MAX = 64,
	BYTES_PER_THREAD = 256 << 20, /* of the recording */
};

/* What one worker owns. */
struct worker {
	struct crew *crew;
	unsigned index;
	struct unwinder *unwinder;
	struct stitcher *stitcher;	      /* NULL: stacks that were cut stay so */
	VEC(const struct perf_sample *) mine; /* of the batch at hand */
	struct profile *profile;
	struct verify verify;
	uint64_t filtered;
	/* What the JIT compiler of the last process that was asked about has told. */
	const struct dso *jit_dso;
	uint32_t jit_pid;
	const struct jitdump *jit_dump; /* NULL: nothing */
	struct err err;
	int rc;
};

/* Batches go round a ring: the reader puts them in at `head`, every worker walks all of them with a
 * `seen` of its own, and the slowest one's position is what the reader may release up to. */
struct crew {
	const struct pipeline_options *opt;
	struct jit_codes *jit;
	bool jit_times; /* the recording's clock is the jitdump's */
	pthread_mutex_t lock;
	pthread_cond_t more, less;
	struct perf_batch *ring[BATCHES_HELD];
	uint64_t head, tail; /* batches put in, batches released */
	uint64_t seen[WORKERS_MAX];
	bool end;
	unsigned n;
	struct worker workers[WORKERS_MAX];
};

/* For unwind_options. */
static bool jit_info(void *arg, const struct perf_sample *s, uint64_t ip,
		     struct jit_unwind_info *ret)
{
	const struct dso *dso = address_space_jitdump(s->space);
	struct worker *w = arg;
	struct jit_eh_frame e;
	uint64_t time_ns = w->crew->jit_times ? s->time_ns : 0;

	if (!dso)
		return false;
	if (dso != w->jit_dso || s->pid != w->jit_pid) {
		/* without memory the profile will not be made, either */
		if (jit_codes_open(w->crew->jit, dso, s->pid, &w->jit_dump, NULL))
			return false;
		w->jit_dso = dso;
		w->jit_pid = s->pid;
	}
	if (!w->jit_dump || !jitdump_eh_frame(w->jit_dump, ip, time_ns, &e))
		return false;
	*ret = (struct jit_unwind_info){e.start, e.end, e.data, e.size, e.swap};
	return true;
}

/* Stitching wants all samples of a thread. */
static bool in_shard(const struct worker *w, const struct perf_sample *s)
{
	unsigned n = w->crew->n;

	return !w->stitcher || n == 1 || hash_u64((uint64_t)s->pid << 32 | s->tid) % n == w->index;
}

/* Collects the worker's share of a batch: samples of its threads, or a part that is as large as the
 * others'. */
static int worker_choose(struct worker *w, const struct perf_batch *b)
{
	size_t n = w->crew->n, i = w->stitcher ? 0 : b->n * w->index / n;
	size_t end = w->stitcher ? b->n : b->n * (w->index + 1) / n;

	w->mine.n = 0;
	for (; i < end; i++) {
		const struct perf_sample *s = &b->samples[i];

		if (!in_shard(w, s))
			continue;
		if (!sample_filter_match(&w->crew->opt->filter, s))
			w->filtered++;
		else if (vec_push(&w->mine, s))
			return err_nomem(&w->err);
	}
	return 0;
}

/* i counts from the first of `mine`. */
static int take_traces(void *arg, size_t i, const struct stack_trace *traces, size_t n)
{
	struct worker *w = arg;

	return profile_add_batch(w->profile, &w->mine.v[i], traces, n, &w->err);
}

static int take_or_stitch(struct worker *w, size_t i, const struct stack_trace *traces, size_t n)
{
	const struct perf_sample *const *samples = &w->mine.v[i];
	size_t k;
	int rc = 0;

	for (k = 0; k < n; k++)
		verify_sample(&w->verify, samples[k], &traces[k]);
	if (!w->stitcher)
		return take_traces(w, i, traces, n);
	for (k = 0; k < n && !rc; k++)
		rc = stitcher_add(w->stitcher, samples[k], &traces[k]);
	return rc ? err_nomem(&w->err) : 0;
}

/* The stacks of the samples that come next, from i on. */
static void expect_stacks(const struct worker *w, size_t i)
{
	size_t end = i + UNWIND_BATCH < w->mine.n ? i + UNWIND_BATCH : w->mine.n;

	for (; i < end; i++)
		unwind_expect(w->mine.v[i]);
}

static void worker_batch(struct worker *w, const struct perf_batch *b)
{
	struct stack_trace traces[UNWIND_BATCH];
	size_t i, n;

	if (!w->rc)
		w->rc = worker_choose(w, b);
	for (i = 0; i < w->mine.n && !w->rc; i += n) {
		n = w->mine.n - i < UNWIND_BATCH ? w->mine.n - i : UNWIND_BATCH;
		expect_stacks(w, i + n);
		unwind_samples(w->unwinder, &w->mine.v[i], n, traces);
		w->rc = take_or_stitch(w, i, traces, n);
	}
	if (w->stitcher && !w->rc)
		w->rc = stitcher_run(w->stitcher, take_traces, w);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct crew *c = w->crew;
	uint64_t *seen = &c->seen[w->index];

	pthread_mutex_lock(&c->lock);
	for (;;) {
		struct perf_batch *b;

		while (*seen == c->head && !c->end)
			pthread_cond_wait(&c->more, &c->lock);
		if (*seen == c->head)
			break;
		b = c->ring[*seen % BATCHES_HELD];
		pthread_mutex_unlock(&c->lock);
		worker_batch(w, b);
		pthread_mutex_lock(&c->lock);
		++*seen;
		pthread_cond_signal(&c->less);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* Position of the slowest worker. */
static uint64_t crew_done(const struct crew *c)
{
	uint64_t done = c->head;
	unsigned i;

	for (i = 0; i < c->n; i++)
		if (c->seen[i] < done)
			done = c->seen[i];
	return done;
}

/* Releases finished batches, waiting until at most `held` are out. */
static void crew_drain(struct crew *c, struct perf_file *f, unsigned held)
{
	pthread_mutex_lock(&c->lock);
	while (c->head - c->tail > held) {
		while (crew_done(c) == c->tail)
			pthread_cond_wait(&c->less, &c->lock);
		perf_batch_release(f, c->ring[c->tail++ % BATCHES_HELD]);
	}
	pthread_mutex_unlock(&c->lock);
}

static void crew_put(struct crew *c, struct perf_batch *b)
{
	pthread_mutex_lock(&c->lock);
	c->ring[c->head++ % BATCHES_HELD] = b;
	pthread_cond_broadcast(&c->more);
	pthread_mutex_unlock(&c->lock);
}

static bool stopped(const struct crew *c)
{
	return c->opt->stop && *c->opt->stop;
}

static int read_with_threads(struct crew *c, struct perf_file *f, struct err *err)
{
	pthread_t ids[WORKERS_MAX];
	struct perf_batch *b;
	unsigned started, i;
	int rc = 0;

	for (started = 0; started < c->n; started++)
		if (pthread_create(&ids[started], NULL, worker_main, &c->workers[started]))
			break;
	if (started < c->n)
		rc = err_set(err, ERR_LIMIT, NULL, "cannot start %u threads; try -j 1", c->n);
	while (!rc && !stopped(c) && (rc = perf_file_read(f, &b, err)) > 0) {
		rc = 0;
		crew_put(c, b);
		crew_drain(c, f, BATCHES_HELD - 1);
	}
	pthread_mutex_lock(&c->lock);
	c->end = true;
	pthread_cond_broadcast(&c->more);
	pthread_mutex_unlock(&c->lock);
	for (i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	while (c->tail < c->head)
		perf_batch_release(f, c->ring[c->tail++ % BATCHES_HELD]);
	return rc;
}

static int read_alone(struct crew *c, struct perf_file *f, struct err *err)
{
	struct perf_batch *b;
	int rc = 0;

	while (!stopped(c) && !c->workers[0].rc && (rc = perf_file_read(f, &b, err)) > 0) {
		worker_batch(&c->workers[0], b);
		perf_batch_release(f, b);
	}
	return rc < 0 ? rc : 0;
}

/* Decompressing takes about as long as unwinding what comes out of it. */
static bool reads_apart(const struct crew *c, const struct perf_file *f)
{
	return c->n > 1 || (!c->opt->n_threads && threads_available() > 1 &&
			    perf_file_info(f)->is_compressed);
}

/* Threads cost a few milliseconds and caches of their own. What is no plain file may be large. */
static unsigned threads_worth(const char *path)
{
	unsigned n = threads_available();
	struct stat st;

	if (!stat(path, &st) && S_ISREG(st.st_mode) && st.st_size / BYTES_PER_THREAD < n)
		n = 1 + (unsigned)(st.st_size / BYTES_PER_THREAD);
	return n;
}

static int crew_init(struct crew *c, struct pipeline *p, const struct pipeline_options *opt,
		     struct err *err)
{
	const struct stitch_options so = {.max_frames = opt->unwind.max_frames};
	struct unwind_options uo = opt->unwind;
	unsigned i;
	int rc = 0;

	uo.places |= !opt->no_stitch;
	uo.jit_info = jit_info;
	c->jit = p->jit;
	c->jit_times = jit_times_fit(p->file);
	c->opt = opt;
	c->n = opt->n_threads ? opt->n_threads : threads_worth(opt->input);
	if (c->n > WORKERS_MAX)
		c->n = WORKERS_MAX;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->more, NULL);
	pthread_cond_init(&c->less, NULL);
	if (!uo.arch)
		uo.arch = perf_file_info(p->file)->arch;
	for (i = 0; i < c->n && !rc; i++) {
		struct worker *w = &c->workers[i];

		w->crew = c;
		w->index = i;
		uo.jit_arg = w;
		/* The first worker fills the final profile; the others are merged into it. */
		w->profile = i ? profile_new(opt->keep) : p->profile;
		if (!w->profile)
			rc = err_nomem(err);
		if (!rc)
			rc = profile_set_file(w->profile, p->file, err);
		if (!rc)
			profile_set_jit(w->profile, p->jit);
		if (!rc)
			rc = unwinder_new(&w->unwinder, p->modules, &uo, err);
		if (!rc && !opt->no_stitch)
			rc = stitcher_new(&w->stitcher, &so, err);
		if (!rc)
			rc = verify_init(&w->verify, opt->verify_every, p->modules, &uo, err);
	}
	return rc;
}

static void add_stitched(struct pipeline *p, const struct stitch_stats *s)
{
	p->stitched.cut += s->cut;
	p->stitched.to_root += s->to_root;
	p->stitched.extended += s->extended;
	p->stitched.frames += s->frames;
	p->unwind.frames += s->frames;
	p->unwind.frames_by_how[FRAME_STITCHED] += s->frames;
}

static int crew_merge(struct crew *c, struct pipeline *p, struct err *err)
{
	unsigned i;
	int rc = 0;

	p->depths = stack_depths_new();
	if (!p->depths)
		return err_nomem(err);
	for (i = 0; i < c->n && !rc; i++) {
		struct worker *w = &c->workers[i];

		if (w->rc) {
			*err = w->err;
			return w->rc;
		}
		if (i)
			rc = profile_merge(p->profile, w->profile, err);
		unwind_stats_add(&p->unwind, unwinder_stats(w->unwinder));
		stack_depths_add(p->depths, unwinder_depths(w->unwinder));
		if (w->stitcher)
			add_stitched(p, stitcher_stats(w->stitcher));
		verify_add(&p->verify, &w->verify);
		p->filtered += w->filtered;
	}
	return rc;
}

static void crew_done_free(struct crew *c)
{
	unsigned i;

	for (i = 0; i < c->n; i++) {
		if (i)
			profile_free(c->workers[i].profile);
		if (c->workers[i].unwinder)
			unwinder_free(c->workers[i].unwinder);
		stitcher_free(c->workers[i].stitcher);
		vec_done(&c->workers[i].mine);
		verify_done(&c->workers[i].verify);
	}
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->more);
	pthread_cond_destroy(&c->less);
	free(c);
}

int workers_run(struct pipeline *p, const struct pipeline_options *opt, struct err *err)
{
	struct crew *c = calloc(1, sizeof *c);
	int rc;

	if (!c)
		return err_nomem(err);
	rc = crew_init(c, p, opt, err);
	if (!rc)
		rc = reads_apart(c, p->file) ? read_with_threads(c, p->file, err)
					     : read_alone(c, p->file, err);
	if (!rc)
		rc = crew_merge(c, p, err);
	crew_done_free(c);
	return rc;
}
