/* batch_memory.c - keeping the bytes of a batch. */
#include "reader/batch_memory.h"

/* How many blocks one batch may pin, so that all batches together leave room for reordering.
 * Records of many ring buffers may come from as many blocks, a few from each; beyond this limit
 * they are copied. */
static size_t pin_limit(const struct block_store *s)
{
	return s->window / (BATCHES + 2) ? s->window / (BATCHES + 2) : 1;
}

const uint8_t *batch_pin_or_copy(struct batch *b, const struct block_store *s, struct block *block,
				 const uint8_t *data, size_t n)
{
	uint8_t *copy;

	if (b->pinned.n < pin_limit(s) || block->mapped) {
		if (vec_push(&b->pinned, block))
			return NULL;
		block->held_by |= (uint8_t)(1u << b->index);
		block->pins++;
		return data;
	}
	copy = scratch_alloc(&b->scratch, n);
	return copy ? memcpy(copy, data, n) : NULL;
}

void batch_empty(struct batch *b, struct block_store *s)
{
	const uint8_t bit = (uint8_t)(1u << b->index);

	for (size_t i = 0; i < b->pinned.n; i++) {
		b->pinned.v[i]->held_by &= (uint8_t)~bit;
		block_unpin(s, b->pinned.v[i]);
	}
	b->pinned.n = 0;
	b->samples.n = 0;
	b->bytes = 0;
	scratch_reset(&b->scratch);
	b->pub = (struct perf_batch){0};
}

void batch_done(struct batch *b, struct block_store *s)
{
	batch_empty(b, s);
	vec_done(&b->samples);
	vec_done(&b->pinned);
	vec_done(&b->ended);
	scratch_done(&b->scratch);
}
