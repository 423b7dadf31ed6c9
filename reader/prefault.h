/* prefault.h - tells idle threads which pages of a mapped file the reader needs next. Private to
 * reader/.
 *
 * The first access to each page is a page fault. Where the page cache has small pages (always on
 * ext4 before Linux 6.16) these faults cost the reader several times as much as all its own work.
 */
#ifndef READER_PREFAULT_H
#define READER_PREFAULT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prefault {
	pthread_mutex_t lock; /* guards what follows */
	/* The part of the current stream that the reader has not reached; NULL: that is not mapped,
	 * or no stream was begun. */
	const uint8_t *reader, *end;
	/* From here to `end` nothing was handed out yet. Not before `reader`. */
	const uint8_t *next;
};

void prefault_init(struct prefault *a);
void prefault_done(struct prefault *a);
/* Tells the position of the reader. */
void prefault_move(struct prefault *a, const uint8_t *reader, const uint8_t *end);
/* Hands out the next piece, if it is so near that its pages will still be mapped when the reader
 * gets there. */
bool prefault_take(struct prefault *a, const void **p, size_t *n);

#endif
