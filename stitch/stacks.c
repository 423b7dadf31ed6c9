/* stacks.c - finds the stacks that show a frame's caller, and chooses one. */
#include "stitch/stacks.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/prefetch.h"

/* Maximum number of occurrences that are examined before a cut stack, and after it. */
#define LOOKED_AT 8
/* Maximum distance in time at which a similar frame is taken for the same without being equal: to
 * the nearest occurrence; and, for a frame between two, to the farther one. Measured with
 * recordings that were cut and compared with their uncut stacks. */
#define TRUST_NS	 20000000u
#define TRUST_BETWEEN_NS 100000000u
/* Minimum share of equal words in these cases. */
#define TRUST_SHARE(same, n)	     (10 * (same) >= 3 * (n))
#define TRUST_BETWEEN_SHARE(same, n) (2 * (same) >= (n))

/* For recursions: number of frames on both sides that are searched; number of equal words that are
 * enough, and how many times as many words the frame may have: large frames begin with words that
 * are rarely written. */
enum { RECURSION_NEAR = 5, SURE_WORDS = 4, SURE_TIMES = 10 };

enum { SLOTS_MIN = 64, BITS_PER_SLOT = 16 };

void stitch_stacks_clear(struct stitch_stacks *s)
{
	s->stacks.n = s->wanted.n = s->occurrences.n = 0;
}

void stitch_stacks_done(struct stitch_stacks *s)
{
	vec_done(&s->stacks);
	vec_done(&s->wanted);
	vec_done(&s->occurrences);
	free(s->slots);
	free(s->maybe);
	*s = (struct stitch_stacks){0};
}

/* ---- wanted frames ------------------------------------------------------------------------ */

static inline uint64_t sp_hash(uint64_t sp)
{
	return sp * 0x9e3779b97f4a7c15u;
}

static int slots_clear(struct stitch_stacks *s, size_t n_cut)
{
	size_t n = SLOTS_MIN;

	while (n < 2 * n_cut)
		n *= 2;
	if (n > s->slots_room) {
		free(s->slots);
		free(s->maybe);
		s->slots = malloc(n * sizeof *s->slots);
		s->maybe = malloc(n * BITS_PER_SLOT / 8);
		s->slots_room = s->slots && s->maybe ? n : 0;
		if (!s->slots_room)
			return -ERR_NOMEM;
	}
	s->n_slots = n;
	s->secret = hash_secret();
	s->shift = 64 - (unsigned)__builtin_ctzll(n * BITS_PER_SLOT);
	memset(s->slots, 0xff, n * sizeof *s->slots); /* NONE */
	memset(s->maybe, 0, n * BITS_PER_SLOT / 8);
	return 0;
}

/* The slot of the wanted frame that is similar to this one, or the free slot for it. */
static uint32_t *slot_of(const struct stitch_stacks *s, const struct frame *f,
			 const struct frame_place *place)
{
	uint64_t frame = place->sp ^ place->fp * (s->secret | 1);
	size_t at = (size_t)hash_mix(f->ip ^ s->secret, frame);

	for (;; at++) {
		uint32_t *slot = &s->slots[at & (s->n_slots - 1)];
		const struct stitch_wanted *w;

		if (*slot == STITCH_NONE)
			return slot;
		w = &s->wanted.v[*slot];
		if (w->ip == f->ip && w->sp == place->sp && w->fp == place->fp &&
		    w->map == map_number(f->map))
			return slot;
	}
}

/* The index of the first frame that may be a caller: not that of a sample's own frame, which was
 * not called. The first frame of a kept stack may be one. */
static inline uint32_t first_caller(const struct stitch_stack *s)
{
	return s->words ? 0 : 1;
}

/* Prefetches for stitch_words_get(): these words were not read since the frame was found, and may
 * not be in a cache any more. */
PREFETCHING void expect_words(const struct stitch_stack *t, uint32_t frame)
{
	uintptr_t at = (uintptr_t)t->copy + (t->places[frame].sp - t->places[0].sp);

	if (!t->copy)
		return;
	__builtin_prefetch((const void *)at);
	__builtin_prefetch((const void *)(at + sizeof(uint64_t) * (STITCH_WORDS - 1)));
}

static int wanted_add(struct stitch_stacks *s, struct stitch_stack *cut)
{
	const struct frame *f = &cut->frames[cut->n - 1];
	const struct frame_place *place = &cut->places[cut->n - 1];
	uint64_t bit = sp_hash(place->sp) >> s->shift;
	struct stitch_wanted new = {.ip = f->ip,
				    .sp = place->sp,
				    .fp = place->fp,
				    .map = map_number(f->map),
				    .first = STITCH_NONE,
				    .last = STITCH_NONE};
	uint32_t *slot = slot_of(s, f, place);

	if (*slot == STITCH_NONE) {
		if (vec_push(&s->wanted, new))
			return -ERR_NOMEM;
		*slot = (uint32_t)s->wanted.n - 1;
		s->maybe[bit / 64] |= 1ull << bit % 64;
	}
	cut->wanted = *slot;
	expect_words(cut, cut->n - 1);
	return 0;
}

/* ---- occurrences -------------------------------------------------------------------------- */

static int occurrence_add(struct stitch_stacks *s, uint32_t wanted, uint32_t stack, uint32_t frame)
{
	struct stitch_wanted *w = &s->wanted.v[wanted];
	uint32_t id = (uint32_t)s->occurrences.n;

	if (vec_push(&s->occurrences,
		     (struct stitch_occurrence){stack, frame, w->last, STITCH_NONE}))
		return -ERR_NOMEM;
	if (w->last == STITCH_NONE)
		w->first = id;
	else
		s->occurrences.v[w->last].next = id;
	w->last = id;
	return 0;
}

static int occurrences_of(struct stitch_stacks *s, uint32_t stack)
{
	const struct stitch_stack *t = &s->stacks.v[stack];
	const struct frame_place *places = t->places;
	const uint64_t *maybe = s->maybe;
	uint32_t k, end = t->n - !t->is_complete;
	unsigned shift = s->shift;

	for (k = first_caller(t); k < end; k++) {
		uint64_t bit = sp_hash(places[k].sp) >> shift;
		uint32_t wanted;

		if (__builtin_expect(!(maybe[bit / 64] >> bit % 64 & 1), 1))
			continue;
		wanted = *slot_of(s, &t->frames[k], &places[k]);
		if (wanted == STITCH_NONE)
			continue;
		if (occurrence_add(s, wanted, stack, k))
			return -ERR_NOMEM;
		expect_words(t, k);
	}
	return 0;
}

PREFETCHING void expect_stack(const struct stitch_stacks *s, size_t i)
{
	const char *places;

	if (i >= s->stacks.n)
		return;
	places = (const char *)s->stacks.v[i].places;
	__builtin_prefetch(places);
	__builtin_prefetch(places + 64);
	__builtin_prefetch(places + 128);
	__builtin_prefetch(places + 192);
}

int stitch_find_occurrences(struct stitch_stacks *s)
{
	size_t i, n_cut = 0;

	for (i = 0; i < s->stacks.n; i++)
		n_cut += s->stacks.v[i].is_cut;
	if (!n_cut)
		return 0;
	if (slots_clear(s, n_cut))
		return -ERR_NOMEM;
	for (i = 0; i < s->stacks.n; i++) {
		struct stitch_stack *t = &s->stacks.v[i];

		if (t->is_cut && t->n > first_caller(t) && wanted_add(s, t))
			return -ERR_NOMEM;
	}
	for (i = 0; i < s->stacks.n; i++) {
		struct stitch_stack *t = &s->stacks.v[i];

		expect_stack(s, i + 4);
		if (t->wanted != STITCH_NONE)
			t->seen_before = s->wanted.v[t->wanted].last;
		if (occurrences_of(s, (uint32_t)i))
			return -ERR_NOMEM;
	}
	return 0;
}

/* ---- evidence ----------------------------------------------------------------------------- */

/* Bits by enum frame_how. */
#define X(name, mark, text) | (mark == '?' ? 1u << FRAME_##name : 0)
enum { GUESSES = 0 FRAME_HOWS(X) };
#undef X

/* Up to the first guess, and as long as sp rises: above the end of a signal stack, or of Go's
 * system stack, stack addresses are in no order. */
uint32_t stitch_believed(struct stitch_stack *s)
{
	uint32_t n = 1;

	if (s->n_believed)
		return s->n_believed;
	while (n < s->n && !(GUESSES >> s->frames[n].how & 1) &&
	       s->places[n].sp > s->places[n - 1].sp)
		n++;
	return s->n_believed = n;
}

void stitch_words_get(const struct stitch_stack *s, uint32_t frame, struct stitch_words *ret)
{
	uint64_t at = s->places[frame].sp - s->places[0].sp;
	uint64_t left;

	ret->n = 0;
	if (s->words) {
		*ret = s->words[frame];
		return;
	}
	if (!s->copy || s->places[frame].sp < s->places[0].sp || at >= s->copy_bytes)
		return;
	left = (s->copy_bytes - at) / sizeof *ret->v;
	ret->n = left < STITCH_WORDS ? (uint32_t)left : STITCH_WORDS;
	memcpy(ret->v, s->copy + at, ret->n * sizeof *ret->v);
}

/* The number of equal words among the *n words that both have. */
static uint32_t words_same(const struct stitch_words *a, const struct stitch_words *b, uint32_t *n)
{
	uint32_t i, same = 0;

	*n = a->n < b->n ? a->n : b->n;
	for (i = 0; i < *n; i++)
		same += a->v[i] == b->v[i];
	return same;
}

static bool shows_caller(struct stitch_stacks *s, const struct stitch_occurrence *occurrence)
{
	struct stitch_stack *t = &s->stacks.v[occurrence->stack];
	uint32_t n = stitch_believed(t);

	return occurrence->frame + 1 < n ||
	       (t->is_complete && occurrence->frame + 1 == n && n == t->n);
}

/* True if the callers of both occurrences are the same, as far as both are known. */
static bool is_same_callers(struct stitch_stacks *s, uint32_t a, uint32_t b)
{
	const struct stitch_occurrence *sa = &s->occurrences.v[a], *sb = &s->occurrences.v[b];
	const struct stitch_stack *ta = &s->stacks.v[sa->stack], *tb = &s->stacks.v[sb->stack];
	uint32_t i = sa->frame + 1, k = sb->frame + 1;

	for (; i < ta->n_believed && k < tb->n_believed; i++, k++)
		if (ta->frames[i].ip != tb->frames[k].ip || ta->places[i].sp != tb->places[k].sp ||
		    ta->places[i].fp != tb->places[k].fp)
			return false;
	return true;
}

/* The size of a frame whose caller is known; UINT64_MAX: not known. */
static uint64_t frame_bytes(const struct stitch_stack *t, uint32_t frame)
{
	return frame + 1 < t->n ? t->places[frame + 1].sp - t->places[frame].sp : UINT64_MAX;
}

/* True if all of the frame's memory that both stacks have a copy of is equal. */
static bool is_all_same(const struct stitch_stack *a, uint32_t fa, const struct stitch_stack *b,
			uint32_t fb, uint64_t bytes)
{
	uint64_t at = a->places[fa].sp - a->places[0].sp, bt = b->places[fb].sp - b->places[0].sp;

	if (!a->copy || !b->copy || at > a->copy_bytes || bt > b->copy_bytes)
		return false;
	if (bytes > a->copy_bytes - at)
		bytes = a->copy_bytes - at;
	if (bytes > b->copy_bytes - bt)
		bytes = b->copy_bytes - bt;
	return !memcmp(a->copy + at, b->copy + bt, bytes);
}

/* ---- choosing ----------------------------------------------------------------------------- */

static uint64_t time_between(const struct stitch_stack *a, const struct stitch_stack *b)
{
	return a->time_ns < b->time_ns ? b->time_ns - a->time_ns : a->time_ns - b->time_ns;
}

/* Iterates over the occurrences in order of distance in time from the cut stack. */
struct search {
	struct stitch_stacks *s;
	const struct stitch_stack *cut;
	uint32_t before, after;	    /* the next ones on both sides */
	unsigned n_before, n_after; /* how many may still be examined */
	uint64_t distance_ns;	    /* of the one returned last */
};

static uint64_t distance_of(const struct search *r, uint32_t occurrence, unsigned n)
{
	return occurrence == STITCH_NONE || !n
		       ? UINT64_MAX
		       : time_between(&r->s->stacks.v[r->s->occurrences.v[occurrence].stack],
				      r->cut);
}

static uint32_t next_nearest(struct search *r, bool *is_before)
{
	uint64_t before_ns = distance_of(r, r->before, r->n_before);
	uint64_t after_ns = distance_of(r, r->after, r->n_after);
	uint32_t ret = STITCH_NONE;

	*is_before = before_ns <= after_ns;
	r->distance_ns = *is_before ? before_ns : after_ns;
	if (r->distance_ns == UINT64_MAX)
		return ret;
	if (*is_before) {
		ret = r->before;
		r->before = r->s->occurrences.v[ret].before;
		r->n_before--;
	} else {
		ret = r->after;
		r->after = r->s->occurrences.v[ret].next;
		r->n_after--;
	}
	return ret;
}

/* The evidence for a similar frame that is not equal. */
struct chance {
	uint32_t occurrence; /* the nearest, or NONE */
	uint32_t equal;	     /* the nearest one in a recursion with all words equal; or NONE */
	uint32_t same, n;    /* equal words, of n */
	uint64_t before_ns, after_ns; /* distance of the nearest on each side */
	bool is_disputed;
};

/* True if two adjacent frames of [from, end) have the same return address. */
static bool calls_itself(const struct stitch_stack *t, uint32_t from, uint32_t end)
{
	uint32_t i;

	for (i = from + 1; i < end && i < t->n; i++)
		if (t->frames[i].ip == t->frames[i - 1].ip)
			return true;
	return false;
}

/* In a recursion, frames of the recursive function, of its callees, and of its first caller can be
 * at the same place in each activation. */
static bool is_recursion(const struct stitch_stacks *s, const struct stitch_stack *cut,
			 uint32_t occurrence)
{
	const struct stitch_occurrence *at = &s->occurrences.v[occurrence];

	return calls_itself(&s->stacks.v[at->stack], at->frame, at->frame + RECURSION_NEAR) ||
	       calls_itself(cut, cut->n > RECURSION_NEAR ? cut->n - RECURSION_NEAR : 0, cut->n);
}

/* True if `n` equal words prove that it is the same activation. */
static bool is_sure(const struct stitch_stacks *s, const struct stitch_stack *cut,
		    uint32_t occurrence, uint32_t n)
{
	const struct stitch_occurrence *at = &s->occurrences.v[occurrence];
	const struct stitch_stack *t = &s->stacks.v[at->stack];
	uint64_t bytes = frame_bytes(t, at->frame);

	if (!is_recursion(s, cut, occurrence))
		return true;
	if (n >= SURE_WORDS && bytes <= SURE_TIMES * n * sizeof(uint64_t))
		return true;
	return n == STITCH_WORDS && is_all_same(cut, cut->n - 1, t, at->frame, bytes);
}

static bool is_likely(const struct chance *c)
{
	uint64_t near_ns = c->before_ns < c->after_ns ? c->before_ns : c->after_ns;
	uint64_t far_ns = c->before_ns < c->after_ns ? c->after_ns : c->before_ns;

	if (c->is_disputed)
		return false;
	return (near_ns <= TRUST_NS && TRUST_SHARE(c->same, c->n)) ||
	       (far_ns <= TRUST_BETWEEN_NS && TRUST_BETWEEN_SHARE(c->same, c->n));
}

static void chance_add(struct stitch_stacks *s, struct chance *c, uint32_t occurrence,
		       uint32_t same, uint32_t n, uint64_t *side_ns, uint64_t distance_ns)
{
	if (*side_ns == UINT64_MAX)
		*side_ns = distance_ns;
	if (c->occurrence == STITCH_NONE) {
		c->occurrence = occurrence;
		c->same = same;
		c->n = n;
	} else if (!c->is_disputed) {
		c->is_disputed = !is_same_callers(s, c->occurrence, occurrence);
	}
}

uint32_t stitch_donor(struct stitch_stacks *s, struct stitch_stack *cut, uint64_t max_distance_ns)
{
	struct search r = {s, cut, cut->seen_before, STITCH_NONE, LOOKED_AT, LOOKED_AT, 0};
	struct chance c = {STITCH_NONE, STITCH_NONE, 0, 0, UINT64_MAX, UINT64_MAX, false};
	struct stitch_words own, its;
	uint32_t occurrence, same, n;
	bool is_before;

	if (cut->wanted == STITCH_NONE)
		return STITCH_NONE;
	r.after = r.before == STITCH_NONE ? s->wanted.v[cut->wanted].first
					  : s->occurrences.v[r.before].next;
	stitch_words_get(cut, cut->n - 1, &own);
	while ((occurrence = next_nearest(&r, &is_before)) != STITCH_NONE &&
	       r.distance_ns <= max_distance_ns) {
		const struct stitch_occurrence *at = &s->occurrences.v[occurrence];

		if (!shows_caller(s, at))
			continue;
		stitch_words_get(&s->stacks.v[at->stack], at->frame, &its);
		same = words_same(&own, &its, &n);
		if (n && same == n && is_sure(s, cut, occurrence, n))
			return occurrence;
		if (same == STITCH_WORDS && c.equal == STITCH_NONE)
			c.equal = occurrence;
		chance_add(s, &c, occurrence, same, n, is_before ? &c.before_ns : &c.after_ns,
			   r.distance_ns);
	}
	if (c.equal != STITCH_NONE && !c.is_disputed)
		return c.equal;
	if (is_likely(&c) && !is_recursion(s, cut, c.occurrence))
		return c.occurrence;
	cut->is_doubted = c.occurrence != STITCH_NONE;
	return STITCH_NONE;
}
