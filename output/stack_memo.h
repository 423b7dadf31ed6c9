/* stack_memo.h - the nodes of stacks that were seen before. Private to profile*.c.
 *
 * Programs spend their time in the same stacks again and again. A stack is known by 112 bits of a
 * hash with secret keys, for which two given stacks are equal with a probability of 2^-100 or less
 * (NH of UMAC, RFC 4418: sums of products of words, each with a key added). A cache of fixed size,
 * in sets of four that share a line of the processor's cache: what is not in it is found frame by
 * frame. */
#ifndef OUTPUT_STACK_MEMO_H
#define OUTPUT_STACK_MEMO_H

#include <string.h>

#include "unwind/unwind.h"

enum { STACK_MEMO_SET_BITS = 15, STACK_MEMO_WAYS = 4, STACK_MEMO_FRAMES = 1024 };

struct stack_memo_entry {
	uint64_t check;
	uint32_t check_more;
	uint32_t node; /* 0: empty; the empty stack is not kept */
};

/* The stack that was set last comes first. */
struct stack_memo_set {
	struct stack_memo_entry ways[STACK_MEMO_WAYS];
};

struct stack_memo {
	struct stack_memo_set *sets;
	uint64_t keys[STACK_MEMO_FRAMES][4];
};

/* Where a stack's node is, or would be, and what is compared. */
struct stack_memo_at {
	struct stack_memo_set *set; /* NULL: not kept, too many frames */
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
	const struct stack_memo_entry *e = at->set ? at->set->ways : NULL;
	unsigned i;

	for (i = 0; e && i < STACK_MEMO_WAYS; i++)
		if (e[i].check == at->check && e[i].check_more == at->check_more)
			return e[i].node;
	return 0;
}

/* Of a stack that is not known. */
static inline void stack_memo_set(const struct stack_memo_at *at, uint32_t node)
{
	struct stack_memo_entry *e = at->set ? at->set->ways : NULL;

	if (!e)
		return;
	memmove(e + 1, e, (STACK_MEMO_WAYS - 1) * sizeof *e);
	*e = (struct stack_memo_entry){at->check, at->check_more, node};
}

#endif
