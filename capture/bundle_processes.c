/* bundle_processes.c - a line for each process that was sampled. */
#include "capture/bundle_processes.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "capture/sysfile.h"

enum {
	PROCESSES_MAX = 1 << 16,
	SEEN_MAX = 4 * PROCESSES_MAX, /* so many are told of */
	LINES_BYTES_MAX = 8 << 20,
	STATUS_BYTES = 8192,
	ARGUMENTS_BYTES = 4096,
	CONTAINER_ID_BYTES = 64,
	READ = 1 << 30, /* and no index */
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

static bool exists(uint32_t pid)
{
	char name[32];

	snprintf(name, sizeof name, "/proc/%" PRIu32, pid);
	return !access(name, F_OK);
}

/* FORK records are read before samples that were taken earlier. */
static bool is_of_one_before(const struct processes *p, uint32_t pid, uint64_t time_ns)
{
	const uint32_t i = hash_get(&p->seen, pid);

	return i != HASH_NONE && i != READ && time_ns < p->reborn.v[i];
}

/* Adds its number, with when it began if it is not the first with that. False: it has no line. */
static bool begin_line(struct processes *p, uint32_t pid)
{
	const uint32_t before = hash_get(&p->seen, pid);

	if (before == READ)
		return false;
	if (p->n_lines >= PROCESSES_MAX || p->lines.n > LINES_BYTES_MAX) {
		if (before != HASH_NONE || p->seen.n < SEEN_MAX)
			p->left_out += !hash_put(&p->seen, pid, READ);
		return false;
	}
	if (hash_put(&p->seen, pid, READ) || (before == HASH_NONE && !exists(pid)))
		return false;
	p->n_lines++;
	text_dec(&p->lines, pid, 0);
	if (before != HASH_NONE) {
		text_char(&p->lines, '@');
		text_dec(&p->lines, p->reborn.v[before], 0);
	}
	text_char(&p->lines, '\t');
	return true;
}

void processes_note_record(struct processes *p, const uint8_t *rec, size_t n)
{
	struct buf b = buf_make(rec, n, 0, false);
	struct perf_event_header h;
	uint32_t pid, parent;
	uint64_t time_ns;

	memcpy(&h, rec, sizeof h);
	if (!p->on || h.type != PERF_RECORD_FORK || n < sizeof h + 24)
		return;
	buf_skip(&b, sizeof h);
	pid = buf_u32(&b);
	parent = buf_u32(&b);
	buf_skip(&b, 8);
	time_ns = buf_u64(&b);
	if (pid == parent || hash_get(&p->seen, pid) == HASH_NONE)
		return;
	p->last = 0;
	if (p->reborn.n >= PROCESSES_MAX || vec_push(&p->reborn, time_ns))
		p->left_out++;
	else
		(void)hash_put(&p->seen, pid, (uint32_t)p->reborn.n - 1);
}

void processes_read(struct processes *p, uint32_t pid, uint64_t time_ns)
{
	char groups[STATUS_BYTES], name[64], exe[PATH_MAX];
	const char *group;
	ssize_t n;

	if (is_of_one_before(p, pid, time_ns))
		return;
	p->last = pid;
	if (!begin_line(p, pid))
		return;
	group = read_of(pid, "cgroup", groups, sizeof groups) > 0 ? cgroup_of(groups) : "";
	snprintf(name, sizeof name, "/proc/%" PRIu32 "/exe", pid);
	n = readlink(name, exe, sizeof exe);
	text_dec(&p->lines, process_inner_pid(pid), 0);
	text_char(&p->lines, '\t');
	add(&p->lines, group, strlen(group));
	add(&p->lines, exe, n > 0 ? (size_t)n : 0);
	if (p->with_arguments)
		add_arguments(&p->lines, pid);
	text_char(&p->lines, '\n');
}

void processes_begin_part(struct processes *p)
{
	const bool on = p->on, with_arguments = p->with_arguments;

	processes_done(p);
	p->on = on;
	p->with_arguments = with_arguments;
}

void processes_done(struct processes *p)
{
	hash_done(&p->seen);
	vec_done(&p->reborn);
	text_done(&p->lines);
	*p = (struct processes){0};
}
