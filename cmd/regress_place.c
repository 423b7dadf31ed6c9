/* regress_place.c - gives programs another place in memory. Pages of a file stay where they are as
 * long as it is cached. Should that place make it slower, a second look at the same pages would
 * find the same again. (One program was 12 % slower than others with the same code for some
 * minutes; that its place was the cause is likely, not shown.) */
#include "cmd/regress_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

static int open_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void forget(int fd)
{
	/* Pages that are not written yet stay. */
	(void)fdatasync(fd);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void read_all(int fd)
{
	char piece[PIECE];

	while (read(fd, piece, sizeof piece) > 0)
		;
}

/* What cannot be opened, as of another mount namespace, stays where it is. */
static void each_module(const struct regress *g, void (*act)(int fd))
{
	const char *path;
	bool is_common;
	size_t i;
	int s, fd;

	for (s = 0; s < SIDE_N; s++)
		for (i = 0; (path = regress_module(g, (enum side)s, i, &is_common)); i++) {
			fd = is_common || *path != '/' ? -1 : open_module(path);
			if (fd < 0)
				continue;
			act(fd);
			close(fd);
		}
}

void regress_place_anew(const struct regress *g)
{
	each_module(g, forget);
	each_module(g, read_all);
}
