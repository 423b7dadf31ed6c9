/* stitch_graph.c - activations, who called them, and until when that was true. */
#include "unwind/stitch_graph.h"

/* Activations or nodes of a thread after which what has ended is forgotten: some MB. */
#define GRAPH_MAX (1u << 15)
/* Runs of one node that are looked at for the nearest: callers that alternate faster are not told
 * apart by time anyway. */
#define RUNS_LOOKED_AT 256

/* How far beyond its sights an activation is believed to have lived where no sample reached far
 * enough to tell: a while, or some times what lay between two sights. Found with recordings that
 * were cut and compared with their truth. */
#define TRUST_NS   20000000u
#define TRUST_GAPS 4

/* A frame in which stacks may end when they are cut. */
struct stitch_node {
	uint64_t ip;
	const struct map *map;
	struct frame_place place;
	uint32_t newest_run; /* NONE: a caller was never seen */
};

/* Its caller, seen in this one activation for a while. */
struct stitch_run {
	uint32_t caller; /* activation, or ROOT */
	uint32_t older;	 /* run of the same node, or NONE */
	uint64_t first_ns, last_ns;
};

/* A sample saw all of the stack from its end up to here. */
struct stitch_covered {
	uint64_t sp, time_ns;
};

void stitch_graph_done(struct stitch_graph *g)
{
	vec_done(&g->activations);
	vec_done(&g->nodes);
	vec_done(&g->runs);
	vec_done(&g->live);
	vec_done(&g->covered);
	vec_done(&g->path);
	hash_index_done(&g->node_of);
	g->last_ns = 0;
}

/* ---- activations -------------------------------------------------------------------------- */

static bool is_same_slot(const struct stitch_activation *a, const struct frame *f,
			 const struct frame_place *place)
{
	return a->place.sp == place->sp && a->place.fp == place->fp && a->frame.ip == f->ip &&
	       a->frame.map == f->map;
}

/* When the stack at sp was last looked at; 0: never. */
static uint64_t last_look(const struct stitch_graph *g, uint64_t sp)
{
	size_t low = 0, high = g->covered.n; /* those before `low` reach as far as sp */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->covered.v[middle].sp >= sp)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? g->covered.v[low - 1].time_ns : 0;
}

static int covered_add(struct stitch_graph *g, uint64_t sp, uint64_t time_ns)
{
	while (g->covered.n && g->covered.v[g->covered.n - 1].sp <= sp)
		g->covered.n--;
	return vec_push(&g->covered, (struct stitch_covered){sp, time_ns});
}

static void end_live_from(struct stitch_graph *g, size_t at, uint64_t time_ns)
{
	size_t i;

	for (i = at; i < g->live.n; i++)
		g->activations.v[g->live.v[i]].not_after_ns = time_ns;
	g->live.n = at;
}

/* A new activation for frame i, at `at` of the live ones. */
static int activation_add(struct stitch_graph *g, const struct stitch_stack *s, size_t i, size_t at,
			  uint32_t owner)
{
	uint32_t id = (uint32_t)g->activations.n;
	struct stitch_activation a = {
		.frame = s->frames[i],
		.place = s->places[i],
		.owner = owner,
		.node = STITCH_NONE,
		.first_ns = s->time_ns,
		.last_ns = s->time_ns,
		.n_seen = 1,
		.not_before_ns = last_look(g, s->places[i].sp),
		.not_after_ns = UINT64_MAX,
	};

	if (vec_reserve(&g->live, g->live.n + 1) || vec_push(&g->activations, a))
		return -ERR_NOMEM;
	memmove(g->live.v + at + 1, g->live.v + at, (g->live.n - at) * sizeof *g->live.v);
	g->live.v[at] = id;
	g->live.n++;
	g->path.v[i] = id;
	return 0;
}

/* ---- nodes -------------------------------------------------------------------------------- */

static uint32_t node_hash(const struct frame *f, const struct frame_place *place)
{
	return (uint32_t)hash_mix(hash_mix(f->ip, place->sp), place->fp ^ (uintptr_t)f->map);
}

static uint32_t node_find(const struct stitch_graph *g, const struct frame *f,
			  const struct frame_place *place, uint32_t hash)
{
	struct hash_probe probe = hash_index_probe(&g->node_of, hash);
	uint32_t id;

	while ((id = hash_index_next(&g->node_of, &probe)) != HASH_NONE) {
		const struct stitch_node *n = &g->nodes.v[id];

		if (n->ip == f->ip && n->map == f->map && n->place.sp == place->sp &&
		    n->place.fp == place->fp)
			return id;
	}
	return STITCH_NONE;
}

static int node_make(struct stitch_graph *g, const struct frame *f, const struct frame_place *place,
		     uint32_t *ret)
{
	uint32_t hash = node_hash(f, place);

	*ret = node_find(g, f, place, hash);
	if (*ret != STITCH_NONE)
		return 0;
	*ret = (uint32_t)g->nodes.n;
	if (vec_reserve(&g->nodes, g->nodes.n + 1) || hash_index_put(&g->node_of, hash, *ret))
		return -ERR_NOMEM;
	g->nodes.v[g->nodes.n++] = (struct stitch_node){f->ip, f->map, *place, STITCH_NONE};
	return 0;
}

/* The same call, or one more of the same caller, which did not return between them. */
static bool is_same_caller(const struct stitch_graph *g, uint32_t a, uint32_t b)
{
	const struct stitch_activation *x, *y;

	if (a == b || a == STITCH_ROOT || b == STITCH_ROOT)
		return a == b;
	x = &g->activations.v[a];
	y = &g->activations.v[b];
	return x->owner == y->owner && x->owner != STITCH_NONE &&
	       is_same_slot(x, &y->frame, &y->place);
}

static int caller_seen(struct stitch_graph *g, uint32_t node, uint32_t caller, uint64_t time_ns)
{
	struct stitch_node *n = &g->nodes.v[node];
	struct stitch_run *newest = n->newest_run == STITCH_NONE ? NULL : &g->runs.v[n->newest_run];

	if (newest && is_same_caller(g, newest->caller, caller)) {
		newest->caller = caller;
		newest->last_ns = time_ns;
		return 0;
	}
	if (vec_push(&g->runs, (struct stitch_run){caller, n->newest_run, time_ns, time_ns}))
		return -ERR_NOMEM;
	n->newest_run = (uint32_t)g->runs.n - 1;
	return 0;
}

/* Where the activation's callers are kept is looked up once. */
static int owner_seen(struct stitch_graph *g, uint32_t activation, uint32_t owner, uint64_t time_ns)
{
	struct stitch_activation *a = &g->activations.v[activation];

	if (owner == STITCH_NONE)
		return 0;
	if (a->node == STITCH_NONE && node_make(g, &a->frame, &a->place, &a->node))
		return -ERR_NOMEM;
	return caller_seen(g, a->node, owner, time_ns);
}

/* ---- learning ----------------------------------------------------------------------------- */

/* Who called the caller: `owner` of frame i's activation as the stack at hand shows it. */
static uint32_t owner_shown(const struct stitch_graph *g, const struct stitch_stack *s, size_t i)
{
	if (i + 1 < s->n)
		return g->path.v[i + 1];
	return s->is_complete ? STITCH_ROOT : STITCH_NONE;
}

static bool can_be_owner(uint32_t known, uint32_t shown)
{
	return known == STITCH_NONE || shown == STITCH_NONE || known == shown;
}

/* Finds or makes the activations of frames n - 1 .. 1, and ends those that should be there. Of each
 * its owner is learned. */
static int match_activations(struct stitch_graph *g, const struct stitch_stack *s)
{
	uint64_t top = s->is_complete ? UINT64_MAX : s->places[s->n - 1].sp;
	size_t at = g->live.n, i;

	while (at && g->activations.v[g->live.v[at - 1]].place.sp <= top)
		at--;
	for (i = s->n - 1; i; i--, at++) {
		uint32_t owner = owner_shown(g, s, i);
		struct stitch_activation *a =
			at < g->live.n ? &g->activations.v[g->live.v[at]] : NULL;

		if (a && is_same_slot(a, &s->frames[i], &s->places[i]) &&
		    can_be_owner(a->owner, owner)) {
			a->last_ns = s->time_ns;
			a->n_seen++;
			if (a->owner == STITCH_NONE)
				a->owner = owner;
			g->path.v[i] = g->live.v[at];
		} else {
			/* Between activations whose callers are not known yet there is room for
			 * more. */
			if (a && (a->place.sp >= s->places[i].sp || a->owner != STITCH_NONE))
				end_live_from(g, at, s->time_ns);
			if (activation_add(g, s, i, at, owner))
				return -ERR_NOMEM;
		}
		if (owner_seen(g, g->path.v[i], owner, s->time_ns))
			return -ERR_NOMEM;
	}
	end_live_from(g, at, s->time_ns);
	return covered_add(g, top, s->time_ns) ? -ERR_NOMEM : 0;
}

/* Forgets all but the activations that have not ended: those that stacks to come can be part of. Of
 * too many the outermost stay, which live longest: else there would soon be as many again. */
static int shrink(struct stitch_graph *g)
{
	struct stitch_graph new = {.live = g->live, .covered = g->covered, .last_ns = g->last_ns};
	size_t i;
	int rc = 0;

	memset(&g->live, 0, sizeof g->live);
	memset(&g->covered, 0, sizeof g->covered);
	if (new.live.n > GRAPH_MAX / 2)
		new.live.n = GRAPH_MAX / 2;
	if (vec_reserve(&new.activations, new.live.n))
		rc = -ERR_NOMEM;
	for (i = 0; i < new.live.n && !rc; i++) {
		struct stitch_activation a = g->activations.v[new.live.v[i]];
		uint32_t owner = i ? (uint32_t)i - 1 : STITCH_NONE;

		if (a.owner != STITCH_ROOT && (!i || a.owner != g->path.v[i - 1]))
			owner = STITCH_NONE;
		else if (a.owner == STITCH_ROOT)
			owner = STITCH_ROOT;
		g->path.v[i] = new.live.v[i]; /* its old id, for the next one's owner */
		a.owner = owner;
		a.node = STITCH_NONE;
		new.activations.v[new.activations.n++] = a;
		new.live.v[i] = (uint32_t)i;
		rc = owner_seen(&new, (uint32_t)i, owner, a.last_ns);
	}
	stitch_graph_done(g);
	if (rc) /* `live` may have ids of both */
		stitch_graph_done(&new);
	*g = new;
	return rc;
}

static int learn(struct stitch_graph *g, const struct stitch_stack *s)
{
	uint32_t node, caller;

	if (vec_reserve(&g->path, s->n))
		return -ERR_NOMEM;
	g->path.n = s->n;
	if (match_activations(g, s))
		return -ERR_NOMEM;
	caller = owner_shown(g, s, 0);
	if (caller == STITCH_NONE)
		return 0;
	return node_make(g, &s->frames[0], &s->places[0], &node) ||
			       caller_seen(g, node, caller, s->time_ns)
		       ? -ERR_NOMEM
		       : 0;
}

int stitch_learn(struct stitch_graph *g, const struct stitch_stack *s)
{
	struct stitch_stack sane = *s;

	if (sane.time_ns < g->last_ns)
		sane.time_ns = g->last_ns;
	g->last_ns = sane.time_ns;
	/* Beyond the end of a signal's own stack, or of Go's system stack, nothing is in order. */
	for (sane.n = 1; sane.n < s->n; sane.n++)
		if (s->places[sane.n].sp <= s->places[sane.n - 1].sp)
			break;
	sane.is_complete &= sane.n == s->n;
	if ((g->activations.n > GRAPH_MAX || g->nodes.n > GRAPH_MAX || g->runs.n > GRAPH_MAX) &&
	    (vec_reserve(&g->path, g->live.n) || shrink(g)))
		return -ERR_NOMEM;
	return learn(g, &sane);
}

/* ---- asking ------------------------------------------------------------------------------- */

static uint64_t distance(uint64_t time_ns, uint64_t first_ns, uint64_t last_ns)
{
	return time_ns < first_ns ? first_ns - time_ns : time_ns > last_ns ? time_ns - last_ns : 0;
}

/* Whether the activation can have been there at that time, and is likely to. */
static bool was_there(const struct stitch_activation *a, uint64_t time_ns)
{
	uint64_t length_ns = a->last_ns - a->first_ns, trust_ns = TRUST_NS;

	if (a->n_seen > 1 && length_ns / (a->n_seen - 1) > TRUST_NS / TRUST_GAPS)
		trust_ns = length_ns / (a->n_seen - 1) * TRUST_GAPS;
	return time_ns > a->not_before_ns && time_ns < a->not_after_ns &&
	       distance(time_ns, a->first_ns, a->last_ns) <= trust_ns;
}

/* A caller stays the same as long as the caller itself has not returned. */
static bool is_valid(const struct stitch_graph *g, uint32_t caller, uint64_t time_ns)
{
	const struct stitch_activation *a;

	if (caller == STITCH_ROOT)
		return true;
	a = &g->activations.v[caller];
	if (a->owner == STITCH_ROOT)
		return true;
	return was_there(a->owner == STITCH_NONE ? a : &g->activations.v[a->owner], time_ns);
}

uint32_t stitch_caller(const struct stitch_graph *g, const struct frame *f,
		       const struct frame_place *place, uint64_t time_ns, uint64_t max_distance_ns)
{
	uint32_t node = node_find(g, f, place, node_hash(f, place)), at, best = STITCH_NONE;
	uint64_t best_ns = max_distance_ns, distance_ns;
	unsigned looked_at;

	at = node == STITCH_NONE ? STITCH_NONE : g->nodes.v[node].newest_run;
	for (looked_at = 0; at != STITCH_NONE && looked_at < RUNS_LOOKED_AT; looked_at++) {
		const struct stitch_run *r = &g->runs.v[at];

		distance_ns = distance(time_ns, r->first_ns, r->last_ns);
		if (distance_ns <= best_ns && is_valid(g, r->caller, time_ns)) {
			best_ns = distance_ns;
			best = r->caller;
		}
		if (time_ns >= r->first_ns && best != STITCH_NONE)
			break; /* older runs are farther away */
		at = r->older;
	}
	return best;
}
