/* prefault.c - pieces are handed out in order, each once. */
#include "reader/prefault.h"

#include <assert.h>

/* Limit on how far ahead of the reader pages are handed out: they count as memory of this process,
 * as do the pages that wait to be unmapped (mapped.c). With less than a round of records of two
 * processors (some MB) the reader would catch up. */
#define AHEAD_BYTES ((size_t)16 << 20)
/* Some tens of microseconds of page faults, so that a worker is soon back at its own work. */
#define PIECE_BYTES ((size_t)128 << 10)

void prefault_init(struct prefault *a)
{
	*a = (struct prefault){0};
	pthread_mutex_init(&a->lock, NULL);
}

void prefault_done(struct prefault *a)
{
	pthread_mutex_destroy(&a->lock);
}

void prefault_move(struct prefault *a, const uint8_t *reader, const uint8_t *end)
{
	assert(reader <= end);
	pthread_mutex_lock(&a->lock);
	if (end != a->end || a->next < reader)
		a->next = reader;
	a->reader = reader;
	a->end = end;
	pthread_mutex_unlock(&a->lock);
}

bool prefault_take(struct prefault *a, const void **p, size_t *n)
{
	size_t left;
	bool is_near;

	pthread_mutex_lock(&a->lock);
	left = (size_t)(a->end - a->next);
	is_near = left && (size_t)(a->next - a->reader) < AHEAD_BYTES;
	if (is_near) {
		*p = a->next;
		*n = left < PIECE_BYTES ? left : PIECE_BYTES;
		a->next += *n;
	}
	pthread_mutex_unlock(&a->lock);
	return is_near;
}
