/* cache_file.c - a new file under its final name, whole or not at all. */
#include "symbolize/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool make_directories(const char *dir)
{
	char path[PATH_MAX];
	char *slash;

	if (strlen(dir) >= sizeof path)
		return false;
	strcpy(path, dir);
	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			return false;
		*slash = '/';
	}
	return !mkdir(path, 0700) || errno == EEXIST;
}

static bool write_all(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

bool cache_file_publish(const char *dir, const char *path, const void *bytes, size_t size)
{
	char temporary[PATH_MAX];
	int fd, n = snprintf(temporary, sizeof temporary, "%s/.new-XXXXXX", dir);
	bool ok;

	if (!make_directories(dir) || n < 0 || n >= (int)sizeof temporary)
		return false;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = write_all(fd, bytes, size);
	ok &= !close(fd);
	if (ok && !rename(temporary, path))
		return true;
	unlink(temporary);
	return false;
}
