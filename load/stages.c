/* stages.c - what is done with a batch. */
#include "base/err.h"
#include "base/pages.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "reader/reader.h"
#include "load/stages.h"

enum {
	SLICE = 4 * UNWIND_BATCH, /* samples that a worker takes at a time */
};

void scheduler_set_rc(struct scheduler *c, int rc, const struct err *err)
{
	if (rc < 0 && !c->rc) {
		c->rc = rc;
		c->err = *err;
	}
}

/* ---- memory for frames --------------------------------------------------------------------- */

/* All functions are called with the lock held. */

/* Takes what other workers have put back, for scratch_put_back() without the lock. */
static struct scratch_chunks memory_take(struct worker *w)
{
	struct scratch_chunks chunks = w->put_back;

	w->put_back = (struct scratch_chunks){0};
	return chunks;
}

/* The frames of a batch have been added: gives their memory back to its worker. */
static void memory_put_back(struct scheduler *c, struct batch_job *j)
{
	unsigned i;

	for (i = 0; i < c->n; i++)
		scratch_chunks_join(&c->workers[i].put_back, &j->frames[i]);
}

/* ---- reading --------------------------------------------------------------------- */

static struct batch_job *job_at(const struct scheduler *c, uint64_t i)
{
	return c->job_of[i % JOBS];
}

static int choose_samples(struct scheduler *c, struct batch_job *j, const struct perf_batch *b,
			  struct err *err)
{
	size_t i;

	j->samples.n = j->taken = j->unwound = 0;
	for (i = 0; i < b->n; i++) {
		struct perf_sample *s = &b->samples[i];

		if (!s->cgroup)
			s->cgroup = processes_cgroup(c->p->processes, s->pid, s->time_ns);
		if (!sample_filter_match(&c->p->filter, s))
			c->p->filtered++;
		else if (vec_push(&j->samples, s))
			return err_nomem(err);
	}
	if (vec_reserve(&j->traces, j->samples.n) || vec_reserve(&j->digests, j->samples.n))
		return err_nomem(err);
	j->traces.n = j->digests.n = j->samples.n;
	return 0;
}

/* Also releases batches that all stages have finished, because only one thread at a time may use
 * the reader. */
static int read_one(struct scheduler *c, struct batch_job *j, uint64_t n_added, struct err *err)
{
	struct perf_batch **b = &c->batches[c->n_read % JOBS];
	int rc;

	for (; c->n_released < n_added; c->n_released++)
		perf_batch_release(c->p->file, c->batches[c->n_released % JOBS]);
	rc = perf_file_read(c->p->file, b, err);
	if (rc <= 0)
		return rc;
	rc = choose_samples(c, j, *b, err);
	return rc ? rc : 1;
}

static uint64_t in_flight_max(const struct scheduler *c)
{
	return c->n > 1 ? c->n + 3 : 2;
}

/* Fields of tracepoints are printed with names of functions, which are looked up in the reader's
 * state: then reading and adding must not run at the same time. */
static bool shares_file(const struct scheduler *c)
{
	return c->p->trace_names;
}

bool read_stage(struct worker *w)
{
	struct scheduler *c = w->scheduler;
	uint64_t n_added = c->n_added;
	struct batch_job *j;
	struct err err;
	int rc;

	/* Enough batches are in work for all workers: more would only need more memory. */
	if (c->reading || c->ended || !c->n_spare || c->n_read - c->n_added >= in_flight_max(c) ||
	    (c->adding && shares_file(c)))
		return false;
	j = c->spare[--c->n_spare];
	c->reading = true;
	pthread_mutex_unlock(&c->lock);
	rc = read_one(c, j, n_added, &err);
	pthread_mutex_lock(&c->lock);
	c->reading = false;
	c->ended = rc <= 0;
	c->job_of[c->n_read % JOBS] = j;
	c->n_read += rc > 0;
	scheduler_set_rc(c, rc, &err);
	return true;
}

/* ---- unwinding --------------------------------------------------------------------------- */

/* Prefetches the stacks of the next samples, from i on. */
static void expect_stacks(const struct batch_job *j, size_t i)
{
	size_t end = i + UNWIND_BATCH < j->samples.n ? i + UNWIND_BATCH : j->samples.n;

	for (; i < end; i++)
		unwind_expect(j->samples.v[i]);
}

static void count_left_out(struct loaded *p, const struct perf_sample *s,
			   const struct stack_trace *t)
{
	if (span_role_of(s->event->name) == SPAN_ENDS) /* belongs to its beginning */
		return;
	p->filtered += t->is_left_out;
	p->undecided += t->is_undecided;
	p->names_seen |= t->names_seen;
}

/* Ends of calls have no parameters, and what is left out may be what shows that a call has ended.
 */
static bool is_dropped(const struct scheduler *c, const struct perf_sample *s,
		       const struct stack_trace *t)
{
	return t->is_left_out &&
	       (!c->p->keeps_calls || span_role_of(s->event->name) == SPAN_NO_PART);
}

/* Adds samples to the profile, without those that a condition on values leaves out. */
static int add_some(struct scheduler *c, const struct perf_sample *const *samples,
		    const struct stack_trace *traces, const struct stack_digest *digests, size_t n,
		    struct err *err)
{
	size_t from = 0, to;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		count_left_out(c->p, samples[i], &traces[i]);
	for (; from < n && !rc; from = to) {
		for (; from < n && is_dropped(c, samples[from], &traces[from]);)
			from++;
		for (to = from; to < n && !is_dropped(c, samples[to], &traces[to]);)
			to++;
		if (from < to)
			rc = profile_add_batch(c->p->profile, samples + from, traces + from,
					       digests ? digests + from : NULL, to - from, err);
	}
	return rc;
}

static int unwind_some(struct worker *w, struct batch_job *j, size_t i, size_t n, struct err *err)
{
	const struct perf_sample *const *samples = &j->samples.v[i];
	struct stack_trace *traces = &j->traces.v[i];
	struct scheduler *c = w->scheduler;
	size_t k;

	unwind_samples(w->unwinder, samples, n, traces);
	for (k = 0; k < n; k++)
		verify_sample(&w->verify, samples[k], &traces[k]);
	if (w->values && values_find(w->values, samples, traces, n, err))
		return -ERR_NOMEM;
	if (returned_add(&w->returned, c->p->file, samples, traces, n))
		return err_nomem(err);
	if (j->at_once)
		return add_some(c, samples, traces, NULL, n, err);
	if (stack_traces_keep(traces, n, &w->memory))
		return err_nomem(err);
	profile_digest(c->p->profile, traces, n, &j->digests.v[i]);
	return 0;
}

static int unwind_slice(struct worker *w, struct batch_job *j, size_t i, size_t end,
			struct err *err)
{
	size_t n;
	int rc = 0;

	for (; i < end && !rc; i += n) {
		n = end - i < UNWIND_BATCH ? end - i : UNWIND_BATCH;
		expect_stacks(j, i + n);
		rc = unwind_some(w, j, i, n, err);
	}
	return rc;
}

/* The first batch with samples that no worker has taken; NULL: there is none. */
static struct batch_job *next_job(const struct scheduler *c)
{
	uint64_t b;

	for (b = c->n_stitched; b < c->n_read; b++) {
		struct batch_job *j = job_at(c, b);

		if (j->taken < j->samples.n)
			return j;
	}
	return NULL;
}

bool unwind_stage(struct worker *w)
{
	struct scheduler *c = w->scheduler;
	struct batch_job *j = next_job(c);
	struct scratch_chunks chunks;
	struct err err;
	size_t i, end;
	int rc;

	if (!j)
		return false;
	i = j->taken;
	/* Threads are added after a batch was read. A single thread finishes a batch before it
	 * reads the next. */
	if (!i)
		j->at_once = !c->stitcher && c->n == 1 && !c->p->chains;
	end = j->samples.n - i < SLICE ? j->samples.n : i + SLICE;
	j->taken = end;
	chunks = memory_take(w);
	pthread_mutex_unlock(&c->lock);
	scratch_put_back(&w->memory, chunks);
	rc = unwind_slice(w, j, i, end, &err);
	chunks = scratch_detach(&w->memory);
	pthread_mutex_lock(&c->lock);
	scratch_chunks_join(&j->frames[w->index], &chunks);
	j->unwound += end - i;
	scheduler_set_rc(c, rc, &err);
	return true;
}

/* ---- completing and adding --------------------------------------------------------------- */

/* Learns stack sizes from a batch, and completes its cut stacks. */
static int learn_all(struct scheduler *c, struct batch_job *j, const struct perf_batch *b,
		     struct scratch *memory, struct err *err)
{
	struct loaded *p = c->p;
	size_t i;

	stack_depths_add(p->depths, j->samples.v, j->traces.v, j->samples.n);
	if (c->stitcher &&
	    stitcher_run(c->stitcher, j->samples.v, j->traces.v, j->samples.n, memory))
		return err_nomem(err);
	for (i = 0; i < b->n_ended; i++) {
		stack_depths_end(p->depths, b->ended[i].pid, b->ended[i].tid);
		if (c->stitcher)
			stitcher_end(c->stitcher, b->ended[i].pid, b->ended[i].tid);
	}
	return 0;
}

bool stitch_stage(struct worker *w)
{
	struct scheduler *c = w->scheduler;
	struct batch_job *j = job_at(c, c->n_stitched);
	const struct perf_batch *b = c->batches[c->n_stitched % JOBS];
	struct scratch_chunks chunks;
	struct err err;
	int rc;

	if (c->stitching || c->n_stitched == c->n_read || j->unwound < j->samples.n)
		return false;
	c->stitching = true;
	chunks = memory_take(w);
	pthread_mutex_unlock(&c->lock);
	scratch_put_back(&w->memory, chunks);
	rc = learn_all(c, j, b, &w->memory, &err);
	chunks = scratch_detach(&w->memory);
	pthread_mutex_lock(&c->lock);
	scratch_chunks_join(&j->frames[w->index], &chunks);
	c->stitching = false;
	c->n_stitched++;
	scheduler_set_rc(c, rc, &err);
	return true;
}

static int add_all(struct scheduler *c, const struct batch_job *j, struct err *err)
{
	size_t i, n;
	int rc = 0;

	for (i = 0; i < j->samples.n && !rc && !j->at_once; i += n) {
		n = j->samples.n - i < PROFILE_BATCH ? j->samples.n - i : PROFILE_BATCH;
		rc = add_some(c, &j->samples.v[i], &j->traces.v[i], &j->digests.v[i], n, err);
	}
	if (!rc && c->p->chains &&
	    chains_take(c->p->chains, j->samples.v, j->traces.v, j->samples.n))
		rc = err_nomem(err);
	return rc;
}

bool add_stage(struct worker *w)
{
	struct scheduler *c = w->scheduler;
	struct batch_job *j = job_at(c, c->n_added);
	struct err err;
	int rc;

	if (c->adding || c->n_added == c->n_stitched || (c->reading && shares_file(c)))
		return false;
	c->adding = true;
	pthread_mutex_unlock(&c->lock);
	rc = add_all(c, j, &err);
	pthread_mutex_lock(&c->lock);
	c->adding = false;
	c->n_added++;
	memory_put_back(c, j);
	c->spare[c->n_spare++] = j;
	scheduler_set_rc(c, rc, &err);
	return true;
}

/* ---- reading ahead ----------------------------------------------------------------------- */

bool prefault_stage(struct worker *w)
{
	struct scheduler *c = w->scheduler;
	const void *p;
	size_t n;

	if (c->ended || !perf_file_ahead(c->p->file, &p, &n))
		return false;
	pthread_mutex_unlock(&c->lock);
	pages_touch(p, n);
	pthread_mutex_lock(&c->lock);
	return true;
}
