/* stitch.c - completes cut stacks from other samples of the same thread.
 *
 * What is remembered is a graph: a node for every activation that was seen, and for every node who
 * called it, as runs of time: from the first to the last sample in a row that agreed. Nothing is
 * remembered of threads that never had a cut stack. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"
#include "unwind/unwind.h"

/* Nodes after which everything is forgotten: bounds memory to some dozens of MB. */
#define NODES_MAX (1u << 18)
/* Runs of one node that are looked at for the nearest: callers that alternate faster are not told
 * apart by time anyway. */
#define RUNS_LOOKED_AT 256

/* How far in time a run is believed: for a while, and the longer the longer it lasted. Found with
 * recordings that were cut and compared with their truth: without this 3 in 1000 stitched stacks of
 * a compiler were wrong, each of them by a caller seen once, 60 ms or more away. */
#define TRUST_NS	 50000000u
#define TRUST_PER_LENGTH 4

enum { NONE = UINT32_MAX, ROOT = UINT32_MAX - 1 };

struct node {
	struct frame frame;
	struct frame_place place;
	uint32_t pid, tid;
	uint32_t newest_run; /* NONE: the caller was never seen */
};

struct run {
	uint32_t caller; /* node, or ROOT */
	uint32_t older;	 /* run of the same node, or NONE */
	uint64_t first_ns, last_ns;
};

struct pending {
	uint64_t time_ns;
	uint32_t pid, tid;
	size_t frames_at, places_at; /* in the stitcher's arrays; places_at NONE: has none */
	struct stack_trace trace;    /* pointers are not valid */
};

struct stitcher {
	uint64_t max_distance_ns;
	struct stitch_stats stats;
	struct hash_table cut_threads; /* pid and tid -> 1 */
	struct hash_table by_activation;
	VEC(struct node) nodes;
	VEC(struct run) runs;
	VEC(struct pending) pending;
	VEC(struct frame) frames;
	VEC(struct frame_place) places;
	VEC(struct frame) scratch; /* of the trace that is given back */
};

int stitcher_new(struct stitcher **ret, const struct stitch_options *opt, struct err *err)
{
	struct stitcher *st = calloc(1, sizeof *st);

	if (!st)
		return err_nomem(err);
	st->max_distance_ns =
		opt && opt->max_distance_ns ? opt->max_distance_ns : STITCH_DISTANCE_NS;
	*ret = st;
	return 0;
}

static void graph_forget(struct stitcher *st)
{
	hash_done(&st->by_activation);
	st->nodes.n = st->runs.n = 0;
}

void stitcher_free(struct stitcher *st)
{
	if (!st)
		return;
	graph_forget(st);
	hash_done(&st->cut_threads);
	vec_done(&st->nodes);
	vec_done(&st->runs);
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
	return p->trace.stop == UNWIND_STOP_TRUNCATED_STACK && p->places_at != NONE && p->time_ns &&
	       p->trace.n > p->trace.n_kernel;
}

int stitcher_add(struct stitcher *st, const struct perf_sample *s, const struct stack_trace *t)
{
	size_t n_user = t->n - t->n_kernel;
	struct pending p = {
		.time_ns = s->time_ns,
		.pid = s->pid,
		.tid = s->tid,
		.frames_at = st->frames.n,
		.places_at = t->places ? st->places.n : NONE,
		.trace = *t,
	};

	if (vec_reserve(&st->frames, st->frames.n + t->n) ||
	    vec_reserve(&st->places, st->places.n + n_user) || vec_push(&st->pending, p))
		return -ERR_NOMEM;
	if (t->n)
		memcpy(st->frames.v + st->frames.n, t->frames, t->n * sizeof *t->frames);
	st->frames.n += t->n;
	if (t->places && n_user) {
		memcpy(st->places.v + st->places.n, t->places, n_user * sizeof *t->places);
		st->places.n += n_user;
	}
	if (is_cut(&p) && hash_put(&st->cut_threads, thread_key(&p), 1))
		return -ERR_NOMEM;
	return 0;
}

/* ---- the graph --------------------------------------------------------------------------- */

static uint64_t activation_key(const struct pending *p, const struct frame *f,
			       const struct frame_place *place)
{
	uint64_t h = hash_mix(thread_key(p), f->ip);

	return hash_mix(hash_mix(h, place->sp), place->fp ^ (uintptr_t)f->map);
}

/* The key is a hash, so the node it leads to is compared. */
static bool is_activation(const struct node *n, const struct pending *p, const struct frame *f,
			  const struct frame_place *place)
{
	return n->pid == p->pid && n->tid == p->tid && n->frame.ip == f->ip &&
	       n->frame.map == f->map && n->place.sp == place->sp && n->place.fp == place->fp;
}

/* The node of user frame i of a pending trace; made when there is none. NONE when out of memory, or
 * when another activation has the same hash. */
static uint32_t node_of(struct stitcher *st, const struct pending *p, size_t i, bool make)
{
	const struct frame *f = &st->frames.v[p->frames_at + p->trace.n_kernel + i];
	const struct frame_place *place = &st->places.v[p->places_at + i];
	uint64_t key = activation_key(p, f, place);
	uint32_t n = hash_get(&st->by_activation, key);

	if (n != HASH_NONE)
		return is_activation(&st->nodes.v[n], p, f, place) ? n : NONE;
	if (!make || vec_push(&st->nodes, (struct node){*f, *place, p->pid, p->tid, NONE}))
		return NONE;
	n = (uint32_t)st->nodes.n - 1;
	if (hash_put(&st->by_activation, key, n)) {
		st->nodes.n--;
		return NONE;
	}
	return n;
}

/* At this time `node` was called by `caller`. Times do not fall. */
static void caller_seen(struct stitcher *st, uint32_t node, uint32_t caller, uint64_t time_ns)
{
	struct node *n = &st->nodes.v[node];
	struct run *newest = n->newest_run == NONE ? NULL : &st->runs.v[n->newest_run];

	if (newest && newest->caller == caller) {
		newest->last_ns = time_ns;
		return;
	}
	if (!vec_push(&st->runs, (struct run){caller, n->newest_run, time_ns, time_ns}))
		n->newest_run = (uint32_t)st->runs.n - 1;
}

/* A stack that a guess is part of is not believed beyond it. */
static void learn(struct stitcher *st, const struct pending *p)
{
	size_t n_user = p->trace.n - p->trace.n_kernel, i;
	const struct frame *frames = &st->frames.v[p->frames_at + p->trace.n_kernel];
	uint32_t node, caller;

	if (p->places_at == NONE || !n_user)
		return;
	node = node_of(st, p, 0, true);
	for (i = 1; i < n_user && node != NONE && !frame_how_is_guess(frames[i].how); i++) {
		caller = node_of(st, p, i, true);
		if (caller != NONE)
			caller_seen(st, node, caller, p->time_ns);
		node = caller;
	}
	if (i == n_user && node != NONE && p->trace.stop == UNWIND_STOP_END)
		caller_seen(st, node, ROOT, p->time_ns);
}

static uint64_t trust_ns(const struct run *r)
{
	return TRUST_NS + TRUST_PER_LENGTH * (r->last_ns - r->first_ns);
}

/* Who called the node, according to the sample nearest in time. */
static uint32_t nearest_caller(const struct stitcher *st, uint32_t node, uint64_t time_ns)
{
	uint64_t best_ns = st->max_distance_ns, distance_ns;
	uint32_t at = st->nodes.v[node].newest_run, best = NONE;
	unsigned looked_at;

	for (looked_at = 0; at != NONE && looked_at < RUNS_LOOKED_AT; looked_at++) {
		const struct run *r = &st->runs.v[at];

		distance_ns = time_ns < r->first_ns  ? r->first_ns - time_ns
			      : time_ns > r->last_ns ? time_ns - r->last_ns
						     : 0;
		if (distance_ns <= best_ns && distance_ns <= trust_ns(r)) {
			best_ns = distance_ns;
			best = r->caller;
		}
		if (time_ns >= r->first_ns)
			break; /* older runs are farther away */
		at = r->older;
	}
	return best;
}

/* ---- giving back ------------------------------------------------------------------------- */

/* Appends callers to the scratch frames as far as they are known. */
static int complete(struct stitcher *st, const struct pending *p, struct stack_trace *t)
{
	uint32_t node = node_of(st, p, t->n - t->n_kernel - 1, false), caller;
	size_t n_before = t->n;
	struct frame f;

	while (node != NONE && t->n - t->n_kernel < UNWIND_FRAMES_MAX) {
		caller = nearest_caller(st, node, p->time_ns);
		if (caller == ROOT)
			t->stop = UNWIND_STOP_END;
		if (caller == ROOT || caller == NONE ||
		    st->nodes.v[caller].place.sp <= st->nodes.v[node].place.sp)
			break;
		f = st->nodes.v[caller].frame;
		f.how = FRAME_STITCHED;
		if (vec_push(&st->scratch, f))
			return -ERR_NOMEM;
		t->n++;
		node = caller;
	}
	st->stats.frames += t->n - n_before;
	st->stats.to_root += t->stop == UNWIND_STOP_END;
	st->stats.extended += t->stop != UNWIND_STOP_END && t->n > n_before;
	return 0;
}

static int give_back(struct stitcher *st, size_t i,
		     int (*fn)(void *arg, size_t i, const struct stack_trace *t), void *arg)
{
	const struct pending *p = &st->pending.v[i];
	struct stack_trace t = p->trace;

	t.frames = st->frames.v + p->frames_at;
	t.places = p->places_at == NONE ? NULL : st->places.v + p->places_at;
	if (is_cut(p)) {
		st->stats.cut++;
		st->scratch.n = 0;
		if (vec_reserve(&st->scratch, t.n))
			return -ERR_NOMEM;
		memcpy(st->scratch.v, t.frames, t.n * sizeof *t.frames);
		st->scratch.n = t.n;
		if (complete(st, p, &t))
			return -ERR_NOMEM;
		t.frames = st->scratch.v;
		t.places = NULL; /* not of the frames that were added */
	}
	return fn(arg, i, &t);
}

int stitcher_run(struct stitcher *st, int (*fn)(void *arg, size_t i, const struct stack_trace *t),
		 void *arg)
{
	size_t i;
	int rc = 0;

	if (st->nodes.n > NODES_MAX)
		graph_forget(st);
	for (i = 0; i < st->pending.n && st->cut_threads.n; i++)
		if (hash_get(&st->cut_threads, thread_key(&st->pending.v[i])) != HASH_NONE)
			learn(st, &st->pending.v[i]);
	for (i = 0; i < st->pending.n && !rc; i++)
		rc = give_back(st, i, fn, arg);
	st->pending.n = st->frames.n = st->places.n = 0;
	return rc;
}
