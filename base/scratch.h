/* scratch.h - memory for what lives as long as one batch. Not thread-safe.
 *
 * Like base/arena.h, but it is emptied with every batch and keeps its memory, because fresh pages
 * cost more than what is put into them, and does not clear it. */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct scratch_chunk {
	char *p;
	size_t size;
};

/* Zeroed: ready for use. */
struct scratch {
	VEC(struct scratch_chunk) chunks;
	size_t at;   /* of the chunk in use; those behind it are empty */
	size_t used; /* of that chunk */
	bool failed; /* out of memory since the last reset */
};

/* 16-byte aligned, not cleared. NULL (and failed) when out of memory. */
void *scratch_alloc(struct scratch *s, size_t n);
void scratch_reset(struct scratch *s);
void scratch_done(struct scratch *s);

#endif
