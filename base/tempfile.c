/* tempfile.c - O_TMPFILE, or a file that is removed at once. */
#include "base/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/helper.h"

static int tempfile_in(const char *dir)
{
	char path[4096];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	if ((size_t)snprintf(path, sizeof path, "%s/unspool-XXXXXX", dir) >= sizeof path)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

int tempfile_open_here(void)
{
	/* /tmp comes last: on many systems it is in memory, and this data is too large for memory.
	 */
	const char *const dirs[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < sizeof dirs / sizeof *dirs; i++)
		if (dirs[i] && *dirs[i])
			fd = tempfile_in(dirs[i]);
	return fd;
}

int tempfile_open(struct err *err)
{
	int fd = helper_runs() ? helper_temp() : tempfile_open_here();

	return fd < 0 ? err_errno(err, errno, "/var/tmp", "make a temporary file in") : fd;
}

int tempfile_append(int fd, const void *p, size_t n, struct err *err)
{
	while (n) {
		ssize_t rc = write(fd, p, n);

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0)
			return err_errno(err, errno, "temporary file", "write");
		p = (const char *)p + rc;
		n -= (size_t)rc;
	}
	return 0;
}
