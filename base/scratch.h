/* scratch.h - allocator for objects that live as long as one batch. Not thread-safe.
 *
 * Unlike base/arena.h it is emptied after each batch and keeps its memory, because page faults cost
 * more than filling the pages, and it does not clear memory. The chunk that was put back last is
 * used first, as most of it is still in the processor's cache. */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

struct scratch_chunk;

struct scratch_list {
	struct scratch_chunk *first, *last;
};

/* Chunks and the allocations in them; zeroed: none. A chunk in `large` holds a single allocation.
 */
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
	size_t at;				      /* bytes used of the current chunk */
	bool failed;				      /* out of memory since the last reset */
};

/* 16-byte aligned, not cleared. NULL (and failed) when out of memory. */
void *scratch_alloc(struct scratch *s, size_t n);
void scratch_reset(struct scratch *s);
void scratch_done(struct scratch *s);

/* For objects that outlive the batch, or go to other threads: transfers all chunks allocated since
 * the last reset or detachment to the caller, who gives them back with scratch_put_back(), or frees
 * them. */
struct scratch_chunks scratch_detach(struct scratch *s);
void scratch_put_back(struct scratch *s, struct scratch_chunks chunks);
/* Moves all chunks of `more`, which is empty afterwards, into `to`. */
void scratch_chunks_join(struct scratch_chunks *to, struct scratch_chunks *more);
void scratch_chunks_free(struct scratch_chunks *chunks);

#endif
