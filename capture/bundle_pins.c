/* bundle_pins.c - opens each mapped file once, as far as descriptors allow. */
#include "capture/bundle_pins.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/process_start.h"
#include "base/rooted.h"
#include "capture/bundle_processes.h"
#include "capture/mmap2.h"

enum {
	/* Descriptors that others need at the end of the recording. */
	KEPT_FREE = 64,
	PINS_MAX = 4096,
	FILE_BYTES_MAX = 256 << 20,
	CHUNK = 64 << 10,
	/* perf_event.h, PERF_RECORD_MMAP2: where the build id is, with its size. */
	ID_AT = 40,
};

void pins_begin(struct pins *p)
{
	struct rlimit limit;

	p->on = true;
	p->room = 0;
	/* The clock by which files are stamped. */
	clock_gettime(CLOCK_REALTIME_COARSE, &p->begun);
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur > 4 * KEPT_FREE)
		p->room = limit.rlim_cur / 2 < PINS_MAX ? limit.rlim_cur / 2 : PINS_MAX;
	pins_begin_leaving(p);
}

/* What a file is known by. An inode is used again when its file is gone: its generation tells,
 * where the file system has one and the record is the kernel's own. */
struct file_key {
	uint64_t exact, inode; /* without a generation: equal */
	uint64_t generation;
	/* `exact` is of build id and path: a stripped copy has the build id, too, and so may have
	 * another build. `inode` is of the id alone. */
	bool is_id;
};

static struct file_key key_of_id(const struct build_id *id, const char *path)
{
	const uint64_t h = hash_bytes(id->bytes, id->size);

	return (struct file_key){
		.exact = hash_mix(h, hash_bytes(path, strlen(path))), .inode = h, .is_id = true};
}

static struct file_key key_of_inode(uint32_t maj, uint32_t min, uint64_t ino, uint64_t generation)
{
	const uint64_t h = hash_mix((uint64_t)maj << 32 | min, ino);

	return (struct file_key){.exact = generation ? hash_mix(h, generation) : h,
				 .inode = h,
				 .generation = generation};
}

static struct file_key key_of(const struct mmap2 *m, const uint8_t *rec)
{
	struct build_id id = {0};

	if (!m->has_build_id)
		return key_of_inode(m->maj, m->min, m->ino, m->ino_generation);
	id.size = rec[ID_AT] <= BUILD_ID_MAX ? rec[ID_AT] : BUILD_ID_MAX;
	memcpy(id.bytes, rec + ID_AT + 4, id.size);
	return key_of_id(&id, m->path);
}

/* Without a generation, or if none was known yet: the last file that had the inode. */
static uint32_t find_pin(const struct pins *p, const struct file_key *k)
{
	uint32_t i = hash_get(&p->by_file, k->exact);

	if (i == HASH_NONE)
		i = hash_get(&p->by_file, k->inode);
	if (i != HASH_NONE && k->generation && p->files.v[i].generation &&
	    k->generation != p->files.v[i].generation)
		return HASH_NONE;
	return i;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_file(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

static bool ends_in_deleted(const char *path)
{
	const char mark[] = " (deleted)";
	const size_t n = strlen(path);

	return n >= sizeof mark && !strcmp(path + n - (sizeof mark - 1), mark);
}

static int open_mapped(const struct mmap2 *m)
{
	char name[PATH_MAX];
	int fd;

	snprintf(name, sizeof name, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, m->pid,
		 m->start, m->start + m->bytes);
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && !is_file(fd)) {
		close(fd);
		fd = -1;
	}
	/* That needs CAP_CHECKPOINT_RESTORE. Which file it is will be checked by its build id. */
	if (fd < 0 && m->has_build_id &&
	    snprintf(name, sizeof name, "/proc/%" PRIu32 "/root%s", m->pid, m->path) <
		    (int)sizeof name)
		fd = rooted_open(NULL, name, true);
	/* No path leads to what is in memory only, was deleted, or is too deep, but the process
	 * itself does. */
	if (fd < 0 && m->has_build_id && (ends_in_deleted(m->path) || mmap2_is_too_long(m))) {
		snprintf(name, sizeof name, "/proc/%" PRIu32 "/exe", m->pid);
		fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	return fd;
}

static bool is_as_pinned(const struct pinned_file *f, const struct stat *st)
{
	return st->st_size == f->size && st->st_mtim.tv_sec == f->written.tv_sec &&
	       st->st_mtim.tv_nsec == f->written.tv_nsec;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Another build that was copied over it has the same inode: without a build id nothing tells them
 * apart. Nor, without a generation, what was not opened from what has its inode now. */
static void note_change(struct pinned_file *f, const struct mmap2 *m)
{
	const bool is_exact = f->generation && f->generation == m->ino_generation;
	char name[PATH_MAX];
	struct stat st;

	snprintf(name, sizeof name, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, m->pid,
		 m->start, m->start + m->bytes);
	if (!f->was_opened && !is_exact)
		f->has_changed = true;
	else if (!stat(name, &st))
		f->has_changed |=
			f->was_opened ? !is_as_pinned(f, &st) : is_later(&st.st_ctim, &f->noted);
}

/* `fd` is open_mapped(). */
static void take_pin(struct pins *p, struct pinned_file *f, const struct mmap2 *m, int fd)
{
	struct stat st;

	f->fd = fd;
	if (f->fd < 0)
		return;
	f->was_opened = true;
	if (!fstat(f->fd, &st)) {
		f->written = st.st_mtim;
		f->size = st.st_size;
		f->dev = st.st_dev;
		f->ino = st.st_ino;
	}
	f->is_foreign = strncmp(m->path, "/memfd:", 7) && pins_is_foreign(p, f->fd);
	p->n_foreign += f->is_foreign;
	p->room--;
}

static int index_pin(struct pins *p, const struct file_key *k, uint32_t i)
{
	if (hash_put(&p->by_file, k->exact, i) || hash_put(&p->by_file, k->inode, i)) {
		p->room = 0;
		return -1;
	}
	return 0;
}

static void add_pin(struct pins *p, const struct mmap2 *m, const struct file_key *k, int fd)
{
	struct pinned_file f = {.pid = m->pid,
				.start = m->start,
				.end = m->start + m->bytes,
				.generation = k->generation,
				.has_other = hash_get(&p->by_file, k->inode) != HASH_NONE};

	clock_gettime(CLOCK_REALTIME, &f.noted);
	take_pin(p, &f, m, fd);
	/* What has a build id is known by it when another process maps it; of the others it is to
	 * be known that there was one. */
	if (f.fd < 0 && m->has_build_id)
		return;
	if (!vec_push(&p->files, f))
		(void)index_pin(p, k, (uint32_t)p->files.n - 1);
	else if (f.fd >= 0)
		close(f.fd);
}

/* The build id is known from another path. Returns true if the file is another one, which is now
 * kept as well. */
static bool pin_at_other_path(struct pins *p, const struct mmap2 *m, const struct file_key *k,
			      uint32_t i)
{
	const int fd = p->room ? open_mapped(m) : -1;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) &&
	    (st.st_ino != p->files.v[i].ino || st.st_dev != p->files.v[i].dev)) {
		add_pin(p, m, k, fd);
		return true;
	}
	if (fd >= 0)
		close(fd);
	if (hash_put(&p->by_file, k->exact, i))
		p->room = 0;
	return false;
}

static void pin_file(struct pins *p, const struct mmap2 *m, const uint8_t *rec)
{
	const struct file_key key = key_of(m, rec);
	const uint32_t i = find_pin(p, &key);
	struct pinned_file *f;

	if (i == HASH_NONE && !p->room) {
		p->left_out++;
		return;
	}
	if (i == HASH_NONE) {
		add_pin(p, m, &key, open_mapped(m));
		return;
	}
	if (key.is_id && hash_get(&p->by_file, key.exact) == HASH_NONE &&
	    pin_at_other_path(p, m, &key, i))
		return;
	f = &p->files.v[i];
	if (!m->has_build_id)
		note_change(f, m);
	if (!f->was_opened && p->room)
		take_pin(p, f, m, open_mapped(m));
	if (key.generation && !f->generation && !index_pin(p, &key, i))
		f->generation = key.generation;
	f->pid = m->pid;
	f->start = m->start;
	f->end = m->start + m->bytes;
}

static bool is_its_inode(const struct dso *dso, const struct stat *st)
{
	return st->st_ino == dso->ino && major(st->st_dev) == dso->maj &&
	       minor(st->st_dev) == dso->min;
}

/* May the file that is kept, or without that the one at the path, be another than was mapped? No
 * program can set a file's ctime: if it is older than the recording, the file has not changed. */
static bool is_doubtful(const struct pins *p, const struct pinned_file *f, const struct dso *dso)
{
	struct stat st;

	if (!dso->ino_generation && f->has_other)
		return true;
	if (f->fd >= 0) {
		if (fstat(f->fd, &st))
			return true;
		if (!f->is_copy && is_later(&p->begun, &st.st_ctim))
			return false;
		return f->has_changed || !is_as_pinned(f, &st);
	}
	if (stat(dso->path, &st) || !is_its_inode(dso, &st))
		return f->has_changed;
	if (is_later(&p->begun, &st.st_ctim))
		return false;
	return f->has_changed ||
	       (f->was_opened ? !is_as_pinned(f, &st) : is_later(&st.st_ctim, &f->noted));
}

int pins_find(void *pins, const struct dso *dso, bool *changed)
{
	const struct pins *p = pins;
	const struct file_key key =
		dso->ino ? key_of_inode(dso->maj, dso->min, dso->ino, dso->ino_generation)
			 : key_of_id(&dso->build_id, dso->path);
	const uint32_t i = find_pin(p, &key);

	*changed = i != HASH_NONE && dso->ino && is_doubtful(p, &p->files.v[i], dso);
	return i == HASH_NONE ? -1 : p->files.v[i].fd;
}

/* ---- processes ------------------------------------------------------------------------------- */

static int open_place(uint32_t pid, const char *what, int flags)
{
	char name[64];

	snprintf(name, sizeof name, "/proc/%" PRIu32 "/%s", pid, what);
	return open(name, flags | O_CLOEXEC);
}

/* Of a program that must not be dumped that is root. */
static void note_owner(struct pinned_root *r)
{
	char name[32];
	struct stat st;

	snprintf(name, sizeof name, "/proc/%" PRIu32, r->pid);
	r->has_owner = !stat(name, &st);
	r->owner = r->has_owner ? st.st_uid : 0;
}

static void pin_root(struct pins *p, uint32_t pid)
{
	struct pinned_root r = {.pid = pid};

	if (p->room < 2 || hash_get(&p->by_pid, pid) != HASH_NONE)
		return;
	r.root = open_place(pid, "root", O_PATH | O_DIRECTORY);
	/* Without it what is mounted there goes with the last process. */
	r.mounts = open_place(pid, "ns/mnt", O_RDONLY);
	note_owner(&r);
	r.inner = process_inner_pid(pid);
	r.began_ns = process_start_wall_ns(pid);
	r.began_ns -= r.began_ns > PROCESS_START_SLACK_NS ? PROCESS_START_SLACK_NS : 0;
	r.is_foreign = pins_is_foreign_root(p, &r);
	if (vec_push(&p->roots, r)) {
		close(r.root);
		close(r.mounts);
		return;
	}
	p->n_foreign += r.is_foreign;
	p->room -= 2;
	if (hash_put(&p->by_pid, pid, (uint32_t)p->roots.n - 1))
		p->room = 0;
}

static void *read_all(int fd, size_t *size)
{
	uint8_t *v = NULL, *more;
	size_t n = 0, cap = 0;
	ssize_t got = 1;

	while (got > 0 && n < FILE_BYTES_MAX) {
		if (cap - n < CHUNK) {
			cap = cap ? cap * 2 : CHUNK;
			more = realloc(v, cap);
			if (!more)
				break;
			v = more;
		}
		got = pread(fd, v + n, cap - n, (off_t)n);
		n += got > 0 ? (size_t)got : 0;
	}
	*size = n;
	return v;
}

/* Did the process's own user write it? Through a link another one could lead to any file of that
 * user's. */
static int open_own(const struct pinned_root *r, const char *root, const char *name)
{
	int fd = r && r->has_owner ? rooted_open(*root ? root : NULL, name, false) : -1;
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != r->owner)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Below the root of the process; of any owner there: it is the process's own machine. On this one,
 * only this user's, root's and that of the process's user. */
int pins_open_text(const struct pinned_root *r, const char *path)
{
	char root[64] = "", name[PATH_MAX];
	struct stat st;
	int fd;

	if (r && r->root >= 0)
		snprintf(root, sizeof root, "/proc/self/fd/%d", r->root);
	if (r && !path)
		snprintf(name, sizeof name, "%s/tmp/perf-%" PRIu32 ".map", root, r->inner);
	else
		snprintf(name, sizeof name, "%s%.4000s", root, path ? path : "");
	fd = open_own(r, root, name);
	if (fd >= 0)
		return fd;
	fd = rooted_open(*root ? root : NULL, name, true);
	if (fd >= 0 &&
	    (fstat(fd, &st) || (!rooted_is_trusted(&st) && !(r && r->inner != r->pid)))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void pins_read(void *pins, const struct dso *dso, uint32_t pid, struct cut_text *ret)
{
	struct pins *p = pins;
	uint32_t i = hash_get(&p->by_pid, pid);
	const struct pinned_root *r = i == HASH_NONE ? NULL : &p->roots.v[i];
	const bool is_map = r && dso->kind == DSO_ANON;
	int fd = pins_find_text(p, pid, is_map ? NULL : dso->path);
	struct stat st;

	if (fd < 0)
		fd = pins_open_text(r, is_map ? NULL : dso->path);
	else
		fd = dup(fd);
	if (fd < 0)
		return;
	ret->bytes = read_all(fd, &ret->size);
	ret->written_ns = fstat(fd, &st) ? 0 : rooted_written_ns(&st);
	ret->began_ns = r ? r->began_ns : 0;
	close(fd);
}

/* A jitdump of a process whose root is to be let go. */
static void pin_dump(struct pins *p, const struct mmap2 *m)
{
	const uint32_t i = hash_get(&p->by_pid, m->pid);
	struct pinned_text t = {.pid = m->pid, .fd = -1};

	if (i == HASH_NONE || !p->roots.v[i].is_foreign)
		return;
	t.path = strdup(m->path);
	if (!t.path || vec_push(&p->dumps, t))
		free(t.path);
}

/* ---- records --------------------------------------------------------------------------------- */

void pins_note(struct pins *p, const uint8_t *rec, size_t n)
{
	struct perf_event_header h;
	struct mmap2 m;

	if (!p->on || n < sizeof h)
		return;
	memcpy(&h, rec, sizeof h);
	p->looks |= h.type == PERF_RECORD_EXIT;
	if (!mmap2_parse(rec, n, &m) || mmap2_is_data(&m) || !(m.prot & PROT_EXEC) ||
	    (m.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return;
	if ((m.path[0] == '/' && m.path[1] != '/') || mmap2_is_too_long(&m))
		pin_file(p, &m, rec);
	else if ((m.path[0] == '/' && (m.has_build_id || !m.ino)) || !strncmp(m.path, "[anon", 5))
		pin_root(p, m.pid);
	if (strstr(m.path, "/jit-")) {
		pin_root(p, m.pid);
		pin_dump(p, &m);
	}
}

void pins_done(struct pins *p)
{
	size_t i;

	pins_done_leaving(p);
	for (i = 0; i < p->files.n; i++)
		if (p->files.v[i].fd >= 0)
			close(p->files.v[i].fd);
	for (i = 0; i < p->roots.n; i++) {
		if (p->roots.v[i].root >= 0)
			close(p->roots.v[i].root);
		if (p->roots.v[i].mounts >= 0)
			close(p->roots.v[i].mounts);
	}
	vec_done(&p->files);
	vec_done(&p->roots);
	hash_done(&p->by_file);
	hash_done(&p->by_pid);
}
