/* bundle_processes.c - a line for each process that was sampled. */
#include "capture/bundle_processes.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/sysfile.h"

enum {
	PROCESSES_MAX = 1 << 16,
	LINES_BYTES_MAX = 8 << 20,
	STATUS_BYTES = 8192,
	ARGUMENTS_BYTES = 4096,
	CONTAINER_ID_BYTES = 64,
};

static ssize_t read_of(uint32_t pid, const char *what, char *buf, size_t size)
{
	char name[64];
	ssize_t n;

	snprintf(name, sizeof name, "/proc/%" PRIu32 "/%s", pid, what);
	n = sysfile_read(name, buf, size);
	if (n <= 0)
		*buf = 0;
	return n;
}

uint32_t process_inner_pid(uint32_t pid)
{
	char status[STATUS_BYTES], *line, *end;

	read_of(pid, "status", status, sizeof status);
	line = strstr(status, "\nNSpid:");
	end = line ? strchr(line + 1, '\n') : NULL;
	if (!end)
		return pid;
	*end = 0;
	line = strrchr(line, '\t');
	return line ? (uint32_t)strtoul(line, NULL, 10) : pid;
}

/* Has it a container's id, of 64 digits? */
static bool is_of_container(const char *path)
{
	for (; *path; path++) {
		const size_t n = strspn(path, "0123456789abcdef");

		if (n == CONTAINER_ID_BYTES)
			return true;
		path += n - (n > 0);
	}
	return false;
}

/* How well a line of /proc/PID/cgroup says where a process is, as people name it; 0: not at all. */
static int rank_of(const char *controllers, const char *path)
{
	if (!strcmp(path, "/"))
		return 0;
	if (is_of_container(path))
		return 4;
	if (controllers[0] == ':') /* v2: of systemd, and of what runs without v1 */
		return 3;
	return str_starts_with(controllers, "name=systemd:") ? 2 : 1;
}

/* Lines "HIERARCHY:CONTROLLERS:PATH" (cgroups(7)). With v1 a process has a path in each hierarchy.
 * Of equal ones the longest. */
static const char *cgroup_of(char *text)
{
	const char *found = "";
	char *line, *save;
	int best = -1;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *controllers = strchr(line, ':');
		const char *path = controllers ? strchr(++controllers, ':') : NULL;
		int rank = path ? rank_of(controllers, ++path) : -1;

		if (rank > best || (rank == best && path && strlen(path) > strlen(found))) {
			best = rank;
			found = path ? path : "";
		}
	}
	return found;
}

static void add(struct text *t, const char *s, size_t n)
{
	text_clean(t, s, n);
	text_char(t, '\t');
}

/* Arguments end in NULs. */
static void add_arguments(struct text *t, uint32_t pid)
{
	char args[ARGUMENTS_BYTES];
	ssize_t n = read_of(pid, "cmdline", args, sizeof args), i;

	for (i = 0; i < n; i++)
		if (!args[i])
			args[i] = ' ';
	while (n > 0 && args[n - 1] == ' ')
		n--;
	text_clean(t, args, n > 0 ? (size_t)n : 0);
}

void processes_read(struct processes *p, uint32_t pid)
{
	char groups[STATUS_BYTES], name[64], exe[PATH_MAX];
	const char *group;
	ssize_t n;

	p->last = pid;
	if (hash_get(&p->seen, pid) != HASH_NONE || p->seen.n >= PROCESSES_MAX ||
	    p->lines.n > LINES_BYTES_MAX || hash_put(&p->seen, pid, 0))
		return;
	if (read_of(pid, "cgroup", groups, sizeof groups) <= 0)
		return;
	group = cgroup_of(groups);
	snprintf(name, sizeof name, "/proc/%" PRIu32 "/exe", pid);
	n = readlink(name, exe, sizeof exe);
	text_dec(&p->lines, pid, 0);
	text_char(&p->lines, '\t');
	text_dec(&p->lines, process_inner_pid(pid), 0);
	text_char(&p->lines, '\t');
	add(&p->lines, group, strlen(group));
	add(&p->lines, exe, n > 0 ? (size_t)n : 0);
	if (p->with_arguments)
		add_arguments(&p->lines, pid);
	text_char(&p->lines, '\n');
}

void processes_done(struct processes *p)
{
	hash_done(&p->seen);
	text_done(&p->lines);
	*p = (struct processes){0};
}
