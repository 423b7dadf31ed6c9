/* stitch_graph.c - activations, who called them, and until when that was true. */
#include "unwind/stitch_graph.h"

#include "base/hash.h"

/* Activations of a thread after which those that have ended are forgotten. Of four times as many,
 * which no longer fit into a processor's own cache, 0.5 % more frames are known. */
#define GRAPH_MAX (1u << 13)
/* A thread with so many activations soon has all it may have: room for those and a batch. */
#define GRAPH_GROWS   (1u << 9)
#define GRAPH_ROOM    (GRAPH_MAX + GRAPH_MAX / 2)
#define HASH_BITS_MIN 8
/* Activations that are looked at for the nearest: callers that alternate faster are not told apart
 * by time anyway. */
#define LOOKED_AT 256

/* How far beyond its sights an activation is believed to have lived where no sample reached far
 * enough to tell: a while, or some times what lay between two sights. Found with recordings that
 * were cut and compared with their truth. */
#define TRUST_NS   20000000u
#define TRUST_GAPS 4

/* A sample saw all of the stack from its end up to here. */
struct stitch_covered {
	uint64_t sp, time_ns;
};

void stitch_graph_forget(struct stitch_graph *g)
{
	g->activations.n = g->kept.n = g->live.n = g->covered.n = 0;
	g->settled = g->n_hashed = g->hash_mask = 0;
	g->last_ns = 0;
}

void stitch_graph_done(struct stitch_graph *g)
{
	vec_done(&g->activations);
	vec_done(&g->kept);
	vec_done(&g->live);
	vec_done(&g->covered);
	free(g->newest);
	*g = (struct stitch_graph){0};
}

/* ---- activations -------------------------------------------------------------------------- */

static bool is_same_slot(const struct stitch_live *a, const struct frame *f,
			 const struct frame_place *place)
{
	return a->place.sp == place->sp && a->place.fp == place->fp && a->ip == f->ip &&
	       a->map == f->map;
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

/* The outermost of the live ones that lies no higher than sp. */
static size_t live_from(const struct stitch_graph *g, uint64_t sp)
{
	size_t low = 0, high = g->live.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->live.v[middle].place.sp > sp)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Writes down what was only noted among the live ones. */
static struct stitch_activation *live_settle(struct stitch_graph *g, const struct stitch_live *l)
{
	struct stitch_activation *a = &g->activations.v[l->id];

	a->last_ns = l->last_ns;
	a->told_last_ns = l->told_last_ns;
	a->n_seen = l->n_seen;
	return a;
}

static void end_live_from(struct stitch_graph *g, size_t at, uint64_t time_ns)
{
	size_t i;

	for (i = at; i < g->live.n; i++)
		live_settle(g, &g->live.v[i])->not_after_ns = time_ns;
	g->live.n = at;
	if (g->settled > at)
		g->settled = at;
}

static inline uint32_t slot_hash(const struct frame *f, const struct frame_place *place)
{
	return (uint32_t)hash_mix(f->ip ^ (uintptr_t)f->map << 20, place->sp ^ place->fp << 20);
}

/* Puts an activation whose owner is known where stitch_caller() finds it. */
static void hash_in(struct stitch_graph *g, uint32_t id)
{
	struct stitch_activation *a = &g->activations.v[id];
	uint32_t *newest = &g->newest[slot_hash(&a->frame, &a->place) & g->hash_mask];

	a->older = *newest;
	*newest = id;
}

/* A table in which all activations have room. Most threads do little. */
static int hash_grow(struct stitch_graph *g)
{
	size_t n = g->hash_mask ? g->hash_mask + 1 : 1 << HASH_BITS_MIN;
	uint32_t *newest = g->newest;

	while (n < g->activations.n)
		n *= 2;
	if (n > g->hash_room) {
		newest = realloc(newest, n * sizeof *newest);
		if (!newest)
			return -ERR_NOMEM;
		g->hash_room = n;
	}
	g->newest = newest;
	g->hash_mask = n - 1;
	g->n_hashed = 0;
	return 0;
}

/* Many at a time, so that their accesses to memory overlap. */
int stitch_settle(struct stitch_graph *g)
{
	if ((!g->hash_mask || g->hash_mask < g->activations.n) && hash_grow(g))
		return -ERR_NOMEM;
	if (!g->n_hashed) /* STITCH_NONE */
		memset(g->newest, 0xff, (g->hash_mask + 1) * sizeof *g->newest);
	for (; g->n_hashed < g->activations.n; g->n_hashed++)
		if (g->activations.v[g->n_hashed].owner != STITCH_NONE)
			hash_in(g, (uint32_t)g->n_hashed);
	for (; g->settled < g->live.n; g->settled++)
		live_settle(g, &g->live.v[g->settled]);
	return 0;
}

/* A new activation for frame i, at `at` of the live ones. */
static int activation_add(struct stitch_graph *g, const struct stitch_stack *s, size_t i, size_t at,
			  uint32_t owner)
{
	const struct frame *f = &s->frames[i];
	uint32_t id = (uint32_t)g->activations.n;
	struct stitch_live l = {
		.ip = f->ip,
		.map = f->map,
		.place = s->places[i],
		.last_ns = s->time_ns,
		.told_last_ns = s->time_ns,
		.n_seen = 1,
		.owner = owner,
		.id = id,
	};
	struct stitch_activation a = {
		.frame = *f,
		.place = s->places[i],
		.owner = owner,
		.first_ns = s->time_ns,
		.last_ns = s->time_ns,
		.told_first_ns = s->time_ns,
		.told_last_ns = s->time_ns,
		.not_before_ns = last_look(g, s->places[i].sp),
		.not_after_ns = UINT64_MAX,
		.n_seen = 1,
		.base = STITCH_NONE,
	};

	if (g->activations.n == GRAPH_GROWS && vec_reserve(&g->activations, GRAPH_ROOM))
		return -ERR_NOMEM;
	if (vec_reserve(&g->live, g->live.n + 1) || vec_push(&g->activations, a))
		return -ERR_NOMEM;
	if (at < g->live.n)
		memmove(g->live.v + at + 1, g->live.v + at, (g->live.n - at) * sizeof *g->live.v);
	g->live.v[at] = l;
	g->live.n++;
	return 0;
}

/* ---- learning ----------------------------------------------------------------------------- */

static bool can_be_owner(uint32_t known, uint32_t shown)
{
	return known == STITCH_NONE || shown == STITCH_NONE || known == shown;
}

static inline void owner_told(struct stitch_graph *g, struct stitch_live *l, uint32_t owner,
			      uint64_t time_ns)
{
	l->told_last_ns = time_ns;
	if (l->owner != STITCH_NONE)
		return;
	l->owner = g->activations.v[l->id].owner = owner;
	g->activations.v[l->id].told_first_ns = time_ns;
	if (l->id < g->n_hashed)
		hash_in(g, l->id);
}

/* Finds or makes the activations of frames n - 1 .. 1, and ends those that should be there. Of each
 * its owner is learned, the activation of the frame above. */
static int match_activations(struct stitch_graph *g, const struct stitch_stack *s)
{
	uint32_t owner = s->is_complete ? STITCH_ROOT : STITCH_NONE;
	uint64_t top = s->is_complete ? UINT64_MAX : s->places[s->n - 1].sp;
	size_t at = live_from(g, top), i;

	if (g->settled > at)
		g->settled = at;
	for (i = s->n - 1; i; i--, at++) {
		struct stitch_live *l = at < g->live.n ? &g->live.v[at] : NULL;

		if (l && is_same_slot(l, &s->frames[i], &s->places[i]) &&
		    can_be_owner(l->owner, owner)) {
			l->last_ns = s->time_ns;
			l->n_seen++;
		} else {
			/* Between activations whose callers are not known yet there is room for
			 * more. */
			if (l && (l->place.sp >= s->places[i].sp || l->owner != STITCH_NONE))
				end_live_from(g, at, s->time_ns);
			if (activation_add(g, s, i, at, owner))
				return -ERR_NOMEM;
			l = &g->live.v[at];
		}
		if (owner != STITCH_NONE)
			owner_told(g, l, owner, s->time_ns);
		owner = l->id;
	}
	end_live_from(g, at, s->time_ns);
	return covered_add(g, top, s->time_ns) ? -ERR_NOMEM : 0;
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
	return match_activations(g, &sane);
}

/* ---- forgetting --------------------------------------------------------------------------- */

bool stitch_graph_is_full(const struct stitch_graph *g)
{
	return g->activations.n > GRAPH_MAX;
}

/* Collects the live activations, whose ids become their places among the live ones. */
static int keep_live(struct stitch_graph *g)
{
	uint32_t above = STITCH_NONE; /* the old id of the one before */
	size_t i;

	if (vec_reserve(&g->kept, g->live.n))
		return -ERR_NOMEM;
	for (i = 0; i < g->live.n; i++) {
		struct stitch_live *l = &g->live.v[i];
		struct stitch_activation a = *live_settle(g, l);

		if (a.owner != STITCH_ROOT && a.owner != STITCH_NONE)
			a.owner = a.owner == above ? (uint32_t)i - 1 : STITCH_NONE;
		a.base = STITCH_NONE;
		above = l->id;
		l->id = (uint32_t)i;
		l->owner = a.owner;
		g->kept.v[i] = a;
	}
	g->kept.n = g->live.n;
	return 0;
}

/* Of too many the outermost stay, which live longest: else there would soon be as many again. */
int stitch_graph_shrink(struct stitch_graph *g)
{
	int rc;

	if (g->live.n > GRAPH_MAX / 2)
		g->live.n = GRAPH_MAX / 2;
	g->settled = 0;
	rc = keep_live(g);
	if (rc) {
		stitch_graph_done(g);
		return rc;
	}
	if (g->kept.n)
		memcpy(g->activations.v, g->kept.v, g->kept.n * sizeof *g->kept.v);
	g->activations.n = g->kept.n;
	g->n_hashed = 0;
	return 0;
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
	uint32_t at = g->newest[slot_hash(f, place) & g->hash_mask], best = STITCH_NONE;
	uint64_t best_ns = max_distance_ns, distance_ns;
	unsigned looked_at;

	for (looked_at = 0; at != STITCH_NONE && looked_at < LOOKED_AT; looked_at++) {
		const struct stitch_activation *a = &g->activations.v[at];

		at = a->older;
		if (a->frame.ip != f->ip || a->frame.map != f->map || a->place.sp != place->sp ||
		    a->place.fp != place->fp)
			continue;
		distance_ns = distance(time_ns, a->told_first_ns, a->told_last_ns);
		if (distance_ns <= best_ns && is_valid(g, a->owner, time_ns)) {
			best_ns = distance_ns;
			best = a->owner;
		}
		if (time_ns >= a->told_first_ns && best != STITCH_NONE)
			break; /* older ones are farther away */
	}
	return best;
}
