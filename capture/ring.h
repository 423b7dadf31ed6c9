/* ring.h - private: the reader's side of a perf ring buffer.
 *
 * Source: perf_event.h, struct perf_event_mmap_page, and "perf_event_open(2), MMAP layout". The
 * kernel moves data_head, we move data_tail; both only grow and are taken modulo the size. */
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	struct perf_event_mmap_page *control; /* NULL: not mapped */
	const uint8_t *data;
	size_t size;	  /* of data, a power of two */
	size_t map_bytes; /* of the whole mapping */
	uint64_t pos;	  /* what is before it was read */
};

/* Maps a ring of data_bytes (a power of two of pages) on fd. 0 or a negative errno. */
int ring_map(struct ring *r, int fd, size_t data_bytes);
void ring_unmap(struct ring *r);

/* The position after the last record that the kernel has written. Records before it may be read
 * after this call. */
uint64_t ring_head(const struct ring *r);
/* The record header at r->pos. It may wrap around the end of the ring, because the sizes of samples
 * of 32-bit tasks need not be multiples of 8 (sample_pack.h). */
struct perf_event_header ring_peek(const struct ring *r);
/* Copies n <= r->size bytes from r->pos + skip. */
void ring_copy(const struct ring *r, uint64_t skip, void *dst, size_t n);
/* Returns the room before r->pos to the kernel. */
void ring_release(struct ring *r);

#endif
