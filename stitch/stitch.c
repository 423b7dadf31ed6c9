/* stitch.c - completes cut stacks from other samples of the same thread. stacks.h says which
 * samples are used. Nothing is remembered of threads that never had a cut stack, nor of those of
 * which no sample came for longer than max_distance_ns: they start anew. */
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/pair.h"
#include "base/prefetch.h"
#include "base/vec.h"
#include "reader/reader.h"
#include "stitch/kept.h"

struct stitch_thread {
	uint64_t key; /* pair_key() of pid and tid */
	struct stitch_kept kept;
	uint64_t last_ns;
	uint64_t cut_in;      /* number of the last batch in which it has a cut stack */
	uint32_t first, last; /* its samples in the current batch; first is STITCH_NONE if there are
			       * none */
};

enum { EXPECT_AHEAD = 8 };

struct stitcher {
	uint64_t max_distance_ns;
	size_t max_user_frames;
	uint64_t batch;		    /* number of the current batch */
	uint64_t now_ns, looked_ns; /* time of the last sample; of the last threads_forget() */
	struct stitch_stats stats;
	struct hash_table thread_of; /* pid and tid -> thread */
	VEC(struct stitch_thread) threads;
	struct stitch_kept spare; /* spare buffer for what will be kept of the next thread */
	VEC(uint32_t) active;	  /* threads with samples in the batch */
	VEC(uint32_t) next;	  /* by sample: the next one of its thread, or STITCH_NONE */
	VEC(uint32_t) path;	  /* stacks on the path to a donor that is complete */
	struct stitch_stacks s;	  /* stacks of the current thread */
	/* The current batch. */
	const struct perf_sample *const *samples;
	struct stack_trace *traces;
	struct scratch *room;
};

int stitcher_new(struct stitcher **ret, const struct stitch_options *opt, struct err *err)
{
	struct stitcher *st = calloc(1, sizeof *st);

	if (!st)
		return err_nomem(err);
	st->max_distance_ns =
		opt && opt->max_distance_ns ? opt->max_distance_ns : STITCH_DISTANCE_NS;
	st->max_user_frames = opt && opt->max_frames && opt->max_frames < UNWIND_FRAMES_MAX
				      ? opt->max_frames
				      : UNWIND_FRAMES_MAX;
	*ret = st;
	return 0;
}

void stitcher_free(struct stitcher *st)
{
	size_t i;

	if (!st)
		return;
	for (i = 0; i < st->threads.n; i++)
		stitch_kept_done(&st->threads.v[i].kept);
	stitch_kept_done(&st->spare);
	stitch_stacks_done(&st->s);
	hash_done(&st->thread_of);
	vec_done(&st->threads);
	vec_done(&st->active);
	vec_done(&st->next);
	vec_done(&st->path);
	free(st);
}

const struct stitch_stats *stitcher_stats(const struct stitcher *st)
{
	return &st->stats;
}

/* ---- threads and their samples ----------------------------------------------------------- */

static uint64_t sample_key(const struct perf_sample *s)
{
	return pair_key(s->pid, s->tid);
}

static bool shows_callers(const struct perf_sample *s, const struct stack_trace *t)
{
	return t->places && s->time_ns && t->n > t->n_kernel;
}

static bool is_cut(const struct perf_sample *s, const struct stack_trace *t)
{
	return unwind_stop_is_cut(t->stop) && shows_callers(s, t);
}

static int thread_add(struct stitcher *st, uint64_t key)
{
	struct stitch_thread new = {.key = key, .cut_in = st->batch, .first = STITCH_NONE};
	uint32_t at = hash_get(&st->thread_of, key);

	if (at != HASH_NONE) {
		st->threads.v[at].cut_in = st->batch;
		return 0;
	}
	if (vec_reserve(&st->active, st->threads.n + 1) || vec_push(&st->threads, new) ||
	    hash_put(&st->thread_of, key, (uint32_t)st->threads.n - 1))
		return -ERR_NOMEM;
	return 0;
}

/* True if the thread's last sample is too old at now_ns. */
static bool is_past(const struct stitcher *st, const struct stitch_thread *thread, uint64_t now_ns)
{
	return now_ns > thread->last_ns && now_ns - thread->last_ns > st->max_distance_ns;
}

/* True if the thread is not needed from its first sample of the batch on. A thread without samples
 * for too long starts anew with its next cut stack, whether it was forgotten by then or not. */
static bool is_over(const struct stitcher *st, struct stitch_thread *thread, uint64_t now_ns)
{
	if (!is_past(st, thread, now_ns))
		return false;
	stitch_kept_done(&thread->kept);
	return thread->cut_in != st->batch;
}

/* Prefetches for sample_key() and shows_callers(). */
PREFETCHING void expect_sample(const struct stitcher *st, size_t i, size_t n)
{
	const struct perf_sample *s;

	if (i >= n)
		return;
	s = st->samples[i];
	__builtin_prefetch(&s->time_ns);
	__builtin_prefetch(&s->pid);
}

/* Links the samples of each thread that ever had a cut stack, in this batch or before. */
static int threads_find(struct stitcher *st, size_t n)
{
	uint64_t key, last_key = 0;
	uint32_t at = HASH_NONE;
	size_t i;

	for (i = 0; i < n; i++)
		if (is_cut(st->samples[i], &st->traces[i]) &&
		    thread_add(st, sample_key(st->samples[i])))
			return -ERR_NOMEM;
	if (!st->threads.n)
		return 0;
	if (vec_reserve(&st->next, n))
		return -ERR_NOMEM;
	for (i = 0; i < n; i++) {
		struct stitch_thread *thread;

		expect_sample(st, i + EXPECT_AHEAD, n);
		if (!shows_callers(st->samples[i], &st->traces[i]))
			continue;
		key = sample_key(st->samples[i]);
		if (at == HASH_NONE || key != last_key)
			at = hash_get(&st->thread_of, key);
		last_key = key;
		if (at == HASH_NONE)
			continue;
		thread = &st->threads.v[at];
		if (thread->first == STITCH_NONE) {
			if (is_over(st, thread, st->samples[i]->time_ns))
				continue;
			thread->first = (uint32_t)i;
			st->active.v[st->active.n++] = at;
		} else {
			st->next.v[thread->last] = (uint32_t)i;
		}
		thread->last = (uint32_t)i;
		st->next.v[i] = STITCH_NONE;
	}
	return 0;
}

/* Drops threads that are too old, so that programs that ended leave nothing behind. Runs rarely, so
 * that recordings may have any number of threads. Returns 0 or -ERR_NOMEM. */
static int threads_forget(struct stitcher *st)
{
	size_t i, n = 0;

	if (st->now_ns - st->looked_ns <= st->max_distance_ns)
		return 0;
	st->looked_ns = st->now_ns;
	for (i = 0; i < st->threads.n; i++) {
		if (is_past(st, &st->threads.v[i], st->now_ns))
			stitch_kept_done(&st->threads.v[i].kept);
		else
			st->threads.v[n++] = st->threads.v[i];
	}
	if (n == st->threads.n)
		return 0;
	st->threads.n = n;
	hash_done(&st->thread_of);
	for (i = 0; i < n; i++)
		if (hash_put(&st->thread_of, st->threads.v[i].key, (uint32_t)i))
			return -ERR_NOMEM;
	return 0;
}

/* The last thread of the array takes its place. */
void stitcher_end(struct stitcher *st, uint32_t pid, uint32_t tid)
{
	uint64_t key = pair_key(pid, tid);
	uint32_t at = hash_get(&st->thread_of, key);

	if (at == HASH_NONE)
		return;
	stitch_kept_done(&st->threads.v[at].kept);
	hash_remove(&st->thread_of, key);
	st->threads.v[at] = st->threads.v[--st->threads.n];
	if (at < st->threads.n) /* replaces a value, so it cannot fail */
		hash_put(&st->thread_of, st->threads.v[at].key, at);
}

/* ---- bases ------------------------------------------------------------------------------- */

/* The frames of a stack from `from` on, and what is above them, as a list. NULL: there are none, or
 * (*rc) out of memory. Each frame is made once for all stacks that share it. */
static struct stack_base *base_from(struct stitcher *st, struct stitch_stack *t, uint32_t from,
				    int *rc)
{
	uint32_t n = stitch_believed(t);
	struct stack_base *up = n == t->n ? t->base : NULL;

	if (from >= n)
		return up;
	if (!t->bases) {
		t->bases = scratch_alloc(st->room, n * sizeof *t->bases);
		if (!t->bases) {
			*rc = -ERR_NOMEM;
			return NULL;
		}
		t->made = n;
	}
	if (t->made < n)
		up = &t->bases[t->made];
	while (t->made > from) {
		struct stack_base *b = &t->bases[--t->made];

		*b = (struct stack_base){
			.frame = t->frames[t->made],
			.up = up,
			.depth = up ? up->depth + 1 : 1,
		};
		b->frame.how = FRAME_STITCHED;
		up = b;
	}
	return &t->bases[from];
}

/* Sets the base of a cut stack, after that of its donor was set. */
static int base_take(struct stitcher *st, struct stitch_stack *cut)
{
	const struct stitch_occurrence *occurrence = &st->s.occurrences.v[cut->donor];
	struct stitch_stack *t = &st->s.stacks.v[occurrence->stack];
	int rc = 0;

	cut->base = base_from(st, t, occurrence->frame + 1, &rc);
	cut->reach = t->n_believed == t->n ? t->reach : stitch_reach(&t->places[t->n_believed - 1]);
	return rc;
}

/* Each donor reaches farther than the stack that uses it, so no stack is visited twice. */
static int base_find(struct stitcher *st, uint32_t id)
{
	struct stitch_stack *t = &st->s.stacks.v[id];
	int rc = 0;

	for (st->path.n = 0; t->is_cut && !t->is_known;) {
		t->is_known = true;
		t->donor = stitch_donor(&st->s, t, st->max_distance_ns);
		if (t->donor == STITCH_NONE)
			break;
		if (vec_push(&st->path, (uint32_t)(t - st->s.stacks.v)))
			return -ERR_NOMEM;
		t = &st->s.stacks.v[st->s.occurrences.v[t->donor].stack];
	}
	while (st->path.n && !rc)
		rc = base_take(st, &st->s.stacks.v[st->path.v[--st->path.n]]);
	return rc;
}

/* ---- completing -------------------------------------------------------------------------- */

/* Adds as many frames as max_user_frames allows to a stack that would become deeper. */
static int add_some(struct stitcher *st, struct stack_trace *t, const struct stack_base *base)
{
	size_t n = t->n_kernel + st->max_user_frames;
	struct frame *frames = scratch_alloc(st->room, n * sizeof *frames);

	if (!frames)
		return -ERR_NOMEM;
	memcpy(frames, t->frames, t->n * sizeof *frames);
	t->frames = frames;
	t->places = NULL; /* the added frames have none */
	st->stats.frames += n - t->n;
	for (; t->n < n; base = base->up)
		frames[t->n++] = base->frame;
	t->stop = UNWIND_STOP_DEPTH;
	return 0;
}

static int complete(struct stitcher *st, const struct stitch_stack *cut, struct stack_trace *t)
{
	size_t n_user = t->n - t->n_kernel;

	st->stats.cut++;
	st->stats.doubtful += cut->is_doubted;
	if (cut->base && n_user + cut->base->depth > st->max_user_frames) {
		st->stats.extended++;
		return add_some(st, t, cut->base);
	}
	t->base = cut->base;
	st->stats.frames += cut->base ? cut->base->depth : 0;
	if (cut->reach == STITCH_ROOT) {
		t->stop = UNWIND_STOP_END;
		st->stats.to_root++;
	} else if (cut->base) {
		st->stats.extended++;
	}
	return 0;
}

/* ---- threads ----------------------------------------------------------------------------- */

static int stack_push(struct stitcher *st, const struct perf_sample *s, const struct stack_trace *t)
{
	size_t n = t->n - t->n_kernel;
	struct stitch_stack new = {
		.frames = t->frames + t->n_kernel,
		.places = t->places,
		.time_ns = s->time_ns,
		.reach = t->stop == UNWIND_STOP_END ? STITCH_ROOT : stitch_reach(&t->places[n - 1]),
		.copy = s->user_stack,
		.copy_bytes = s->user_stack_bytes,
		.n = (uint32_t)n,
		.is_complete = t->stop == UNWIND_STOP_END,
		.is_cut = unwind_stop_is_cut(t->stop),
		.wanted = STITCH_NONE,
		.seen_before = STITCH_NONE,
		.donor = STITCH_NONE,
	};

	return vec_push(&st->s.stacks, new) ? -ERR_NOMEM : 0;
}

/* Collects all samples of a thread in the batch, after the stacks kept from before. */
static int stacks_collect(struct stitcher *st, struct stitch_thread *thread)
{
	uint32_t i;

	stitch_stacks_clear(&st->s);
	if (stitch_kept_push(&thread->kept, &st->s, st->room))
		return -ERR_NOMEM;
	for (i = thread->first; i != STITCH_NONE; i = st->next.v[i]) {
		if (stack_push(st, st->samples[i], &st->traces[i]))
			return -ERR_NOMEM;
		if (st->samples[i]->time_ns > thread->last_ns)
			thread->last_ns = st->samples[i]->time_ns;
	}
	if (thread->last_ns > st->now_ns)
		st->now_ns = thread->last_ns;
	return stitch_find_occurrences(&st->s);
}

static int run_thread(struct stitcher *st, struct stitch_thread *thread)
{
	struct stitch_kept swap;
	uint32_t i, id;

	if (stacks_collect(st, thread))
		return -ERR_NOMEM;
	for (id = 0; id < st->s.stacks.n; id++)
		if (base_find(st, id))
			return -ERR_NOMEM;
	if (stitch_keep(&st->spare, &st->s))
		return -ERR_NOMEM;
	id = (uint32_t)thread->kept.pieces.n;
	swap = thread->kept;
	thread->kept = st->spare;
	st->spare = swap;
	for (i = thread->first; i != STITCH_NONE; i = st->next.v[i], id++)
		if (st->s.stacks.v[id].is_cut && complete(st, &st->s.stacks.v[id], &st->traces[i]))
			return -ERR_NOMEM;
	return 0;
}

int stitcher_run(struct stitcher *st, const struct perf_sample *const *samples,
		 struct stack_trace *traces, size_t n, struct scratch *room)
{
	size_t i;
	int rc;

	st->samples = samples;
	st->traces = traces;
	st->room = room;
	st->batch++;
	rc = threads_find(st, n);
	for (i = 0; i < st->active.n && !rc; i++)
		rc = run_thread(st, &st->threads.v[st->active.v[i]]);
	for (i = 0; i < st->active.n; i++)
		st->threads.v[st->active.v[i]].first = STITCH_NONE;
	st->active.n = 0;
	return rc ? rc : threads_forget(st);
}
