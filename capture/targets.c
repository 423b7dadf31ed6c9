/* targets.c - CPU lists, threads of processes, cgroups. */
#include "base/text.h"
#include "capture/targets.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/sysfile.h"

#define CHILDREN_BYTES_MAX ((size_t)1 << 20)
/* PF_KTHREAD of include/linux/sched.h. */
#define KERNEL_THREAD 0x00200000u

/* ---- CPUs -------------------------------------------------------------------------------- */

static int compare_int(const void *a, const void *b)
{
	int x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

static int parse_number(const char **p, long *ret)
{
	char *end;

	if (**p < '0' || **p > '9')
		return -1;
	errno = 0;
	*ret = strtol(*p, &end, 10);
	if (errno || *ret >= TARGETS_CPU_MAX)
		return -1;
	*p = end;
	return 0;
}

static int parse_ranges(struct cpu_list *l, const char *text, const char *what, struct err *err)
{
	const char *p = text;

	for (;;) {
		long from, to;

		if (parse_number(&p, &from))
			break;
		to = from;
		if (*p == '-') {
			p++;
			if (parse_number(&p, &to) || to < from)
				break;
		}
		/* Repeated CPUs cannot make the list longer than this. */
		if (l->cpus.n + (size_t)(to - from) > TARGETS_CPU_MAX)
			break;
		for (; from <= to; from++)
			if (vec_push(&l->cpus, (int)from))
				return err_nomem(err);
		if (!*p)
			return 0;
		if (*p++ != ',')
			break;
	}
	return err_set(err, ERR_USAGE, NULL, "%s '%s' is not a list of CPUs like 0,2-3", what,
		       text);
}

int cpu_list_parse(struct cpu_list *ret, const char *text, const char *what, struct err *err)
{
	struct cpu_list l = {0};
	int rc = parse_ranges(&l, text, what, err);
	size_t n = 0;

	if (rc) {
		cpu_list_done(&l);
		return rc;
	}
	qsort(l.cpus.v, l.cpus.n, sizeof *l.cpus.v, compare_int);
	for (size_t i = 0; i < l.cpus.n; i++)
		if (!n || l.cpus.v[n - 1] != l.cpus.v[i])
			l.cpus.v[n++] = l.cpus.v[i];
	l.cpus.n = n;
	*ret = l;
	return 0;
}

bool cpu_of_stat_line(const char *line, int *cpu)
{
	/* The first line is the sum, "cpu  25334 0 ..": its time is no CPU. */
	return !strncmp(line, "cpu", 3) && isdigit((unsigned char)line[3]) &&
	       sscanf(line + 3, "%d ", cpu) == 1 && *cpu < TARGETS_CPU_MAX;
}

/* For chroots without /sys: /proc/stat has a line for each CPU. */
static int cpu_list_of_stat(struct cpu_list *ret, struct err *err)
{
	struct cpu_list l = {0};
	FILE *f = fopen("/proc/stat", "re");
	char line[4096];
	int cpu, rc = 0;

	if (!f)
		return err_errno(err, errno, "/proc/stat", "open");
	while (!rc && fgets(line, sizeof line, f))
		if (cpu_of_stat_line(line, &cpu))
			rc = vec_push(&l.cpus, cpu);
	fclose(f);
	if (rc) {
		cpu_list_done(&l);
		return err_nomem(err);
	}
	*ret = l;
	return 0;
}

int cpu_list_online(struct cpu_list *ret, struct err *err)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	char text[4096];

	if (sysfile_line(path, text, sizeof text))
		return cpu_list_of_stat(ret, err);
	return cpu_list_parse(ret, text, path, err);
}

void cpu_list_done(struct cpu_list *l)
{
	vec_done(&l->cpus);
}

/* ---- threads ----------------------------------------------------------------------------- */

int tid_list_add(struct tid_list *l, pid_t tid, struct err *err)
{
	if (hash_get(&l->seen, (uint64_t)tid) != HASH_NONE)
		return 0;
	if (hash_put(&l->seen, (uint64_t)tid, 0) || vec_push(&l->tids, tid))
		return err_nomem(err);
	return 1;
}

int tid_list_scan(struct tid_list *l, pid_t pid, struct err *err)
{
	struct dirent *d;
	char path[64];
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir && errno != ENOENT && errno != ESRCH)
		return err_errno(err, errno, path, "read");
	if (!dir)
		return 0; /* the process is gone */
	while (n >= 0 && (d = readdir(dir))) {
		pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);
		int rc = tid > 0 ? tid_list_add(l, tid, err) : 0;

		n = rc < 0 ? rc : n + rc;
	}
	closedir(dir);
	return n;
}

/* Whether there is something in this file of /proc/PID, for this process. */
static bool has_bytes(pid_t pid, const char *name)
{
	char path[64], byte;
	bool has;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	f = fopen(path, "re");
	has = f && fread(&byte, 1, 1, f) == 1;
	if (f)
		fclose(f);
	return has;
}

static bool has_maps(pid_t pid)
{
	return has_bytes(pid, "maps");
}

/* Field 9 of proc(5), /proc/PID/stat. */
static bool is_kernel_thread(pid_t pid)
{
	char path[64], text[1024], *at;
	unsigned flags;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	return sysfile_read(path, text, sizeof text) > 0 && (at = strrchr(text, ')')) &&
	       sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & KERNEL_THREAD && has_bytes(pid, "stack");
}

static int add_of_proc(struct tid_list *l, bool (*wanted)(pid_t pid), struct err *err)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int rc = 0;

	while (proc && rc >= 0 && (d = readdir(proc))) {
		pid_t pid = (pid_t)atoi(d->d_name);

		if (pid > 0 && pid != getpid() && hash_get(&l->seen, (uint64_t)pid) == HASH_NONE &&
		    wanted(pid))
			rc = tid_list_add(l, pid, err);
	}
	if (proc)
		closedir(proc);
	return rc < 0 ? rc : 0;
}

int tid_list_all(struct tid_list *l, struct err *err)
{
	return add_of_proc(l, has_maps, err);
}

int tid_list_kernel(struct tid_list *l, struct err *err)
{
	return add_of_proc(l, is_kernel_thread, err);
}

/* proc(5): /proc/PID/task/TID/children, numbers with blanks behind them. */
static int add_children_of(struct tid_list *l, pid_t pid, pid_t tid, struct err *err)
{
	char path[64], *text, *at, *end;
	int rc = 0;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)tid);
	text = sysfile_read_all(path, CHILDREN_BYTES_MAX, NULL);
	for (at = text; at && *at && rc >= 0; at = end) {
		pid_t child = (pid_t)strtol(at, &end, 10);

		if (end == at)
			break;
		if (child > 0 && child != getpid())
			rc = tid_list_add(l, child, err);
	}
	free(text);
	return rc < 0 ? rc : 0;
}

int tid_list_children(struct tid_list *l, pid_t pid, struct err *err)
{
	struct tid_list tids = {0};
	int rc = tid_list_scan(&tids, pid, err);

	for (size_t i = 0; i < tids.tids.n && rc >= 0; i++)
		rc = add_children_of(l, pid, tids.tids.v[i], err);
	tid_list_done(&tids);
	return rc < 0 ? rc : 0;
}

int tid_list_skip_children(struct tid_list *l, pid_t pid, struct err *err)
{
	struct tid_list now = {0};
	int rc = tid_list_children(&now, pid, err);

	for (size_t i = 0; i < now.tids.n && !rc; i++)
		if (hash_put(&l->seen, (uint64_t)now.tids.v[i], 0))
			rc = err_nomem(err);
	tid_list_done(&now);
	return rc;
}

void tid_list_done(struct tid_list *l)
{
	vec_done(&l->tids);
	hash_done(&l->seen);
}

pid_t tid_process(pid_t tid)
{
	char path[64], text[4096], *line;

	snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	if (sysfile_read(path, text, sizeof text) < 0)
		return 0;
	line = strstr(text, "\nTgid:");
	return line ? (pid_t)strtol(line + sizeof "\nTgid:" - 1, NULL, 10) : 0;
}

/* ---- cgroups ----------------------------------------------------------------------------- */

/* That of v1's perf_event controller if it is mounted. */
bool cgroup_mount(char *ret, size_t size)
{
	FILE *f = setmntent("/proc/mounts", "re");
	struct mntent m;
	char text[4096];
	bool found = false;

	if (!f)
		return false;
	while (getmntent_r(f, &m, text, sizeof text)) {
		bool v1 = !strcmp(m.mnt_type, "cgroup") && hasmntopt(&m, "perf_event");

		if (!v1 && (found || strcmp(m.mnt_type, "cgroup2")))
			continue;
		snprintf(ret, size, "%s", m.mnt_dir);
		found = true;
		if (v1)
			break;
	}
	endmntent(f);
	return found;
}

/* perf_event.h: PERF_SAMPLE_CGROUP is the id in the handle of its folder (open_by_handle_at(2)). */
uint64_t cgroup_id(const char *folder)
{
	struct {
		struct file_handle head;
		uint64_t id;
	} h = {.head.handle_bytes = sizeof h.id};
	int mount;

	if (name_to_handle_at(AT_FDCWD, folder, &h.head, &mount, 0))
		return 0;
	return h.id;
}

/* proc(5): lines "NUMBER:CONTROLLERS:PATH"; that of v2 has neither number nor controllers. */
uint64_t cgroup_of(pid_t pid)
{
	char path[64], text[8192], mount[4096], folder[PATH_MAX + 4096], *line, *state,
		*found = NULL;

	snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
	if (sysfile_read(path, text, sizeof text) <= 0 || !cgroup_mount(mount, sizeof mount))
		return 0;
	for (line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		char *controllers = strchr(line, ':');
		char *at = controllers ? strchr(controllers + 1, ':') : NULL;
		const bool is_v1 = at && strstr(controllers, "perf_event");

		if (at && (is_v1 || (!found && at == controllers + 1)))
			found = at + 1;
		if (is_v1)
			break;
	}
	if (!found)
		return 0;
	snprintf(folder, sizeof folder, "%s%s", mount, found);
	return cgroup_id(folder);
}

/* perf_event_open(2) fails with ENOENT or EBADF for folders of other hierarchies. */
static bool is_below(int fd, const char *mount)
{
	struct stat st, top;

	return !fstat(fd, &st) && !stat(mount, &top) && st.st_dev == top.st_dev;
}

static int open_by_id(const char *mount, const char *id, struct err *err)
{
	char *path;
	int fd, rc = cgroup_find(mount, id, &path, err);

	if (rc)
		return rc;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = err_errno(err, errno, path, "open the cgroup");
	free(path);
	return fd;
}

int cgroup_open(const char *path, struct err *err)
{
	char full[8192], mount[4096];
	int fd, inner;

	/* An empty path may be the output of a command that failed; as the root it would mean all
	 * processes. */
	if (!*path)
		return err_set(err, ERR_USAGE, NULL, "--cgroup: the path is empty");
	if (!cgroup_mount(mount, sizeof mount))
		return err_set(err, ERR_NOT_FOUND, path,
			       "no cgroup hierarchy that perf events follow is mounted");
	fd = path[0] == '/' ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0 && is_below(fd, mount))
		return fd;
	if (fd < 0 && (str_starts_with(path, mount) || str_starts_with(path, "/sys/fs/cgroup")))
		return err_errno(err, errno, path, "open the cgroup");
	if (fd >= 0)
		close(fd);
	snprintf(full, sizeof full, "%s/%s", mount, path + strspn(path, "/"));
	inner = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (inner >= 0)
		return inner;
	if (cgroup_is_id(path))
		return open_by_id(mount, path, err);
	if (fd >= 0)
		return err_set(err, ERR_NOT_FOUND, path,
			       "is not of the hierarchy that perf events follow, which is %s: give "
			       "the cgroup's folder there",
			       mount);
	return err_errno(err, errno, full, "open the cgroup");
}
