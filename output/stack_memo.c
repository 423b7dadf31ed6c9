/* stack_memo.c - hashes of stacks. */
#include "output/stack_memo.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/pages.h"

int stack_memo_init(struct stack_memo *m)
{
	uint64_t secret = hash_secret();
	size_t i, k;

	for (i = 0; i < STACK_MEMO_FRAMES; i++)
		for (k = 0; k < 4; k++)
			m->keys[i][k] = hash_u64(secret += 0x9e3779b97f4a7c15u);
	m->sets = pages_calloc((size_t)1 << STACK_MEMO_SET_BITS, sizeof *m->sets);
	return m->sets ? 0 : -1;
}

void stack_memo_done(struct stack_memo *m)
{
	free(m->sets);
	m->sets = NULL;
}

struct stack_memo_at stack_memo_at(const struct stack_memo *m, const struct stack_trace *t)
{
	unsigned __int128 a = t->n, b = t->base ? t->base->node : 0;
	struct stack_memo_at at = {0};
	size_t i;

	if (t->n > STACK_MEMO_FRAMES || !t->n)
		return at;
	a += b << 32;
	for (i = 0; i < t->n; i++) {
		const struct frame *f = &t->frames[i];
		const uint64_t *k = m->keys[i];
		/* A map's address has no bits at its ends. */
		uint64_t what = (uint64_t)(uintptr_t)f->map ^ (uint64_t)f->how << 56 ^
				(uint64_t)f->is_kernel << 1 ^ f->is_return_address;

		a += (unsigned __int128)(f->ip + k[0]) * (what + k[1]);
		b += (unsigned __int128)(f->ip + k[2]) * (what + k[3]);
	}
	at.check = hash_mix((uint64_t)a, (uint64_t)(a >> 64));
	b = (unsigned __int128)hash_mix((uint64_t)b, (uint64_t)(b >> 64));
	at.check_more = (uint32_t)b;
	at.set = &m->sets[(uint64_t)b >> (64 - STACK_MEMO_SET_BITS)];
	__builtin_prefetch(at.set);
	return at;
}
