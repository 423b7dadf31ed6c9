/* batch.h - samples on their way out, with everything their pointers point to. Private to reader/.
 */
#ifndef READER_BATCH_H
#define READER_BATCH_H

#include "base/buf.h"
#include "base/vec.h"
#include "reader/block.h"
#include "reader/reader.h"
#include "reader/scratch.h"

#define BATCHES	      4 /* at most held at a time: a bit each in block.held_by */
#define BATCH_SAMPLES 1024
#define BATCH_BYTES   (8u << 20)

struct batch {
	struct perf_batch pub; /* first: what the caller holds */
	VEC(struct perf_sample) samples;
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

/* Makes the bytes of rec, which lie in block, live as long as the batch: pins the block, or, when
 * it has pinned its share of the window, copies them and sets rec to the copy. 0, or -1 when out of
 * memory. */
int batch_keep(struct batch *b, struct block_store *s, struct block *block, struct buf *rec);
/* Lets go of all samples and their bytes. */
void batch_empty(struct batch *b, struct block_store *s);
void batch_done(struct batch *b, struct block_store *s);

#endif
