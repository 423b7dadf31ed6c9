/* stack_memo.c - hashes of stacks. */
#include "profile/stack_memo.h"

#include <stdlib.h>

#include "base/pages.h"

void stack_memo_init(struct stack_memo *m)
{
	uint64_t secret = hash_secret();
	size_t i;

	for (i = 0; i < 2 * (STACK_MEMO_FRAMES + 1); i++)
		m->keys[i / 2][i % 2] = hash_u64(secret += 0x9e3779b97f4a7c15u);
}

int stack_memo_make(struct stack_memo *m)
{
	if (!m->sets)
		m->sets = pages_calloc((size_t)1 << STACK_MEMO_SET_BITS, sizeof *m->sets);
	return m->sets ? 0 : -1;
}

void stack_memo_done(struct stack_memo *m)
{
	free(m->sets);
	m->sets = NULL;
}

struct stack_digest stack_digest(const struct stack_memo *m, const struct stack_trace *t)
{
	size_t n = t->n <= STACK_MEMO_FRAMES ? t->n : 0, i;
	unsigned __int128 sum = 0;

	for (i = 0; i < n; i++) {
		const struct frame *f = &t->frames[i];
		const uint64_t *k = m->keys[i + 1];

		sum += (unsigned __int128)(f->ip + k[0]) * (frame_what(f) + k[1]);
	}
	return (struct stack_digest){t->frames, t->n, {(uint64_t)sum, (uint64_t)(sum >> 64)}};
}

struct stack_memo_at stack_memo_at(const struct stack_memo *m, struct stack_memo_context c,
				   const struct stack_trace *t, const struct stack_digest *d)
{
	const uint64_t *k = m->keys[0];
	unsigned __int128 sum = (unsigned __int128)d->sum[1] << 64 | d->sum[0];
	struct stack_memo_at at = {0};
	uint64_t rest;

	if (t->n > STACK_MEMO_FRAMES)
		return at;
	sum += (unsigned __int128)(c.names + k[0]) * (c.task + k[1]);
	sum += (unsigned __int128)(t->base ? t->base->node : 0) << 32 | t->n;
	/* Together they tell all of the sum; bits are dropped when they are well mixed. */
	at.check = hash_mix((uint64_t)sum, (uint64_t)(sum >> 64));
	rest = hash_u64((uint64_t)sum ^ m->keys[0][0]);
	at.check_more = (uint32_t)rest;
	at.set = &m->sets[rest >> (64 - STACK_MEMO_SET_BITS)];
	__builtin_prefetch(at.set);
	return at;
}
