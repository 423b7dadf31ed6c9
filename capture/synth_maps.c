/* synth_maps.c - MMAP2 records for the executable maps of a running process. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rooted.h"
#include "capture/synth.h"
#include "capture/sysfile.h"

/* include/uapi/linux/fs.h since 6.11: struct procmap_query, an ioctl of /proc/PID/maps. Declared
 * here because installed headers may be older than the running kernel. */
struct map_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};

enum {
	QUERY_READABLE = 1,
	QUERY_WRITABLE = 2,
	QUERY_EXECUTABLE = 4,
	QUERY_SHARED = 8,
	QUERY_COVERING_OR_NEXT = 16,
	QUERY_FILE_BACKED = 32,
};

#define QUERY_IOCTL _IOWR('f', 17, struct map_query)

/* The kernel's own name for executable memory without a file (perf_event_mmap_event). */
static const char anon_name[] = "//anon";

#define MAPS_BYTES_MAX ((size_t)64 << 20)

/* Code, and on request other maps of files that are not writable. Sets misc. */
static bool is_wanted(const struct synth *s, struct synth_map *m)
{
	m->misc = PERF_RECORD_MISC_USER;
	if (m->prot & PROT_EXEC)
		return true;
	m->misc |= PERF_RECORD_MISC_MMAP_DATA;
	if (s->all_data)
		return true;
	return s->with_data && m->prot == PROT_READ && m->path[0] == '/' && m->path[1] != '/';
}

/* Opens the file that is mapped, even if it was deleted or is in another mount namespace. If
 * map_files may not be opened: by its path below the process's root. */
static int open_mapped(struct synth *s, const struct synth_map *m)
{
	char path[4096 + 64];
	int fd;

	snprintf(path, sizeof path, "%s/%d/map_files/%" PRIx64 "-%" PRIx64, s->proc, (int)m->pid,
		 m->start, m->end);
	fd = rooted_open(NULL, path, true);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "%s/%d/root%s", s->proc, (int)m->pid, m->path);
	return rooted_open(NULL, path, true);
}

static struct build_id mapped_buildid(struct synth *s, const struct synth_map *m)
{
	uint64_t key = hash_mix((uint64_t)m->maj << 32 | m->min, m->ino);
	uint32_t known = hash_get(&s->files, key);
	struct build_id id = {0};
	int fd;

	if (known != HASH_NONE)
		return s->ids.v[known];
	fd = open_mapped(s, m);
	if (fd >= 0) {
		id = buildid_from_fd(fd);
		close(fd);
	}
	/* If memory is short, the id is read again the next time. */
	if (!vec_push(&s->ids, id) && hash_put(&s->files, key, (uint32_t)(s->ids.n - 1)))
		s->ids.n--;
	return id;
}

/* One way to list the maps: which ones the kernel returns, and whether to ask for build ids. */
struct map_pass {
	uint64_t flags;
	bool skip_exec, with_id;
};

/* Returns 1 to go on, 0 if there are no more maps, 2 if emit() stopped, or a negative errno. */
static int query_next(struct synth *s, int fd, const struct map_pass *pass, struct synth_map *m)
{
	char name[4096];
	struct map_query q = {
		.size = sizeof q,
		.query_flags = QUERY_COVERING_OR_NEXT | pass->flags,
		.query_addr = m->end,
		.vma_name_size = sizeof name,
		.build_id_size = pass->with_id ? sizeof m->id.bytes : 0,
		.vma_name_addr = (uintptr_t)name,
		.build_id_addr = pass->with_id ? (uintptr_t)m->id.bytes : 0,
	};

	name[0] = 0;
	if (ioctl(fd, QUERY_IOCTL, &q))
		return errno == ENOENT ? 0 : -errno;
	if (q.vma_end <= m->end)
		return 0;
	m->start = q.vma_start;
	m->end = q.vma_end;
	m->pgoff = q.vma_offset;
	m->prot = (q.vma_flags & QUERY_READABLE ? PROT_READ : 0) |
		  (q.vma_flags & QUERY_WRITABLE ? PROT_WRITE : 0) |
		  (q.vma_flags & QUERY_EXECUTABLE ? PROT_EXEC : 0);
	m->flags = q.vma_flags & QUERY_SHARED ? MAP_SHARED : MAP_PRIVATE;
	m->maj = q.dev_major;
	m->min = q.dev_minor;
	m->ino = q.inode;
	m->id.size = q.build_id_size <= BUILD_ID_MAX ? (uint8_t)q.build_id_size : 0;
	m->path = q.vma_name_size > 1 && name[0] ? name : anon_name;
	if ((pass->skip_exec && m->prot & PROT_EXEC) || !is_wanted(s, m))
		return 1;
	/* The kernel reads PT_NOTE only. */
	if (!m->id.size && pass->with_id && m->path[0] == '/' && m->ino)
		m->id = mapped_buildid(s, m);
	return synth_map_emit(s, m) ? 2 : 1;
}

/* Returns true if the kernel has the ioctl; *ret is then the result of synth_maps(). */
static bool maps_by_query(struct synth *s, int fd, pid_t pid, int *ret)
{
	const struct map_pass passes[] = {
		{QUERY_EXECUTABLE, false, true},
		{s->all_data ? 0 : QUERY_READABLE | QUERY_FILE_BACKED, true, false},
	};
	size_t n = s->with_data || s->all_data ? 2 : 1;
	int rc = 0;

	for (size_t i = 0; i < n && rc != 2; i++) {
		struct synth_map m = {.pid = pid, .tid = pid};

		do
			rc = query_next(s, fd, &passes[i], &m);
		while (rc == 1);
		if (rc == -ENOTTY || rc == -EINVAL) {
			s->no_query = true;
			return false;
		}
	}
	*ret = rc == 2;
	return true;
}

/* ---- older kernels: the text of /proc/PID/maps ---------------------------------------------- */

/* proc(5): "start-end perms offset maj:min inode   path". The path may be missing. */
static bool parse_line(const char *line, struct synth_map *m)
{
	char perms[5] = "";
	int name_at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4c %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start,
		   &m->end, perms, &m->pgoff, &m->maj, &m->min, &m->ino, &name_at) < 7)
		return false;
	m->prot = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
		  (perms[2] == 'x' ? PROT_EXEC : 0);
	m->flags = perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	m->path = name_at && line[name_at] ? line + name_at : anon_name;
	return m->end > m->start;
}

static int maps_by_text(struct synth *s, pid_t pid)
{
	char path[128], *text, *line, *next;
	int rc = 0;

	snprintf(path, sizeof path, "%s/%d/maps", s->proc, (int)pid);
	text = sysfile_read_all(path, MAPS_BYTES_MAX, NULL);
	for (line = text; line && *line && !rc; line = next) {
		struct synth_map m = {.pid = pid, .tid = pid};
		char *end = strchr(line, '\n');

		next = end ? end + 1 : NULL;
		if (end)
			*end = 0;
		if (!parse_line(line, &m) || !is_wanted(s, &m))
			continue;
		if (m.prot & PROT_EXEC && m.path[0] == '/' && m.ino)
			m.id = mapped_buildid(s, &m);
		rc = synth_map_emit(s, &m);
	}
	free(text);
	return rc;
}

int synth_maps(struct synth *s, pid_t pid)
{
	char path[128];
	int fd, rc = 0;
	bool done;

	if (s->no_query)
		return maps_by_text(s, pid);
	snprintf(path, sizeof path, "%s/%d/maps", s->proc, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	done = maps_by_query(s, fd, pid, &rc);
	close(fd);
	return done ? rc : maps_by_text(s, pid);
}
