/* batch_memory.h - samples on their way out, with everything their pointers point to. Private to
 * reader/.
 */
#ifndef READER_BATCH_MEMORY_H
#define READER_BATCH_MEMORY_H

#include "base/buf.h"
#include "base/scratch.h"
#include "base/vec.h"
#include "reader/block.h"
#include "reader/machine.h"
#include "reader/reader.h"

#define BATCHES 8 /* at most held at a time: a bit each in block.held_by */
/* Several are on their way at a time; with what is made of their samples they shall fit into the
 * second cache of a processor. */
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

/* For batch_keep(): when the batch does not hold the block yet. */
const uint8_t *batch_pin_or_copy(struct batch *b, const struct block_store *s, struct block *block,
				 const uint8_t *data, size_t n);
/* Makes n bytes of the block live as long as the batch: pins the block, or, when it has pinned its
 * share of the window, copies them. Where they are then; NULL when out of memory. */
static inline const uint8_t *batch_keep(struct batch *b, const struct block_store *s,
					struct block *block, const uint8_t *data, size_t n)
{
	b->bytes += n;
	return block->held_by & 1u << b->index ? data : batch_pin_or_copy(b, s, block, data, n);
}
/* Lets go of all samples and their bytes. */
void batch_empty(struct batch *b, struct block_store *s);
void batch_done(struct batch *b, struct block_store *s);

#endif
