/* write_all.c - write(2) and pwrite(2), again until all is taken. */
#include "base/write_all.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

static int put_all(int fd, const uint8_t *p, size_t n, uint64_t off, bool has_place)
{
	while (n) {
		ssize_t put = has_place ? pwrite(fd, p, n, (off_t)off) : write(fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? errno : ENOSPC;
		p += put;
		off += (uint64_t)put;
		n -= (size_t)put;
	}
	return 0;
}

int write_all(int fd, const void *bytes, size_t n)
{
	return put_all(fd, bytes, n, 0, false);
}

int write_all_at(int fd, const void *bytes, size_t n, uint64_t off)
{
	return put_all(fd, bytes, n, off, true);
}
