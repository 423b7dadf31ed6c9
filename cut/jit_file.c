/* jit_file.c - reads perf-PID.map and jit-PID.dump. */
#include "cut/cut.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/rooted.h"
#include "reader/reader.h"

enum { FILE_BYTES_MAX = 512 << 20, STATUS_BYTES = 8192, CHUNK = 64 << 10 };

static void *read_all(int fd, size_t *size)
{
	uint8_t *v = NULL, *more;
	size_t n = 0, cap = 0;
	ssize_t got = 1;

	while (got > 0 && n < FILE_BYTES_MAX) {
		if (cap - n < CHUNK) {
			cap = cap ? cap * 2 : CHUNK;
			more = realloc(v, cap + 1);
			if (!more)
				break;
			v = more;
		}
		got = read(fd, v + n, cap - n);
		if (got > 0)
			n += (size_t)got;
	}
	*size = n;
	return v;
}

static bool read_at(const char *symfs, const struct dso *dso, const char *path,
		    struct cut_text *ret)
{
	int fd = rooted_open(symfs, path, true);
	struct stat st;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && (rooted_is_trusted(&st) ||
				(dso->ino && dso->ino == st.st_ino &&
				 major(st.st_dev) == dso->maj && minor(st.st_dev) == dso->min)))
		ret->bytes = read_all(fd, &ret->size);
	ret->written_ns = symfs && *symfs ? 0 : rooted_written_ns(&st);
	close(fd);
	return ret->bytes;
}

/* The number of the process in its own PID namespace: the last one in the NSpid line. 0: unknown.
 */
static unsigned long inner_pid(uint32_t pid)
{
	char name[64], status[STATUS_BYTES] = "", *line, *end;
	size_t n;
	FILE *f;

	snprintf(name, sizeof name, "/proc/%" PRIu32 "/status", pid);
	f = fopen(name, "re");
	n = f ? fread(status, 1, sizeof status - 1, f) : 0;
	if (f)
		fclose(f);
	status[n] = 0;
	line = strstr(status, "\nNSpid:");
	end = line ? strchr(line + 1, '\n') : NULL;
	if (!end)
		return 0;
	*end = 0;
	line = strrchr(line, '\t');
	return line ? strtoul(line, NULL, 10) : 0;
}

void cut_jit_file(const char *symfs, const struct dso *dso, uint32_t pid, struct cut_text *ret)
{
	char path[PATH_MAX];
	unsigned long inner;

	if (snprintf(path, sizeof path, "%s%s", symfs, dso->path) >= (int)sizeof path ||
	    read_at(symfs, dso, path, ret) || *symfs || !pid)
		return;
	inner = dso->kind == DSO_ANON ? inner_pid(pid) : 0;
	if (inner)
		snprintf(path, sizeof path, "/proc/%" PRIu32 "/root/tmp/perf-%lu.map", pid, inner);
	else
		snprintf(path, sizeof path, "/proc/%" PRIu32 "/root%.3000s", pid, dso->path);
	(void)read_at(NULL, dso, path, ret);
}
