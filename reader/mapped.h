/* mapped.h - the parts of a mapped file that were read, whose pages are let go many at a time: the
 * other processors must be notified each time. Private to block.c. */
#ifndef READER_MAPPED_H
#define READER_MAPPED_H

#include <stddef.h>
#include <stdint.h>

/* Blocks are done with in as many orders as there were buffers that the recorder wrote in turns. */
enum { MAPPED_RANGES = 8 };

struct mapped_range {
	uint8_t *start, *end;
};

struct mapped_done {
	struct mapped_range ranges[MAPPED_RANGES]; /* no two meet; empty ones are all 0 */
	size_t bytes;				   /* of all */
};

/* These bytes will not be looked at soon; if they are, their pages come back. */
void mapped_done_add(struct mapped_done *d, uint8_t *start, size_t n);
/* Lets go of all. */
void mapped_done_forget(struct mapped_done *d);

#endif
