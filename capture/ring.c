/* ring.c - the reader's side of a perf ring buffer. */
#include "capture/ring.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ring_map(struct ring *r, int fd, size_t data_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = page + data_bytes;
	uint8_t *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct perf_event_mmap_page *control;
	uint64_t off = page, size = data_bytes;

	if (base == MAP_FAILED)
		return -errno;
	control = (struct perf_event_mmap_page *)(void *)base;
	if (control->data_size) { /* since Linux 4.1 the kernel reports where the data begins */
		off = control->data_offset;
		size = control->data_size;
	}
	if (off > bytes || size > bytes - off || !size || size & (size - 1)) {
		munmap(base, bytes);
		return -EINVAL;
	}
	*r = (struct ring){control, base + off, size, bytes, 0};
	return 0;
}

void ring_unmap(struct ring *r)
{
	if (r->control)
		munmap(r->control, r->map_bytes);
	r->control = NULL;
}

uint64_t ring_head(const struct ring *r)
{
	/* Pairs with the kernel's barrier before it stores data_head: the records up to it are
	 * visible. */
	return __atomic_load_n(&r->control->data_head, __ATOMIC_ACQUIRE);
}

void ring_copy(const struct ring *r, uint64_t skip, void *dst, size_t n)
{
	size_t at = (size_t)((r->pos + skip) & (r->size - 1));
	size_t first = r->size - at;

	assert(n <= r->size);
	if (first >= n) {
		memcpy(dst, r->data + at, n);
		return;
	}
	memcpy(dst, r->data + at, first);
	memcpy((uint8_t *)dst + first, r->data, n - first);
}

struct perf_event_header ring_peek(const struct ring *r)
{
	struct perf_event_header h;

	ring_copy(r, 0, &h, sizeof h);
	return h;
}

void ring_release(struct ring *r)
{
	/* Our reads of the data must be done before the kernel may overwrite it. */
	__atomic_store_n(&r->control->data_tail, r->pos, __ATOMIC_RELEASE);
}
