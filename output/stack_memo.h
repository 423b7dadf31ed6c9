/* stack_memo.h - the nodes of stacks that were seen before. Private to profile*.c.
 *
 * Programs spend their time in the same stacks again and again. A stack is known by 112 bits of a
 * hash with secret keys, for which two given stacks are equal with a probability of 2^-100 or less
 * (NH of UMAC, RFC 4418: sums of products of words, each with a key added). A cache of fixed size:
 * what is not in it is found frame by frame. */
#ifndef OUTPUT_STACK_MEMO_H
#define OUTPUT_STACK_MEMO_H

#include "unwind/unwind.h"

enum { STACK_MEMO_BITS = 16, STACK_MEMO_FRAMES = 128 };

struct stack_memo_entry {
	uint64_t check;
	uint32_t check_more;
	uint32_t node; /* 0: empty; the empty stack is not kept */
};

struct stack_memo {
	struct stack_memo_entry *entries;
	uint64_t keys[4][STACK_MEMO_FRAMES];
};

/* Where a stack's node is, or would be, and what is compared. */
struct stack_memo_at {
	struct stack_memo_entry *entry; /* NULL: not kept, too many frames */
	uint64_t check;
	uint32_t check_more;
};

/* 0 or -1. */
int stack_memo_init(struct stack_memo *m);
void stack_memo_done(struct stack_memo *m);

/* The trace's base, if any, has a node. */
struct stack_memo_at stack_memo_at(const struct stack_memo *m, const struct stack_trace *t);

/* 0: not known. */
static inline uint32_t stack_memo_get(const struct stack_memo_at *at)
{
	const struct stack_memo_entry *e = at->entry;

	return e && e->check == at->check && e->check_more == at->check_more ? e->node : 0;
}

static inline void stack_memo_set(const struct stack_memo_at *at, uint32_t node)
{
	if (at->entry)
		*at->entry = (struct stack_memo_entry){at->check, at->check_more, node};
}

#endif
