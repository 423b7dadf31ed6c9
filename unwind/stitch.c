/* stitch.c - completes cut stacks from other samples of the same thread; see stitch_graph.h.
 * Nothing is remembered of threads that never had a cut stack. */
#include <stdlib.h>

#include "base/hash.h"
#include "unwind/stitch_graph.h"

struct stitch_thread {
	struct stitch_graph graph;
	uint32_t first, last; /* samples of the batch at hand; first NONE: there are none */
};

/* What the frames of an activation and of all above were made into, for the stacks of one thread
 * that are completed together. */
struct known_base {
	uint32_t activation;
	uint32_t top; /* the highest whose callee is known to be called by it */
	struct stack_base *base;
	const struct stack_base *beyond; /* what was above the top */
};

/* Donors of one stack: who called the highest frame of one is told by the next. */
#define DONORS_MAX 64

enum { EXPECT_AHEAD = 8, SPARE_MAX = 8 };

struct stitcher {
	uint64_t max_distance_ns;
	size_t max_user_frames;
	struct stitch_stats stats;
	struct hash_table thread_of; /* pid and tid -> thread */
	VEC(struct stitch_thread) threads;
	VEC(struct stitch_graph) spare; /* memory of threads that have ended; nothing is in it */
	VEC(uint32_t) active;		/* threads that have samples in the batch */
	VEC(uint32_t) next;		/* by sample: the next one of its thread, or NONE */
	VEC(struct known_base) bases;
	VEC(uint32_t) path; /* activations on the way up */
	/* The batch at hand. */
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
		stitch_graph_done(&st->threads.v[i].graph);
	for (i = 0; i < st->spare.n; i++)
		stitch_graph_done(&st->spare.v[i]);
	vec_done(&st->spare);
	hash_done(&st->thread_of);
	vec_done(&st->threads);
	vec_done(&st->active);
	vec_done(&st->next);
	vec_done(&st->bases);
	vec_done(&st->path);
	free(st);
}

const struct stitch_stats *stitcher_stats(const struct stitcher *st)
{
	return &st->stats;
}

/* ---- whose samples ----------------------------------------------------------------------- */

static uint64_t thread_key(const struct perf_sample *s)
{
	return (uint64_t)s->pid << 32 | s->tid;
}

static bool can_tell(const struct perf_sample *s, const struct stack_trace *t)
{
	return t->places && s->time_ns && t->n > t->n_kernel;
}

static bool is_cut(const struct perf_sample *s, const struct stack_trace *t)
{
	return t->stop == UNWIND_STOP_TRUNCATED_STACK && can_tell(s, t);
}

static int thread_add(struct stitcher *st, uint64_t key)
{
	struct stitch_thread new = {.first = STITCH_NONE};

	if (hash_get(&st->thread_of, key) != HASH_NONE)
		return 0;
	if (st->spare.n)
		new.graph = st->spare.v[--st->spare.n];
	if (vec_reserve(&st->active, st->threads.n + 1) || vec_push(&st->threads, new) ||
	    hash_put(&st->thread_of, key, (uint32_t)st->threads.n - 1))
		return -ERR_NOMEM;
	return 0;
}

/* For thread_key() and can_tell(). */
static inline void expect_sample(const struct stitcher *st, size_t i, size_t n)
{
	const struct perf_sample *s;

	if (i >= n)
		return;
	s = st->samples[i];
	__builtin_prefetch(&s->time_ns);
	__builtin_prefetch(&s->pid);
}

/* Chains the samples of each thread of which a stack was ever cut, in this batch or before. */
static int threads_find(struct stitcher *st, size_t n)
{
	uint64_t key, last_key = 0;
	uint32_t at = HASH_NONE;
	size_t i;

	for (i = 0; i < n; i++)
		if (is_cut(st->samples[i], &st->traces[i]) &&
		    thread_add(st, thread_key(st->samples[i])))
			return -ERR_NOMEM;
	if (!st->threads.n)
		return 0;
	if (vec_reserve(&st->next, n))
		return -ERR_NOMEM;
	for (i = 0; i < n; i++) {
		struct stitch_thread *thread;

		expect_sample(st, i + EXPECT_AHEAD, n);
		if (!can_tell(st->samples[i], &st->traces[i]))
			continue;
		key = thread_key(st->samples[i]);
		if (at == HASH_NONE || key != last_key)
			at = hash_get(&st->thread_of, key);
		last_key = key;
		if (at == HASH_NONE)
			continue;
		thread = &st->threads.v[at];
		if (thread->first == STITCH_NONE) {
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

static void graph_spare(struct stitcher *st, struct stitch_graph *g)
{
	stitch_graph_forget(g);
	if (st->spare.n == SPARE_MAX || vec_push(&st->spare, *g))
		stitch_graph_done(g);
	else
		*g = (struct stitch_graph){0};
}

/* Of programs that have ended nothing is kept. */
static void threads_forget(struct stitcher *st)
{
	uint64_t now_ns = 0;
	size_t i;

	for (i = 0; i < st->threads.n; i++)
		if (st->threads.v[i].graph.last_ns > now_ns)
			now_ns = st->threads.v[i].graph.last_ns;
	for (i = 0; i < st->threads.n; i++)
		if (st->threads.v[i].graph.last_ns &&
		    now_ns - st->threads.v[i].graph.last_ns > st->max_distance_ns)
			graph_spare(st, &st->threads.v[i].graph);
}

/* ---- bases ------------------------------------------------------------------------------- */

/* NULL: it has none yet. */
static const struct known_base *base_known(const struct stitcher *st, const struct stitch_graph *g,
					   uint32_t id)
{
	uint32_t at = g->activations.v[id].base;

	return at < st->bases.n && st->bases.v[at].activation == id ? &st->bases.v[at] : NULL;
}

/* The highest activation up to which the callers are known from one's own owners. */
static uint32_t top_of(const struct stitcher *st, const struct stitch_graph *g, uint32_t id)
{
	const struct known_base *known;

	while (!(known = base_known(st, g, id)) && g->activations.v[id].owner < STITCH_ROOT)
		id = g->activations.v[id].owner;
	return known ? known->top : id;
}

/* Puts the frame of an activation below `up`. NULL when out of memory. */
static struct stack_base *base_add(struct stitcher *st, struct stitch_graph *g, uint32_t id,
				   struct stack_base *up, uint32_t top,
				   const struct stack_base *beyond)
{
	struct stack_base *b = scratch_alloc(st->room, sizeof *b);

	if (!b)
		return NULL;
	*b = (struct stack_base){
		.frame = g->activations.v[id].frame,
		.up = up,
		.depth = up ? up->depth + 1 : 1,
	};
	b->frame.how = FRAME_STITCHED;
	if (vec_push(&st->bases, (struct known_base){id, top, b, beyond}))
		return NULL;
	g->activations.v[id].base = (uint32_t)st->bases.n - 1;
	return b;
}

/* The frames from an activation up to its top, and on with `beyond`. NULL when out of memory. */
static struct stack_base *base_make(struct stitcher *st, struct stitch_graph *g, uint32_t id,
				    struct stack_base *beyond)
{
	const struct known_base *known = NULL;
	struct stack_base *b = beyond;
	uint32_t top = id;

	st->path.n = 0;
	for (; id < STITCH_ROOT; id = g->activations.v[id].owner) {
		known = base_known(st, g, id);
		if (known && known->beyond == beyond) {
			b = known->base;
			top = known->top;
			break;
		}
		if (vec_push(&st->path, id))
			return NULL;
		top = id;
	}
	while (st->path.n && (b = base_add(st, g, st->path.v[st->path.n - 1], b, top, beyond)))
		st->path.n--;
	return b;
}

/* All that is known at that time of an activation's callers. *end: whether the last is the root, or
 * NONE. */
static int base_find(struct stitcher *st, struct stitch_graph *g, uint32_t id, uint64_t time_ns,
		     struct stack_base **ret, uint32_t *end)
{
	uint32_t donors[DONORS_MAX];
	size_t n = 0;

	for (*end = id; *end < STITCH_ROOT && n < DONORS_MAX;) {
		const struct stitch_activation *top = &g->activations.v[top_of(st, g, *end)];

		donors[n++] = *end;
		*end = top->owner != STITCH_NONE ? top->owner
						 : stitch_caller(g, &top->frame, &top->place,
								 time_ns, st->max_distance_ns);
	}
	if (*end < STITCH_ROOT)
		*end = STITCH_NONE;
	for (*ret = NULL; n; n--) {
		*ret = base_make(st, g, donors[n - 1], *ret);
		if (!*ret)
			return -ERR_NOMEM;
	}
	return 0;
}

/* ---- completing -------------------------------------------------------------------------- */

/* A stack that would become too deep gets as many frames as it may have. */
static int add_some(struct stitcher *st, struct stack_trace *t, const struct stack_base *base)
{
	size_t n = t->n_kernel + st->max_user_frames;
	struct frame *frames = scratch_alloc(st->room, n * sizeof *frames);

	if (!frames)
		return -ERR_NOMEM;
	memcpy(frames, t->frames, t->n * sizeof *frames);
	t->frames = frames;
	t->places = NULL; /* not of the frames that are added */
	st->stats.frames += n - t->n;
	for (; t->n < n; base = base->up)
		frames[t->n++] = base->frame;
	t->stop = UNWIND_STOP_DEPTH;
	return 0;
}

static int complete(struct stitcher *st, struct stitch_graph *g, uint64_t time_ns,
		    struct stack_trace *t)
{
	size_t n_user = t->n - t->n_kernel;
	struct stack_base *base = NULL;
	uint32_t end = stitch_caller(g, &t->frames[t->n - 1], &t->places[n_user - 1], time_ns,
				     st->max_distance_ns);

	st->stats.cut++;
	if (end < STITCH_ROOT && base_find(st, g, end, time_ns, &base, &end))
		return -ERR_NOMEM;
	if (base && n_user + base->depth > st->max_user_frames) {
		st->stats.extended++;
		return add_some(st, t, base);
	}
	t->base = base;
	st->stats.frames += base ? base->depth : 0;
	if (end == STITCH_ROOT) {
		t->stop = UNWIND_STOP_END;
		st->stats.to_root++;
	} else if (base) {
		st->stats.extended++;
	}
	return 0;
}

/* The stacks of a thread that were cut, from one sample on up to another one. */
static int complete_range(struct stitcher *st, struct stitch_graph *g, uint32_t i, uint32_t end)
{
	bool is_settled = false;

	st->bases.n = 0;
	for (; i != end; i = st->next.v[i]) {
		if (!is_cut(st->samples[i], &st->traces[i]))
			continue;
		if (!is_settled && stitch_settle(g))
			return -ERR_NOMEM;
		is_settled = true;
		if (complete(st, g, st->samples[i]->time_ns, &st->traces[i]))
			return -ERR_NOMEM;
	}
	return 0;
}

/* ---- learning ---------------------------------------------------------------------------- */

/* Bits by enum frame_how. */
#define X(name, mark, text) | (mark == '?' ? 1u << FRAME_##name : 0)
enum { GUESSES = 0 FRAME_HOWS(X) };
#undef X

static int learn(struct stitch_graph *g, const struct perf_sample *sample,
		 const struct stack_trace *t)
{
	size_t n_user = t->n - t->n_kernel;
	struct stitch_stack s = {
		.frames = t->frames + t->n_kernel,
		.places = t->places,
		.is_complete = t->stop == UNWIND_STOP_END,
		.time_ns = sample->time_ns,
	};

	/* A stack that a guess is part of is not believed from there on. */
	while (s.n < n_user && !(GUESSES >> s.frames[s.n].how & 1))
		s.n++;
	s.is_complete &= s.n == n_user;
	return s.n ? stitch_learn(g, &s) : 0;
}

/* Whoever comes after a pause longer than anything is believed starts anew, so that
 * threads_forget() changes nothing. */
static bool comes_after_pause(const struct stitcher *st, const struct stitch_graph *g,
			      uint64_t time_ns)
{
	return g->last_ns && time_ns > g->last_ns && time_ns - g->last_ns > st->max_distance_ns;
}

/* All samples of a thread in the batch; those before something is forgotten profit from it. */
static int run_thread(struct stitcher *st, struct stitch_thread *thread)
{
	struct stitch_graph *g = &thread->graph;
	uint32_t i, begin = thread->first;

	thread->first = STITCH_NONE;
	for (i = begin; i != STITCH_NONE; i = st->next.v[i]) {
		bool pause = comes_after_pause(st, g, st->samples[i]->time_ns);

		if (pause || stitch_graph_is_full(g)) {
			if (complete_range(st, g, begin, i))
				return -ERR_NOMEM;
			begin = i;
			if (pause)
				stitch_graph_forget(g);
			else if (stitch_graph_shrink(g))
				return -ERR_NOMEM;
		}
		if (learn(g, st->samples[i], &st->traces[i]))
			return -ERR_NOMEM;
	}
	return complete_range(st, g, begin, STITCH_NONE);
}

int stitcher_run(struct stitcher *st, const struct perf_sample *const *samples,
		 struct stack_trace *traces, size_t n, struct scratch *room)
{
	size_t i;
	int rc;

	st->samples = samples;
	st->traces = traces;
	st->room = room;
	rc = threads_find(st, n);
	for (i = 0; i < st->active.n && !rc; i++)
		rc = run_thread(st, &st->threads.v[st->active.v[i]]);
	for (; i < st->active.n; i++)
		st->threads.v[st->active.v[i]].first = STITCH_NONE;
	st->active.n = 0;
	threads_forget(st);
	return rc;
}
