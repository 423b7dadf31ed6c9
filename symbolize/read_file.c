/* read_file.c - reads until the end, because files in /proc have no size. */
#include "symbolize/read_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/rooted.h"

/* Enough for a kernel's symbol list: unused pages are never touched, while growing the buffer means
 * copying it. */
enum { FIRST_BYTES = 16 << 20 };

static int read_all(int fd, size_t max, char **data, size_t *size)
{
	size_t cap = *size < max ? *size : max, n = 0;
	char *p = NULL, *bigger;
	ssize_t got;

	for (;;) {
		if (!p || n == cap) {
			if (p)
				cap = cap < max / 2 ? cap * 2 : max;
			bigger = realloc(p, cap + 1);
			if (!bigger) {
				free(p);
				return ENOMEM;
			}
			p = bigger;
			pages_large(p, cap);
		}
		got = read(fd, p + n, cap - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int e = errno;

			free(p);
			return e;
		}
		n += (size_t)got;
		if (!got || n == max)
			break;
	}
	p[n] = 0;
	*data = p;
	*size = n;
	return 0;
}

int read_file_fd(int fd, const char *path, size_t max, char **data, size_t *size, bool *cut,
		 struct err *err)
{
	struct stat st;
	int e;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED, path, "not a regular file");
	*size = FIRST_BYTES;
	if (st.st_size > 0 && (uint64_t)st.st_size < max)
		*size = (size_t)st.st_size +
			1; /* one more, so that the end is met without growing */
	e = read_all(fd, max, data, size);
	if (e)
		return err_errno(err, e, path, "read");
	if (cut)
		*cut = *size == max;
	return 0;
}

int read_file(const char *path, size_t max, char **data, size_t *size, bool *cut, struct err *err)
{
	int fd = rooted_open(NULL, path, true), rc;

	if (fd < 0)
		return rooted_error(err, errno, path);
	rc = read_file_fd(fd, path, max, data, size, cut, err);
	close(fd);
	return rc;
}

bool take_hex(char **p, uint64_t *ret)
{
	uint64_t v = 0;
	char *s = *p;

	for (;; s++) {
		char letter = *s | 0x20;
		unsigned digit;

		if (*s >= '0' && *s <= '9')
			digit = (unsigned)(*s - '0');
		else if (letter >= 'a' && letter <= 'f')
			digit = (unsigned)(letter - 'a' + 10);
		else
			break;
		if (v >> 60)
			return false;
		v = v << 4 | digit;
	}
	if (s == *p)
		return false;
	*p = s;
	*ret = v;
	return true;
}
