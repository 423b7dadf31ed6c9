/* jitdump_file.h - reads a jitdump by its path. */
#ifndef TESTS_FUNCTIONS_JITDUMP_FILE_H
#define TESTS_FUNCTIONS_JITDUMP_FILE_H

#include <errno.h>
#include <unistd.h>

#include "base/rooted.h"
#include "functions/jitdump.h"

static inline int jitdump_read(struct jitdump *j, const char *path, struct err *err)
{
	int fd = rooted_open(NULL, path, true), rc;

	if (fd < 0)
		return rooted_error(err, errno, path);
	rc = jitdump_read_fd(j, fd, path, err);
	close(fd);
	return rc;
}

#endif
