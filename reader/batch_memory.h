/* batch_memory.h - the memory of a batch: its samples and everything that they point to. Private to
 * reader/. */
#ifndef READER_BATCH_MEMORY_H
#define READER_BATCH_MEMORY_H

#include "base/buf.h"
#include "base/scratch.h"
#include "base/vec.h"
#include "reader/block.h"
#include "reader/machine.h"
#include "reader/reader.h"

#define BATCHES 8 /* limit on batches held at a time: one bit each in block.held_by */
/* Several batches are in use at a time; with the results made of their samples they should fit into
 * a processor's L2 cache. */
#define BATCH_SAMPLES 256
#define BATCH_BYTES   (8u << 20)

struct batch {
	struct perf_batch pub; /* first: what the caller holds */
	VEC(struct perf_sample) samples;
	struct perf_threads ended;
	VEC(struct block *) pinned;
	struct scratch scratch;
	size_t bytes; /* of the records in it */
	uint64_t epoch;
	unsigned index;
	bool held;
};

_Static_assert(offsetof(struct batch, pub) == 0, "perf_batch_release() casts back");

static inline bool batch_is_full(const struct batch *b)
{
	return b->samples.n >= BATCH_SAMPLES || b->bytes >= BATCH_BYTES;
}

/* The slow path of batch_keep(): the batch does not hold the block yet. */
const uint8_t *batch_pin_or_copy(struct batch *b, const struct block_store *s, struct block *block,
				 const uint8_t *data, size_t n);
/* Keeps n bytes of a block for as long as the batch lives: pins the block, or copies the bytes if
 * the batch has already pinned its share of the window. Returns where the bytes are then, or NULL
 * when out of memory. */
static inline const uint8_t *batch_keep(struct batch *b, const struct block_store *s,
					struct block *block, const uint8_t *data, size_t n)
{
	b->bytes += n;
	return block->held_by & 1u << b->index ? data : batch_pin_or_copy(b, s, block, data, n);
}
/* Releases all samples and unpins their blocks. */
void batch_empty(struct batch *b, struct block_store *s);
void batch_done(struct batch *b, struct block_store *s);

#endif
