/* batch.c - keeping the bytes of a batch. */
#include "reader/batch.h"

/* Blocks that one batch may pin, so that all batches together leave room for reordering. Records of
 * many ring buffers may come from as many blocks, a few from each: those are copied. */
static size_t pin_limit(const struct block_store *s)
{
	return s->window / (BATCHES + 2) ? s->window / (BATCHES + 2) : 1;
}

int batch_keep(struct batch *b, struct block_store *s, struct block *block, struct buf *rec)
{
	const uint8_t bit = (uint8_t)(1u << b->index);
	const size_t n = (size_t)(rec->end - rec->data), at = (size_t)(rec->p - rec->data);
	uint8_t *copy;

	b->bytes += n;
	if (block->held_by & bit)
		return 0;
	if (b->pinned.n < pin_limit(s) || block->mapped) {
		if (vec_push(&b->pinned, block))
			return -1;
		block->held_by |= bit;
		block->pins++;
		return 0;
	}
	copy = scratch_alloc(&b->scratch, n);
	if (!copy)
		return -1;
	memcpy(copy, rec->data, n);
	rec->data = copy;
	rec->p = copy + at;
	rec->end = copy + n;
	return 0;
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
	scratch_done(&b->scratch);
}
