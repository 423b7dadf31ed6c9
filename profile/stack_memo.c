/* stack_memo.c - hashes of stacks. */
#include "profile/stack_memo.h"

#include <stdlib.h>

#include "base/pages.h"

void stack_memo_init(struct stack_memo *m)
{
	uint64_t secret = hash_secret();
	size_t i;

	for (i = 0; i < 2 * (STACK_MEMO_FRAMES + 2); i++)
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

/* sum += a * b, modulo 2^128; sum[0] is the low half. For compilers without a 128-bit type (32-bit
 * processors), too. */
static void wide_add_product(uint64_t sum[2], uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 s = (unsigned __int128)sum[1] << 64 | sum[0];

	s += (unsigned __int128)a * b;
	sum[0] = (uint64_t)s;
	sum[1] = (uint64_t)(s >> 64);
#else
	uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
	uint64_t low = other << 32 | (uint32_t)(a0 * b0);

	sum[0] += low;
	sum[1] += a1 * b1 + (middle >> 32) + (other >> 32) + (sum[0] < low);
#endif
}

struct stack_digest stack_digest(const struct stack_memo *m, const struct stack_trace *t)
{
	size_t n = t->n <= STACK_MEMO_FRAMES ? t->n : 0, i;
	uint64_t sum[2] = {0};

	for (i = 0; i < n; i++) {
		const struct frame *f = &t->frames[i];
		const uint64_t *k = m->keys[i + 1];

		wide_add_product(sum, f->ip + k[0], frame_what(f) + k[1]);
	}
	return (struct stack_digest){t->frames, t->n, {sum[0], sum[1]}};
}

struct stack_memo_at stack_memo_at(const struct stack_memo *m, struct stack_memo_context c,
				   const struct stack_trace *t, const struct stack_digest *d)
{
	const uint64_t *k = m->keys[0], *last = m->keys[STACK_MEMO_FRAMES + 1];
	uint64_t sum[2] = {d->sum[0], d->sum[1]};
	struct stack_memo_at at = {0};
	uint64_t rest;

	if (t->n > STACK_MEMO_FRAMES)
		return at;
	wide_add_product(sum, c.names + k[0], c.task + k[1]);
	_Static_assert(STACK_MEMO_FRAMES <= UINT16_MAX, "beside the processor");
	wide_add_product(sum, c.labels + last[0],
			 ((uint64_t)(t->base ? t->base->tag : 0) << 32 | (uint32_t)c.cpu << 16 |
			  (uint16_t)t->n) +
				 last[1]);
	/* Both parts together have all of the sum; bits are dropped only after mixing. */
	at.check = hash_mix(sum[0], sum[1]);
	rest = hash_u64(sum[0] ^ m->keys[0][0]);
	at.check_more = (uint32_t)rest;
	at.set = &m->sets[rest >> (64 - STACK_MEMO_SET_BITS)];
	__builtin_prefetch(at.set);
	return at;
}
