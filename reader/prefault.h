/* prefault.h - what of a mapped file comes next, for threads that have nothing else to do. Private
 * to reader/.
 *
 * Looking at a page for the first time is a page fault. Where the page cache has small pages (ext4
 * has no others before Linux 6.16) these cost the reader several times as much as all that it does.
 */
#ifndef READER_PREFAULT_H
#define READER_PREFAULT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prefault {
	pthread_mutex_t lock; /* guards what follows */
	/* What the reader has not begun of the stream that it is in; NULL: that is not mapped, or
	 * none was begun. */
	const uint8_t *reader, *end;
	const uint8_t *next; /* what was not taken yet, from reader to end */
};

void prefault_init(struct prefault *a);
void prefault_done(struct prefault *a);
/* The reader has come here. */
void prefault_move(struct prefault *a, const uint8_t *reader, const uint8_t *end);
/* The next piece, if it is near enough that its pages will still be there. */
bool prefault_take(struct prefault *a, const void **p, size_t *n);

#endif
