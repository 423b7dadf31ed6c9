/* open_files.c - /proc/PID/fd, see proc(5): links to paths, "pipe:[123]", "socket:[4]" .. */
#include "capture/open_files.h"

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t key_of(pid_t pid, int fd)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)fd;
}

static void add(struct open_files *f, pid_t pid, int folder, const char *name)
{
	char path[PATH_MAX];
	const ssize_t n = readlinkat(folder, name, path, sizeof path);
	const size_t at = f->paths.n;

	if (n <= 0 || at > UINT32_MAX - PATH_MAX - 1)
		return;
	text_add(&f->paths, path, (size_t)n);
	text_char(&f->paths, 0);
	if (!f->paths.failed)
		(void)hash_put(&f->at, key_of(pid, atoi(name)), (uint32_t)at);
}

void open_files_read(struct open_files *f, pid_t pid)
{
	char name[64];
	const struct dirent *e;
	DIR *d;

	snprintf(name, sizeof name, "/proc/%d/fd", (int)pid);
	d = opendir(name);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			add(f, pid, dirfd(d), e->d_name);
	if (d)
		closedir(d);
}

const char *open_files_take(struct open_files *f, pid_t pid, int fd)
{
	const uint32_t at = f->at.n ? hash_get(&f->at, key_of(pid, fd)) : HASH_NONE;

	if (at == HASH_NONE || f->paths.failed)
		return NULL;
	hash_remove(&f->at, key_of(pid, fd));
	return f->paths.s + at;
}

void open_files_done(struct open_files *f)
{
	hash_done(&f->at);
	text_done(&f->paths);
}
