/* mapped.h - the parts of a mapped file that have been read. Their pages are unmapped in large
 * pieces, because each call must notify the other processors. Private to block.c. */
#ifndef READER_MAPPED_H
#define READER_MAPPED_H

#include <stddef.h>
#include <stdint.h>

/* Blocks are finished in as many rising sequences as the recorder had buffers, which it wrote in
 * turns. */
enum { MAPPED_RANGES = 8 };

struct mapped_range {
	uint8_t *start, *end;
};

struct mapped_done {
	struct mapped_range ranges[MAPPED_RANGES]; /* disjoint; an empty one is all 0 */
	size_t bytes;				   /* of all */
};

/* Adds bytes that will not be read soon. If they are read again, their pages are faulted in again.
 */
void mapped_done_add(struct mapped_done *d, uint8_t *start, size_t n);
/* Unmaps all pages that were added. */
void mapped_done_forget(struct mapped_done *d);

#endif
