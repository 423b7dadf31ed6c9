/* kept.c - pieces of stacks that outlive their batch. */
#include "stitch/kept.h"

#include "base/err.h"
#include "base/vec.h"

/* Limits for threads that recurse without end: the newest pieces and the outermost, which change
 * least, are kept. */
enum { PIECES_MAX = 16, FRAMES_MAX = 1024 };

enum { MAPS_LOOKED_AT = 8 };

void stitch_kept_done(struct stitch_kept *kept)
{
	vec_done(&kept->pieces);
	vec_done(&kept->frames);
	vec_done(&kept->maps);
	vec_done(&kept->map_of);
	vec_done(&kept->places);
	vec_done(&kept->words);
}

static void kept_clear(struct stitch_kept *kept)
{
	kept->pieces.n = kept->frames.n = kept->places.n = kept->words.n = 0;
	kept->maps.n = kept->map_of.n = 0;
}

static int maps_push(struct stitch_kept *kept, struct scratch *room)
{
	size_t bytes = kept->maps.n * sizeof *kept->maps.v, i;
	struct map *maps = NULL;

	if (bytes) {
		maps = scratch_alloc(room, bytes);
		if (!maps)
			return -ERR_NOMEM;
		memcpy(maps, kept->maps.v, bytes);
	}
	for (i = 0; i < kept->frames.n; i++)
		kept->frames.v[i].map = kept->map_of.v[i] ? &maps[kept->map_of.v[i] - 1] : NULL;
	return 0;
}

int stitch_kept_push(struct stitch_kept *kept, struct stitch_stacks *s, struct scratch *room)
{
	size_t i;

	if (maps_push(kept, room))
		return -ERR_NOMEM;
	for (i = 0; i < kept->pieces.n; i++) {
		const struct stitch_piece *p = &kept->pieces.v[i];
		struct stitch_stack t = {
			.frames = &kept->frames.v[p->first],
			.places = &kept->places.v[p->first],
			.words = &kept->words.v[p->first],
			.time_ns = p->time_ns,
			.reach = p->is_complete
					 ? STITCH_ROOT
					 : stitch_reach(&kept->places.v[p->first + p->n - 1]),
			.n = p->n,
			.is_complete = p->is_complete,
			.is_cut = p->is_cut,
			.wanted = STITCH_NONE,
			.seen_before = STITCH_NONE,
			.donor = STITCH_NONE,
		};

		if (vec_push(&s->stacks, t))
			return -ERR_NOMEM;
	}
	return 0;
}

/* The reach of a stack, limited to the frames that other stacks may use. */
static uint64_t reach_of(struct stitch_stack *t)
{
	uint32_t n = stitch_believed(t);

	if (n < t->n)
		t->reach = stitch_reach(&t->places[n - 1]);
	return t->reach;
}

/* Chooses, from the newest on, the stacks that each reach farther than all newer ones. If there are
 * too many, those in the middle are left out. Returns their number. */
static size_t choose(struct stitch_stacks *s, uint32_t *chosen)
{
	uint64_t reach = 0;
	size_t i, n = 0;

	for (i = s->stacks.n; i && reach != STITCH_ROOT; i--) {
		struct stitch_stack *t = &s->stacks.v[i - 1];

		if (t->reach <= reach || reach_of(t) <= reach)
			continue;
		reach = t->reach;
		if (n == PIECES_MAX)
			memmove(chosen + PIECES_MAX / 2, chosen + PIECES_MAX / 2 + 1,
				(PIECES_MAX - PIECES_MAX / 2 - 1) * sizeof *chosen);
		else
			n++;
		chosen[n - 1] = (uint32_t)i - 1;
	}
	return n;
}

/* Returns 1 + the index of the kept copy of `map`; 0: no map, or (*rc) out of memory. Most frames
 * are in one of the last maps; keeping a map twice is harmless. */
static uint32_t keep_map(struct stitch_kept *kept, const struct map *map, int *rc)
{
	size_t n = kept->maps.n, i;

	if (!map)
		return 0;
	for (i = n; i && n - i < MAPS_LOOKED_AT; i--)
		if (kept->maps.v[i - 1].id == map->id)
			return (uint32_t)i;
	if (vec_push(&kept->maps, *map))
		*rc = -ERR_NOMEM;
	return (uint32_t)n + 1;
}

static int keep_frame(struct stitch_kept *kept, const struct stitch_stack *t, uint32_t i)
{
	struct stitch_words words;
	int rc = 0;
	uint32_t map = keep_map(kept, t->frames[i].map, &rc);

	stitch_words_get(t, i, &words);
	return rc || vec_push(&kept->frames, t->frames[i]) || vec_push(&kept->map_of, map) ||
			       vec_push(&kept->places, t->places[i]) ||
			       vec_push(&kept->words, words)
		       ? -ERR_NOMEM
		       : 0;
}

/* Reduces a piece to its `n` outermost frames. */
static void piece_shorten(struct stitch_kept *kept, struct stitch_piece *p, uint32_t n)
{
	uint32_t from = p->first + p->n - n;

	memmove(&kept->frames.v[p->first], &kept->frames.v[from], n * sizeof *kept->frames.v);
	memmove(&kept->places.v[p->first], &kept->places.v[from], n * sizeof *kept->places.v);
	memmove(&kept->words.v[p->first], &kept->words.v[from], n * sizeof *kept->words.v);
	memmove(&kept->map_of.v[p->first], &kept->map_of.v[from], n * sizeof *kept->map_of.v);
	p->n = n;
	kept->frames.n = kept->places.n = kept->words.n = kept->map_of.n = p->first + n;
}

/* Keeps the frames of a stack from sp `from` on, and those of its donors. */
static int keep_piece(struct stitch_kept *kept, struct stitch_stacks *s, uint32_t stack,
		      uint64_t from)
{
	const struct stitch_stack *t;
	struct stitch_piece p = {.time_ns = s->stacks.v[stack].time_ns,
				 .first = (uint32_t)kept->frames.n};
	uint32_t i = 0, n;

	for (;;) {
		n = stitch_believed(&s->stacks.v[stack]);
		t = &s->stacks.v[stack];
		for (; i < n; i++)
			if (t->places[i].sp >= from && keep_frame(kept, t, i))
				return -ERR_NOMEM;
		p.is_complete = t->is_complete && n == t->n;
		p.is_cut = t->is_cut && n == t->n;
		if (!p.is_cut || t->donor == STITCH_NONE)
			break;
		stack = s->occurrences.v[t->donor].stack;
		i = s->occurrences.v[t->donor].frame + 1;
	}
	p.n = (uint32_t)kept->frames.n - p.first;
	if (p.n > FRAMES_MAX - p.first)
		piece_shorten(kept, &p, FRAMES_MAX - p.first);
	return p.n && vec_push(&kept->pieces, p) ? -ERR_NOMEM : 0;
}

/* The outermost pieces come first; they are also the oldest. */
int stitch_keep(struct stitch_kept *kept, struct stitch_stacks *s)
{
	uint32_t chosen[PIECES_MAX];
	size_t i;

	kept_clear(kept);
	for (i = choose(s, chosen); i; i--) {
		uint64_t from = i > 1 ? s->stacks.v[chosen[i - 2]].reach : 0;

		if (kept->frames.n < FRAMES_MAX && keep_piece(kept, s, chosen[i - 1], from)) {
			kept_clear(kept);
			return -ERR_NOMEM;
		}
	}
	return 0;
}
