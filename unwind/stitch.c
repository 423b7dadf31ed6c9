/* stitch.c - completes cut stacks from other samples of the same thread; see stitch_graph.h.
 * Nothing is remembered of threads that never had a cut stack. */
#include <stdlib.h>

#include "unwind/stitch_graph.h"

struct pending {
	uint64_t time_ns;
	uint32_t pid, tid;
	size_t frames_at, places_at; /* in the stitcher's arrays; places_at NONE: has none */
	struct stack_trace trace;    /* pointers are not valid */
};

struct stitcher {
	uint64_t max_distance_ns;
	size_t max_user_frames;
	struct stitch_stats stats;
	struct hash_table thread_of; /* pid and tid -> thread */
	VEC(struct stitch_graph) threads;
	VEC(struct pending) pending;
	VEC(struct frame) frames;
	VEC(struct frame_place) places;
	VEC(struct frame) scratch; /* of the stacks that are given back and were cut */
};

#define NO_PLACES SIZE_MAX

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
		stitch_graph_done(&st->threads.v[i]);
	hash_done(&st->thread_of);
	vec_done(&st->threads);
	vec_done(&st->pending);
	vec_done(&st->frames);
	vec_done(&st->places);
	vec_done(&st->scratch);
	free(st);
}

const struct stitch_stats *stitcher_stats(const struct stitcher *st)
{
	return &st->stats;
}

static uint64_t thread_key(const struct pending *p)
{
	return (uint64_t)p->pid << 32 | p->tid;
}

static bool is_cut(const struct pending *p)
{
	return p->trace.stop == UNWIND_STOP_TRUNCATED_STACK && p->places_at != NO_PLACES &&
	       p->time_ns && p->trace.n > p->trace.n_kernel;
}

/* NULL: no stack of the thread was ever cut. */
static struct stitch_graph *graph_of(struct stitcher *st, const struct pending *p)
{
	uint32_t at = st->threads.n ? hash_get(&st->thread_of, thread_key(p)) : HASH_NONE;

	return at == HASH_NONE ? NULL : &st->threads.v[at];
}

static int thread_add(struct stitcher *st, uint64_t key)
{
	struct stitch_graph new = {0};

	if (hash_get(&st->thread_of, key) != HASH_NONE)
		return 0;
	if (vec_push(&st->threads, new) ||
	    hash_put(&st->thread_of, key, (uint32_t)st->threads.n - 1))
		return -ERR_NOMEM;
	return 0;
}

int stitcher_add(struct stitcher *st, const struct perf_sample *s, const struct stack_trace *t)
{
	size_t n_user = t->n - t->n_kernel;
	struct pending p = {
		.time_ns = s->time_ns,
		.pid = s->pid,
		.tid = s->tid,
		.frames_at = st->frames.n,
		.places_at = t->places ? st->places.n : NO_PLACES,
		.trace = *t,
	};

	/* One more: there are arrays even if all stacks are empty. */
	if (vec_reserve(&st->frames, st->frames.n + t->n + 1) ||
	    vec_reserve(&st->places, st->places.n + n_user + 1) || vec_push(&st->pending, p))
		return -ERR_NOMEM;
	if (t->n)
		memcpy(st->frames.v + st->frames.n, t->frames, t->n * sizeof *t->frames);
	st->frames.n += t->n;
	if (t->places && n_user) {
		memcpy(st->places.v + st->places.n, t->places, n_user * sizeof *t->places);
		st->places.n += n_user;
	}
	return is_cut(&p) ? thread_add(st, thread_key(&p)) : 0;
}

/* ---- learning ---------------------------------------------------------------------------- */

static int learn(struct stitcher *st, const struct pending *p)
{
	struct stitch_graph *g = graph_of(st, p);
	size_t n_user = p->trace.n - p->trace.n_kernel;
	struct stitch_stack s = {
		.is_complete = p->trace.stop == UNWIND_STOP_END,
		.time_ns = p->time_ns,
	};

	if (!g || p->places_at == NO_PLACES || !n_user || !p->time_ns)
		return 0;
	s.frames = st->frames.v + p->frames_at + p->trace.n_kernel;
	s.places = st->places.v + p->places_at;
	/* Whoever comes after a pause longer than anything is believed starts anew, so that
	 * threads_forget() changes nothing. */
	if (g->last_ns && p->time_ns > g->last_ns && p->time_ns - g->last_ns > st->max_distance_ns)
		stitch_graph_done(g);
	/* A stack that a guess is part of is not believed from there on. */
	while (s.n < n_user && !frame_how_is_guess(s.frames[s.n].how))
		s.n++;
	s.is_complete &= s.n == n_user;
	return s.n ? stitch_learn(g, &s) : 0;
}

/* Of programs that have ended nothing is kept. */
static void threads_forget(struct stitcher *st)
{
	uint64_t now_ns = 0;
	size_t i;

	for (i = 0; i < st->threads.n; i++)
		if (st->threads.v[i].last_ns > now_ns)
			now_ns = st->threads.v[i].last_ns;
	for (i = 0; i < st->threads.n; i++)
		if (now_ns - st->threads.v[i].last_ns > st->max_distance_ns)
			stitch_graph_done(&st->threads.v[i]);
}

/* ---- giving back ------------------------------------------------------------------------- */

static int append(struct stitcher *st, struct stack_trace *t, struct frame f)
{
	f.how = FRAME_STITCHED;
	t->n++;
	return vec_push(&st->scratch, f) ? -ERR_NOMEM : 0;
}

/* Appends callers to the scratch frames as far as they are known. */
static int complete(struct stitcher *st, const struct pending *p, struct stack_trace *t)
{
	const struct stitch_graph *g = graph_of(st, p);
	const struct frame *f = &t->frames[t->n - 1];
	const struct frame_place *place = &t->places[t->n - t->n_kernel - 1];
	size_t n_before = t->n, n_known;
	uint32_t caller;

	do {
		n_known = t->n;
		caller = stitch_caller(g, f, place, p->time_ns, st->max_distance_ns);
		/* Above it, all is as the samples saw it that reached farther. */
		while (caller < STITCH_ROOT && t->n - t->n_kernel < st->max_user_frames) {
			const struct stitch_activation *a = &g->activations.v[caller];

			if (append(st, t, a->frame))
				return -ERR_NOMEM;
			f = &a->frame;
			place = &a->place;
			caller = a->owner;
		}
	} while (caller == STITCH_NONE && t->n > n_known);
	if (caller == STITCH_ROOT)
		t->stop = UNWIND_STOP_END;
	else if (caller != STITCH_NONE)
		t->stop = UNWIND_STOP_DEPTH;
	st->stats.frames += t->n - n_before;
	st->stats.to_root += t->stop == UNWIND_STOP_END;
	st->stats.extended += t->stop != UNWIND_STOP_END && t->n > n_before;
	return 0;
}

/* Completes a stack that was cut; its frames are then those of `scratch` from *at on. */
static int stitch(struct stitcher *st, const struct pending *p, struct stack_trace *t, size_t *at)
{
	*at = st->scratch.n;
	if (vec_reserve(&st->scratch, *at + t->n))
		return -ERR_NOMEM;
	memcpy(st->scratch.v + *at, t->frames, t->n * sizeof *t->frames);
	st->scratch.n += t->n;
	st->stats.cut++;
	if (complete(st, p, t))
		return -ERR_NOMEM;
	t->places = NULL; /* not of the frames that were added */
	return 0;
}

/* Those from i on; n <= UNWIND_BATCH. */
static int give_back(struct stitcher *st, size_t i, size_t n, stitcher_fn *fn, void *arg)
{
	struct stack_trace traces[UNWIND_BATCH];
	size_t at[UNWIND_BATCH], k;

	st->scratch.n = 0;
	for (k = 0; k < n; k++) {
		const struct pending *p = &st->pending.v[i + k];
		struct stack_trace *t = &traces[k];

		*t = p->trace;
		t->frames = st->frames.v + p->frames_at;
		t->places = p->places_at == NO_PLACES ? NULL : st->places.v + p->places_at;
		if (is_cut(p) && stitch(st, p, t, &at[k]))
			return -ERR_NOMEM;
	}
	/* Only now does `scratch` stay where it is. */
	for (k = 0; k < n; k++)
		if (is_cut(&st->pending.v[i + k]))
			traces[k].frames = st->scratch.v + at[k];
	return fn(arg, i, traces, n);
}

int stitcher_run(struct stitcher *st, stitcher_fn *fn, void *arg)
{
	size_t i, n;
	int rc = 0;

	for (i = 0; i < st->pending.n && !rc; i++)
		rc = learn(st, &st->pending.v[i]);
	for (i = 0; i < st->pending.n && !rc; i += n) {
		n = st->pending.n - i < UNWIND_BATCH ? st->pending.n - i : UNWIND_BATCH;
		rc = give_back(st, i, n, fn, arg);
	}
	st->pending.n = st->frames.n = st->places.n = 0;
	threads_forget(st);
	return rc;
}
