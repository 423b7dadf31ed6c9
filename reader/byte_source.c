/* byte_source.c - reading files and pipes. */
#include "reader/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tempfile.h"
#include "base/clock.h"
#include "base/pages.h"
#include "base/rooted.h"

/* The size asked for a pipe: a larger one wakes reader and writer less often. This is what every
 * user may ask for (/proc/sys/fs/pipe-max-size). */
#define PIPE_BYTES (1 << 20)

/* Examines the file that was opened. */
static int source_begin(struct byte_source *s, struct err *err)
{
	struct stat st;

	if (fstat(s->fd, &st)) {
		int rc = err_errno(err, errno, s->name, "stat");

		byte_source_close(s);
		return rc;
	}
	if (S_ISFIFO(st.st_mode))
		/* If this fails the pipe keeps its 64 KiB. */
		(void)fcntl(s->fd, F_SETPIPE_SZ, PIPE_BYTES);
	/* If standard input was read from before, it is a stream from its current position on. */
	s->seekable = S_ISREG(st.st_mode) && (s->owns_fd || lseek(s->fd, 0, SEEK_CUR) == 0);
	if (s->seekable)
		s->size = (uint64_t)st.st_size;
	if (S_ISREG(st.st_mode))
		s->mtime_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	s->uid = st.st_uid;
	return 0;
}

int byte_source_open(struct byte_source *s, const char *path, struct err *err)
{
	*s = (struct byte_source){.name = path, .fd = STDIN_FILENO};
	if (!strcmp(path, "-")) {
		s->name = "standard input";
		s->is_stdin = true;
	} else {
		s->fd = open(path, O_RDONLY | O_CLOEXEC);
		if (s->fd < 0)
			return err_errno(err, errno, path, "open");
		s->owns_fd = true;
	}
	return source_begin(s, err);
}

int byte_source_open_file(struct byte_source *s, const char *path, bool follow, struct err *err)
{
	*s = (struct byte_source){
		.name = path, .fd = rooted_open(NULL, path, follow), .owns_fd = true};
	if (s->fd < 0)
		return rooted_error(err, errno, path);
	return source_begin(s, err);
}

/* Would a single thread read the file faster than it would map it? Page faults cost nearly nothing
 * where the page cache has large pages, and as much as copying where it has small ones (always on
 * ext4 before Linux 6.16). No system call tells the page size, so it is measured at a few places: a
 * page fault, which maps 64 KiB, takes 0.1 of the time of reading 64 KiB if the pages have 128 KiB,
 * and 0.5 to 1 if they are smaller. The fastest measurements count, because other activity only
 * makes them slower. */
static bool reading_is_faster(const struct byte_source *s, const uint8_t *map)
{
	enum { PLACES = 9, BYTES = 64 << 10 };
	const uint64_t step = s->size / (PLACES + 1);
	uint8_t *copy = step > 4 * BYTES ? malloc(BYTES) : NULL;
	uint64_t fault = UINT64_MAX, reading = UINT64_MAX;

	if (!copy)
		return false;
	memset(copy, 1, BYTES); /* its own page faults */
	for (unsigned i = 1; i <= PLACES; i++) {
		const uint64_t off = i * step / BYTES * BYTES;
		uint64_t start, touched, end;

		pages_touch(map + off, 1); /* page tables come first */
		start = clock_ns();
		pages_touch(map + off + BYTES, 1);
		touched = clock_ns();
		(void)!pread(s->fd, copy, BYTES, (off_t)(off + 2 * BYTES));
		end = clock_ns();
		if (touched - start < fault)
			fault = touched - start;
		if (end - touched < reading)
			reading = end - touched;
	}
	free(copy);
	return 3 * fault > reading;
}

void byte_source_map(struct byte_source *s, bool alone)
{
	void *p;

	if (!s->seekable || !s->size || s->size > SIZE_MAX / 2)
		return;
	p = mmap(NULL, (size_t)s->size, PROT_READ, MAP_PRIVATE, s->fd, 0);
	if (p == MAP_FAILED)
		return;
	if (alone && reading_is_faster(s, p)) {
		munmap(p, (size_t)s->size);
		return;
	}
	s->map = p;
	s->map_bytes = (size_t)s->size;
}

uint64_t byte_source_left(const struct byte_source *s, uint64_t off, uint64_t n)
{
	struct stat st;
	uint64_t size = fstat(s->fd, &st) || st.st_size < 0 ? 0 : (uint64_t)st.st_size;

	if (size > s->map_bytes)
		size = s->map_bytes;
	if (off > size)
		return 0;
	return n < size - off ? n : size - off;
}

void byte_source_close(struct byte_source *s)
{
	if (s->map)
		munmap(s->map, s->map_bytes);
	if (s->owns_fd)
		close(s->fd);
	*s = (struct byte_source){.fd = -1};
}

ssize_t pread_full(int fd, uint64_t off, void *p, size_t n, const char *name, struct err *err)
{
	size_t done = 0;

	while (done < n) {
		ssize_t rc = pread(fd, (char *)p + done, n - done, (off_t)(off + done));

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0)
			return err_errno(err, errno, name, "read");
		if (!rc)
			break;
		done += (size_t)rc;
	}
	return (ssize_t)done;
}

ssize_t byte_source_pread(const struct byte_source *s, uint64_t off, void *p, size_t n,
			  struct err *err)
{
	if (off > (uint64_t)INT64_MAX - n)
		return 0;
	return pread_full(s->fd, off, p, n, s->name, err);
}

/* Should reading of a pipe end because the reader was asked to stop and the writer is silent, or
 * does not stop? The signal may arrive at any time, and in another thread, so the flag is polled.
 */
static bool is_over(struct byte_source *s)
{
	enum { LOOK_MS = 100, PATIENCE_MS = 3000, SILENCE_MS = 500 };
	struct pollfd fd = {.fd = s->fd, .events = POLLIN};
	unsigned silence_ms = 0;
	int rc;

	if (!s->stop)
		return false;
	while ((rc = poll(&fd, 1, LOOK_MS)) <= 0) {
		if (rc < 0 && errno != EINTR)
			return false;
		silence_ms += *s->stop && !rc ? LOOK_MS : 0;
		if (silence_ms >= SILENCE_MS)
			return true;
	}
	if (*s->stop && !s->stopped_ns)
		s->stopped_ns = clock_ns();
	return s->stopped_ns && clock_ns() - s->stopped_ns > PATIENCE_MS * 1000000ull;
}

static ssize_t read_some(struct byte_source *s, void *p, size_t n, struct err *err)
{
	ssize_t rc;

	if (is_over(s))
		return 0;
	do
		rc = read(s->fd, p, n);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? err_errno(err, errno, s->name, "read") : rc;
}

ssize_t byte_source_peek(struct byte_source *s, size_t want, struct err *err)
{
	ssize_t rc;

	if (s->seekable)
		return byte_source_pread(s, 0, s->head, want, err);
	while (s->head_n < want) {
		rc = read_some(s, s->head + s->head_n, want - s->head_n, err);
		if (rc < 0)
			return rc;
		if (!rc)
			break;
		s->head_n += (size_t)rc;
	}
	return (ssize_t)s->head_n;
}

ssize_t byte_source_read(struct byte_source *s, void *p, size_t n, struct err *err)
{
	ssize_t rc;

	if (s->seekable) {
		rc = byte_source_pread(s, s->pos, p, n, err);
	} else if (s->pos < s->head_n) {
		rc = (ssize_t)(s->head_n - s->pos < n ? s->head_n - s->pos : n);
		memcpy(p, s->head + s->pos, (size_t)rc);
	} else {
		rc = read_some(s, p, n, err);
	}
	if (rc > 0)
		s->pos += (uint64_t)rc;
	return rc;
}

void byte_source_replace(struct byte_source *s, int fd, uint64_t size)
{
	if (s->owns_fd)
		close(s->fd);
	s->fd = fd;
	s->owns_fd = true;
	s->seekable = true;
	s->size = size;
	s->pos = 0;
}

int byte_source_spool(struct byte_source *s, struct err *err)
{
	enum { CHUNK = 1 << 18 };
	uint64_t size = 0;
	ssize_t n = 0;
	char *chunk;
	int fd = tempfile_open(err), rc = 0;

	if (fd < 0)
		return fd;
	chunk = malloc(CHUNK);
	if (!chunk)
		rc = err_nomem(err);
	while (!rc && (n = byte_source_read(s, chunk, CHUNK, err)) > 0) {
		rc = tempfile_append(fd, chunk, (size_t)n, err);
		size += (uint64_t)n;
	}
	free(chunk);
	if (rc || n < 0) {
		close(fd);
		return rc ? rc : (int)n;
	}
	byte_source_replace(s, fd, size);
	return 0;
}
