/* file_ids.c - reads the build ids that the kernel did not report. */
#include "capture/file_ids.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/rooted.h"
#include "capture/mmap2.h"
#include "reader/format.h"

/* Limit on files: a recording of all processes may see any number. */
#define FILES_MAX 4096

static int64_t time_ns(const struct timespec *t)
{
	return t->tv_sec * (int64_t)1000000000 + t->tv_nsec;
}

/* Returns the path, or NULL if it is not code of a file, or has a build id. */
static const char *parse(const uint8_t *rec, size_t n, struct mapped_file *ret)
{
	struct mmap2 m;

	if (!mmap2_parse(rec, n, &m) || mmap2_is_data(&m) || m.has_build_id ||
	    (m.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER ||
	    !(m.prot & PROT_EXEC) || !m.ino || m.path[0] != '/' || m.path[1] == '/')
		return NULL;
	*ret = (struct mapped_file){.pid = m.pid, .maj = m.maj, .min = m.min, .ino = m.ino};
	return m.path;
}

static int add(struct file_ids *f, struct mapped_file *m, const char *path, uint64_t key,
	       uint64_t path_key)
{
	const uint32_t i = (uint32_t)f->files.n, first = hash_get(&f->known, path_key);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	m->seen_ns = time_ns(&now);
	m->path = strdup(path);
	if (!m->path || vec_push(&f->files, *m)) {
		free(m->path);
		return -1;
	}
	if (vec_push(&f->paths, first == HASH_NONE ? i : first) || hash_put(&f->known, key, i))
		return -1;
	return first == HASH_NONE ? hash_put(&f->known, path_key, i) : 0;
}

int file_ids_note(struct file_ids *f, const uint8_t *rec, size_t n)
{
	struct mapped_file m;
	uint64_t path_key, key;
	const char *path = f->files.n < FILES_MAX ? parse(rec, n, &m) : NULL;

	if (!path)
		return 0;
	path_key = hash_bytes_seeded(hash_secret(), path, strlen(path));
	key = hash_mix(hash_mix(path_key, (uint64_t)m.maj << 32 | m.min), m.ino);
	return hash_get(&f->known, key) == HASH_NONE ? add(f, &m, path, key, path_key) : 0;
}

/* Is the open file the one that was mapped, and not modified since? On layered file systems, and
 * with subvolumes, stat() shows another device than the map has. */
static bool is_same(int fd, const struct mapped_file *m)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == m->ino && time_ns(&st.st_ctim) <= m->seen_ns &&
	       (!major(st.st_dev) || (major(st.st_dev) == m->maj && minor(st.st_dev) == m->min));
}

static bool read_at(const char *path, struct mapped_file *m)
{
	const int fd = rooted_open(NULL, path, true);
	bool same;

	if (fd < 0)
		return false;
	same = is_same(fd, m);
	if (same)
		m->id = buildid_from_fd(fd);
	close(fd);
	return same;
}

/* Reads the file as the process sees it while that lives, else the file at its path. */
static void read_id(struct mapped_file *m)
{
	char path[4096 + 64];

	snprintf(path, sizeof path, "/proc/%u/root%s", m->pid, m->path);
	if (!read_at(path, m))
		(void)read_at(m->path, m);
}

/* perf.data-file-format.txt, HEADER_BUILD_ID: header, pid, id[24] with its size in byte 20, path
 * padded to a multiple of 64. */
static void put_entry(const struct mapped_file *m, struct bytes *out)
{
	const size_t n = strlen(m->path) + 1, padded = (n + 63) & ~(size_t)63;
	struct perf_event_header h = {.misc = PERF_RECORD_MISC_USER | MISC_BUILD_ID_SIZE,
				      .size = (uint16_t)(sizeof h + 4 + 24 + padded)};

	bytes_put(out, &h, sizeof h);
	bytes_u32(out, UINT32_MAX); /* the host */
	bytes_put(out, m->id.bytes, BUILD_ID_MAX);
	bytes_u32(out, m->id.size);
	bytes_put(out, m->path, n);
	bytes_zeros(out, padded - n);
}

void file_ids_section(struct file_ids *f, struct bytes *out)
{
	bool *lacks = calloc(f->files.n + 1, sizeof *lacks);
	size_t i;

	for (i = 0; lacks && i < f->files.n; i++) {
		read_id(&f->files.v[i]);
		lacks[f->paths.v[i]] |= !f->files.v[i].id.size;
	}
	for (i = 0; lacks && i < f->files.n; i++)
		if (!lacks[f->paths.v[i]])
			put_entry(&f->files.v[i], out);
	free(lacks);
}

void file_ids_done(struct file_ids *f)
{
	for (size_t i = 0; i < f->files.n; i++)
		free(f->files.v[i].path);
	vec_done(&f->files);
	vec_done(&f->paths);
	hash_done(&f->known);
}
