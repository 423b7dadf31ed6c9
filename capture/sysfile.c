/* sysfile.c - reads small files of /proc and /sys. */
#include "capture/sysfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t read_full(int fd, char *buf, size_t size)
{
	size_t n = 0;

	while (n < size) {
		ssize_t got = read(fd, buf + n, size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

ssize_t sysfile_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int saved;

	if (fd < 0)
		return -1;
	n = read_full(fd, buf, size - 1);
	saved = errno;
	close(fd);
	errno = saved;
	if (n >= 0)
		buf[n] = 0;
	return n;
}

int sysfile_line(const char *path, char *buf, size_t size)
{
	if (sysfile_read(path, buf, size) < 0)
		return -1;
	buf[strcspn(buf, "\n")] = 0;
	return 0;
}

int sysfile_i64(const char *path, int64_t *ret)
{
	char text[32], *end;
	long long v;

	if (sysfile_line(path, text, sizeof text))
		return -1;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text || errno)
		return -1;
	*ret = v;
	return 0;
}

int sysfile_u64(const char *path, uint64_t *ret)
{
	int64_t v;

	if (sysfile_i64(path, &v) || v < 0)
		return -1;
	*ret = (uint64_t)v;
	return 0;
}

char *sysfile_read_all(const char *path, size_t max, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0, cap = 0;
	char *buf = NULL;

	if (fd < 0)
		return NULL;
	for (;;) {
		ssize_t got;

		if (cap - n < 2) {
			size_t want = cap ? cap * 2 : 16384;
			char *p = want <= max * 2 ? realloc(buf, want) : NULL;

			if (!p) {
				errno = ENOMEM;
				goto fail;
			}
			buf = p;
			cap = want;
		}
		got = read_full(fd, buf + n, cap - n - 1);
		if (got < 0)
			goto fail;
		if (!got)
			break;
		n += (size_t)got;
	}
	close(fd);
	buf[n] = 0;
	if (ret_size)
		*ret_size = n;
	return buf;
fail:
	free(buf);
	close(fd);
	return NULL;
}
