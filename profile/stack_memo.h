/* stack_memo.h - recognises stacks that were seen before. Private to profile/.
 *
 * Programs spend their time in the same stacks again and again. A stack, with the rest of its
 * sample's key, is identified by a hash with secret keys: the sum of the products of each frame's
 * two words, with a key added to each word (NH of UMAC, RFC 4418). Two given stacks have the same
 * hash with a probability of 2^-64, and 111 of its 128 bits are compared: of 30 million recordings
 * with a million different stacks each, one confuses two stacks.
 *
 * It is a cache of fixed size, in sets of four entries that share a cache line; stacks that are not
 * in it are looked up frame by frame. */
#ifndef PROFILE_STACK_MEMO_H
#define PROFILE_STACK_MEMO_H

#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "profile/fill.h"

enum { STACK_MEMO_SET_BITS = 15, STACK_MEMO_WAYS = 4, STACK_MEMO_FRAMES = 1024 };

#define FRAME_WHAT_SHIFT 44

/* All members of a frame except ip in one word. The last byte after the map's address is padding,
 * and is shifted out. */
static inline uint64_t frame_what(const struct frame *f)
{
	uint32_t sort;

	_Static_assert(offsetof(struct frame, is_kernel) ==
			       offsetof(struct frame, is_return_address) + 1,
		       "first bytes of sort");
	_Static_assert(offsetof(struct frame, how) == offsetof(struct frame, is_return_address) + 2,
		       "last byte of sort");
	_Static_assert(FRAME_HOW_N <= 16, "bits of how that are not shifted out");
	memcpy(&sort, (const char *)f + offsetof(struct frame, is_return_address), sizeof sort);
	return map_number(f->map) | (uint64_t)le32toh(sort) << FRAME_WHAT_SHIFT;
}

/* Is it a return address found by call frame information, as most frames are? */
static inline bool frame_what_usual(uint64_t what)
{
	return what >> FRAME_WHAT_SHIFT == (FRAME_CFI << 16 | 1);
}

struct stack_memo_entry {
	uint64_t check;
	uint32_t check_more;
	uint32_t sample; /* + 1; 0: empty */
};

/* The stack that was set last comes first. */
struct stack_memo_set {
	struct stack_memo_entry ways[STACK_MEMO_WAYS];
};

struct stack_memo {
	struct stack_memo_set *sets;
	uint64_t keys[STACK_MEMO_FRAMES + 2][2];
};

/* The parts of a sample's key other than its stack. */
struct stack_memo_context {
	uint64_t names, task;
	uint32_t labels;
	uint16_t cpu;
};

/* The set where a sample is or would be, and the bits that are compared. */
struct stack_memo_at {
	struct stack_memo_set *set; /* NULL: not kept, too many frames */
	uint64_t check;
	uint32_t check_more;
};

/* For stack_digest(). */
void stack_memo_init(struct stack_memo *m);
/* For the rest. 0 or -1. */
int stack_memo_make(struct stack_memo *m);
void stack_memo_done(struct stack_memo *m);

struct stack_digest stack_digest(const struct stack_memo *m, const struct stack_trace *t);
/* Is it the digest of these frames? */
static inline bool stack_digest_fits(const struct stack_digest *d, const struct stack_trace *t)
{
	return d->frames == t->frames && d->n == t->n;
}
/* `digest` must be the trace's. If the trace has a base, the base must have a tag. */
struct stack_memo_at stack_memo_at(const struct stack_memo *m, struct stack_memo_context c,
				   const struct stack_trace *t, const struct stack_digest *d);

/* Returns HASH_NONE if the sample is not in the memo. */
static inline uint32_t stack_memo_get(const struct stack_memo_at *at)
{
	const struct stack_memo_entry *e = at->set ? at->set->ways : NULL;
	unsigned i;

	for (i = 0; e && i < STACK_MEMO_WAYS; i++)
		if (e[i].check == at->check && e[i].check_more == at->check_more)
			return e[i].sample - 1;
	return HASH_NONE;
}

/* Adds a sample that is not in the memo. */
static inline void stack_memo_set(const struct stack_memo_at *at, uint32_t sample)
{
	struct stack_memo_entry *e = at->set ? at->set->ways : NULL;

	if (!e)
		return;
	memmove(e + 1, e, (STACK_MEMO_WAYS - 1) * sizeof *e);
	*e = (struct stack_memo_entry){at->check, at->check_more, sample + 1};
}

#endif
