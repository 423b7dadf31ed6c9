/* recordings.h - inputs for unit tests: recordings of testdata/, and texts that are written here.
 */
#ifndef TESTS_LOAD_RECORDINGS_H
#define TESTS_LOAD_RECORDINGS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of a file of the tree; tests/run.py says where that is. Valid until the next call but 3.
 */
static inline const char *in_tree(const char *name)
{
	static char paths[4][4096];
	static unsigned calls;
	const char *top = getenv("TOP");
	char *path = paths[calls++ % 4];

	if (snprintf(path, sizeof *paths, "%s/%s", top ? top : ".", name) >= (int)sizeof *paths)
		abort();
	return path;
}

/* A new file with this content; to be removed by the test. */
static inline const char *written(char path[64], const char *text)
{
	ssize_t n = (ssize_t)strlen(text);
	int fd;

	snprintf(path, 64, "/tmp/unspool-load-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		abort();
	close(fd);
	return path;
}

#endif
