/* scratch.h - memory for what lives as long as one batch. Not thread-safe.
 *
 * Like base/arena.h, but it is emptied with every batch and keeps its memory, because fresh pages
 * cost more than what is put into them, and does not clear it. What was given back last is used
 * first: of that most is in the processor's cache. */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

struct scratch_chunk;

struct scratch_list {
	struct scratch_chunk *first, *last;
};

/* Chunks with what was allocated from them; zeroed: none. Large ones are of one allocation each. */
struct scratch_chunks {
	struct scratch_list usual, large;
};

enum {
	SCRATCH_CHUNK_BITS = 14,
	SCRATCH_CLASSES = 8 * sizeof(size_t) - SCRATCH_CHUNK_BITS, /* up to half of all addresses */
};

/* Zeroed: ready for use. */
struct scratch {
	struct scratch_chunks used;		      /* the first usual one has room left */
	struct scratch_chunk *spare[SCRATCH_CLASSES]; /* by how often their size was doubled */
	size_t at;				      /* of the chunk in use, what is allocated */
	bool failed;				      /* out of memory since the last reset */
};

/* 16-byte aligned, not cleared. NULL (and failed) when out of memory. */
void *scratch_alloc(struct scratch *s, size_t n);
void scratch_reset(struct scratch *s);
void scratch_done(struct scratch *s);

/* For memory that lives longer than its batch, or that other threads use: what was allocated since
 * the last reset or detachment is the caller's, who puts it back when it is not needed any more. */
struct scratch_chunks scratch_detach(struct scratch *s);
void scratch_put_back(struct scratch *s, struct scratch_chunks chunks);
/* Adds `more`, which is empty afterwards. */
void scratch_chunks_join(struct scratch_chunks *to, struct scratch_chunks *more);
void scratch_chunks_free(struct scratch_chunks *chunks);

#endif
