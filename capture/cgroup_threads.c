/* cgroup_threads.c - which threads a cgroup has: those of the cgroups below it, too, as the kernel
 * records them (perf_cgroup_match() of kernel/events/core.c). */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "capture/targets.h"

/* Deeper ones are not looked at; the kernel's own bound is cgroup.max.depth. */
enum { DEPTH_MAX = 32 };

static int read_file(int dir, const char *name, struct tid_list *ret, struct err *err)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC), rc = 0, tid;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	/* 0: it is of another pid namespace. */
	while (rc >= 0 && fscanf(f, "%d", &tid) == 1)
		if (tid > 0)
			rc = tid_list_add(ret, (pid_t)tid, err);
	fclose(f);
	return rc < 0 ? rc : 0;
}

/* Takes dir. One that is gone meanwhile has no threads. */
static int read_folder(int dir, int depth, struct tid_list *ret, struct err *err)
{
	DIR *d = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *e;
	int rc;

	if (!d) {
		if (dir >= 0)
			close(dir);
		return 0;
	}
	rc = read_file(dir, "cgroup.threads", ret, err); /* v2 */
	if (!rc)
		rc = read_file(dir, "tasks", ret, err); /* v1 */
	while (!rc && depth < DEPTH_MAX && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		rc = read_folder(openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				 depth + 1, ret, err);
	}
	closedir(d);
	return rc;
}

int cgroup_threads(int cgroup_fd, struct tid_list *ret, struct err *err)
{
	return read_folder(openat(cgroup_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0, ret, err);
}
