/* holes.c - memory for files with holes, with few page faults.
 *
 * In virtual machines the first touch of a page can take 30 us: the 2,800 pages of clang's LLVM
 * took four times what unpacking its 3.7 MB takes. So ranges are written to a file in memory, which
 * the kernel does without faults, and which is mapped: a fault then brings in the pages around
 * (fault_around_bytes of mm/memory.c), and only where something is read. */
#include "bundle/holes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/pages.h"

enum {
	HOLES_PIECE = 256 << 10,
	/* Ranges closer than this are written by one call. */
	NEAR_BYTES = 8 << 10,
	/* Less is copied: it is in few pages. */
	FEW_BYTES = 64 << 10,
	/* From here on memory that gets full is worth a large page. */
	LARGE_BYTES = 512 << 10,
};

int holes_room(uint64_t size, bool will_be_full, struct bundle_bytes *ret, struct err *err)
{
	const bool is_large = will_be_full && size >= LARGE_BYTES;
	uint64_t bytes = size + 1, skip = 0;
	uint8_t *p;

	if (is_large) /* whole large pages, wherever they begin */
		bytes = size / PAGES_LARGE * PAGES_LARGE + 2 * PAGES_LARGE;
	*ret = (struct bundle_bytes){0};
	p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return err_nomem(err);
	if (is_large) {
		skip = -(uintptr_t)p % PAGES_LARGE;
		if (skip)
			munmap(p, (size_t)skip);
		p += skip;
		pages_large(p, (size_t)(bytes - skip));
	}
	*ret = (struct bundle_bytes){p, (size_t)size, (size_t)(bytes - skip)};
	return 0;
}

/* May a file become that large? Where it may not, the kernel ends who tries. */
static bool is_allowed(uint64_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) &&
	       (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}

int holes_begin(struct holes *h, uint64_t size, uint64_t filled, struct err *err)
{
	*h = (struct holes){.fd = -1};
	if (filled >= FEW_BYTES && is_allowed(size + 1)) {
		h->piece = malloc(HOLES_PIECE);
		h->fd = h->piece ? memfd_create("bundle", MFD_CLOEXEC) : -1;
	}
	if (h->fd >= 0 && !ftruncate(h->fd, (off_t)(size + 1))) {
		h->bytes.n = (size_t)size;
		return 0;
	}
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
	return holes_room(size, false, &h->bytes, err);
}

/* Writes the piece. */
static void flush(struct holes *h)
{
	size_t done = 0;

	while (done < h->used && !h->failed) {
		ssize_t n = pwrite(h->fd, h->piece + done, h->used - done, (off_t)(h->off + done));

		h->failed = n <= 0;
		done += n > 0 ? (size_t)n : 0;
	}
	h->used = 0;
}

int holes_put(void *holes, const struct bundle_range *r)
{
	struct holes *h = holes;
	uint64_t done = 0, at, n;

	if (h->fd < 0)
		memcpy(h->bytes.v + r->off, r->bytes, (size_t)r->size);
	while (h->fd >= 0 && done < r->size) {
		const uint64_t off = r->off + done;

		if (off < h->off || off > h->off + h->used + NEAR_BYTES ||
		    off >= h->off + HOLES_PIECE)
			flush(h);
		if (!h->used)
			h->off = off;
		at = off - h->off;
		n = HOLES_PIECE - at < r->size - done ? HOLES_PIECE - at : r->size - done;
		if (at > h->used)
			memset(h->piece + h->used, 0, (size_t)(at - h->used));
		memcpy(h->piece + at, r->bytes + done, (size_t)n);
		if (at + n > h->used)
			h->used = (size_t)(at + n);
		done += n;
	}
	return 0;
}

static void map(struct holes *h)
{
	const size_t size = h->bytes.n + 1;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, h->fd, 0);

	h->failed = p == MAP_FAILED;
	if (!h->failed)
		h->bytes = (struct bundle_bytes){p, h->bytes.n, size};
}

int holes_finish(struct holes *h, int rc, struct bundle_bytes *ret, struct err *err)
{
	if (h->fd >= 0 && !rc) {
		flush(h);
		if (!h->failed)
			map(h);
		if (h->failed)
			rc = err_nomem(err);
	}
	if (h->fd >= 0)
		close(h->fd);
	free(h->piece);
	if (rc)
		bundle_bytes_done(&h->bytes);
	*ret = h->bytes;
	return rc;
}
