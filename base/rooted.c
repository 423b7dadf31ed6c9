/* rooted.c - O_PATH, a look, and the same file again for reading. */
#include "base/rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Length of "/proc/PID/root" at the beginning of a path; 0: it begins with something else. */
static size_t root_length(const char *path)
{
	int n = 0;

	if (sscanf(path, "/proc/%*[0-9]/root%n", &n) < 0 || n <= 0 || path[n] != '/')
		return 0;
	return (size_t)n;
}

/* A descriptor of the place. */
static int find(const char *path, bool follow)
{
	const int flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
	struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_IN_ROOT};
	size_t n = root_length(path);
	char root[64];
	int dir, fd, e;

	if (!n || n >= sizeof root)
		return open(path, flags);
	memcpy(root, path, n);
	root[n] = '\0';
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, dir, path + n, &how, sizeof how);
	e = errno;
	close(dir);
	errno = e;
	return fd;
}

int rooted_open(const char *path, bool follow)
{
	int place = find(path, follow), fd = -1, e = ENODEV;
	char again[32];
	struct stat st;

	if (place < 0)
		return -1;
	if (fstat(place, &st)) {
		e = errno;
	} else if (S_ISLNK(st.st_mode)) {
		e = ELOOP;
	} else if (S_ISREG(st.st_mode)) {
		snprintf(again, sizeof again, "/proc/self/fd/%d", place);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		/* Without /proc the path has to do. */
		if (fd < 0 && errno == ENOENT)
			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW));
		e = errno;
	}
	close(place);
	errno = e;
	return fd;
}
