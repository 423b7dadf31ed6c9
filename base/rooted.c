/* rooted.c - opens with O_PATH, examines the file, and reopens the same file for reading. */
#include "base/rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/helper.h"

enum {
	HOLLOW_BYTES_MIN = 64 << 20, /* smaller files may consist of holes */
	HOLLOW_PARTS = 16,	     /* of a larger file one part in this many must be data */
	EXTENTS_MAX = 4096,
	CACHED_TRIES = 3,
	LINKS_MAX = 40, /* as the kernel's MAXSYMLINKS */
};

/* ---- places -------------------------------------------------------------------------------- */

size_t rooted_process_root(const char *path)
{
	int n = 0;

	if (sscanf(path, "/proc/%*[0-9]/root%n", &n) < 0 || n <= 0 || path[n] != '/')
		return 0;
	return (size_t)n;
}

static size_t given_root(const char *root, const char *path)
{
	size_t n = root ? strlen(root) : 0;

	if (!n || strncmp(path, root, n))
		return 0;
	return path[n] == '/' || root[n - 1] == '/' ? n : 0;
}

/* Returns an O_PATH descriptor of `path` resolved below the directory `root`. */
static int find_below(const char *root, size_t n, const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_IN_ROOT};
	char dir_path[PATH_MAX];
	int dir, fd, e;

	if (n >= sizeof dir_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(dir_path, root, n);
	dir_path[n] = '\0';
	dir = open(dir_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
	e = errno;
	close(dir);
	errno = e;
	return fd;
}

/* Opens with what the kernel's name cache has (Linux 5.12), without reading a disk or mounting
 * anything. EAGAIN: the cache is not enough. */
static int open_cached(const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_CACHED};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Is something mounted at the path? Asks the kernel's list of mounts, which does not touch the
 * path. */
static bool is_mounted(const char *path)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[PATH_MAX + 512], place[PATH_MAX];
	bool found = false;

	while (f && !found && fgets(line, sizeof line, f))
		found = sscanf(line, "%*s %*s %*s %*s %4095s", place) == 1 && !strcmp(place, path);
	if (f)
		fclose(f);
	return found;
}

/* Opens what is at a path without links without mounting it. O_PATH does not mount the last
 * component of a path. Inside of an autofs, a directory that is not mounted is missing in the name
 * cache, and, where the cache cannot be asked alone (old kernels), in the list of mounts. A lookup
 * at the same time by another process can cause EAGAIN as well, so that is tried again. */
static int place_of(const char *path, bool in_autofs)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int fd = -1, tries;

	if (!in_autofs)
		return open(path, flags);
	errno = EAGAIN;
	for (tries = 0; fd < 0 && errno == EAGAIN && tries < CACHED_TRIES; tries++)
		fd = open_cached(path, flags);
	if (fd < 0 && errno != EAGAIN && errno != ENOENT && is_mounted(path))
		fd = open(path, flags);
	return fd;
}

/* A path that is walked by hand: `at` is where we are, without links; `rest` is what comes. */
struct walk {
	char at[PATH_MAX], rest[PATH_MAX];
	bool in_autofs; /* `at` is a folder of an autofs: what is in it may have to be mounted */
};

/* Takes the next component of the rest. False: there is none, or the path is too long, which open()
 * will refuse, too. */
static bool walk_step(struct walk *w)
{
	const char *name = w->rest + strspn(w->rest, "/");
	const size_t n = strcspn(name, "/"), len = strlen(w->at);
	char *slash = strrchr(w->at, '/');

	if (!n || len + n + 2 > sizeof w->at)
		return false;
	if (n == 2 && !memcmp(name, "..", 2)) {
		if (slash)
			*slash = '\0';
	} else if (n != 1 || *name != '.') {
		w->at[len] = '/';
		memcpy(w->at + len + 1, name, n);
		w->at[len + 1 + n] = '\0';
	}
	memmove(w->rest, name + n, strlen(name + n) + 1);
	return true;
}

/* Puts what the link at `at` holds before the rest. */
static bool walk_link(struct walk *w, int place)
{
	char target[PATH_MAX];
	const ssize_t n = readlinkat(place, "", target, sizeof target);
	const size_t rest = strlen(w->rest) + 1;

	if (n <= 0 || (size_t)n + rest > sizeof w->rest)
		return false;
	memmove(w->rest + n, w->rest, rest);
	memcpy(w->rest, target, (size_t)n);
	*(*target == '/' ? w->at : strrchr(w->at, '/')) = '\0';
	return true;
}

/* Would opening the path trigger an automount? A recording could then make this machine connect to
 * any server, by a path such as /net/SERVER, or by one that leads there by links. */
static bool leads_to_automount(const char *path, bool follow)
{
	struct walk w = {.in_autofs = false};
	unsigned links = 0;

	if (*path != '/' || strlen(path) >= sizeof w.rest)
		return false;
	memcpy(w.rest, path, strlen(path) + 1);
	while (walk_step(&w)) {
		const bool is_last = !w.rest[strspn(w.rest, "/")];
		struct statfs fs;
		struct stat st;
		int place = is_last && w.in_autofs ? -1 : place_of(*w.at ? w.at : "/", w.in_autofs);
		bool goes_on = place >= 0 && !fstat(place, &st);

		if (goes_on && S_ISLNK(st.st_mode))
			goes_on =
				(follow || !is_last) && links++ < LINKS_MAX && walk_link(&w, place);
		else if (goes_on && !is_last)
			w.in_autofs = !fstatfs(place, &fs) && fs.f_type == AUTOFS_SUPER_MAGIC;
		if (place >= 0)
			close(place);
		if (!goes_on || is_last)
			return w.in_autofs;
	}
	return w.in_autofs;
}

/* Opens a path in our own root directory; EREMOTE if that would trigger an automount. */
static int find_here(const char *path, int flags)
{
	int fd = open_cached(path, flags);

	if (fd >= 0 || errno == ENOENT)
		return fd;
	if (leads_to_automount(path, !(flags & O_NOFOLLOW))) {
		errno = EREMOTE;
		return -1;
	}
	return open(path, flags);
}

/* Opens with flags for open(2) that neither create nor change anything. Without openat2() (before
 * Linux 5.6, and in some sandboxes) a path below a root directory that the user gave is opened as
 * it is, so links in it can lead out; below the root of another process, which is not trusted that
 * far, this fails. */
static int find_as(const char *root, const char *path, int flags)
{
	size_t given = given_root(root, path), n = given ? given : rooted_process_root(path);
	int fd;

	if (!given && helper_has(path))
		return helper_place(path, !(flags & O_NOFOLLOW));
	if (!n)
		return find_here(path, flags);
	fd = find_below(path, n, path + n, flags);
	return fd < 0 && given && errno == ENOSYS ? open(path, flags) : fd;
}

/* Returns an O_PATH descriptor. */
static int find(const char *root, const char *path, bool follow)
{
	return find_as(root, path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
}

int rooted_place(const char *path, bool follow)
{
	return find(NULL, path, follow);
}

/* ---- files --------------------------------------------------------------------------------- */

/* Where the data of a large file with few blocks ends, behind which there is but a hole, and how
 * many bytes of data there are before. Where the number of blocks is not reliable (FUSE,
 * compression), SEEK_DATA and SEEK_HOLE decide. */
static off_t data_end(int fd, const struct stat *st, off_t *data)
{
	off_t at, hole = 0;
	unsigned n;

	*data = st->st_size;
	if (st->st_size < HOLLOW_BYTES_MIN || st->st_blocks >= st->st_size / HOLLOW_PARTS / 512)
		return st->st_size;
	*data = 0;
	for (n = 0; n < EXTENTS_MAX; n++) {
		at = lseek(fd, hole, SEEK_DATA);
		if (at < 0)
			break;
		hole = lseek(fd, at, SEEK_HOLE);
		if (hole <= at) {
			*data = st->st_size;
			break;
		}
		*data += hole - at;
	}
	lseek(fd, 0, SEEK_SET);
	return n == EXTENTS_MAX || *data == st->st_size ? st->st_size : hole;
}

off_t rooted_data_end(int fd, const struct stat *st)
{
	off_t data;

	return data_end(fd, st, &data);
}

/* Is the file nearly all holes? A large size costs its owner nothing: 8 KiB on disk may claim 40
 * GB. */
static bool is_hollow(int fd, const struct stat *st, bool to_data_end)
{
	off_t data;
	const off_t end = data_end(fd, st, &data), size = to_data_end ? end : st->st_size;

	return st->st_size && (!end || (size >= HOLLOW_BYTES_MIN && data < size / HOLLOW_PARTS));
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode == b->st_mode;
}

/* Opens the regular file *st for reading, of which `place` is an O_PATH descriptor: through /proc,
 * so that it is the same one whatever its name means by now. In a system without /proc (chroot,
 * initramfs): by its name once more; another file that has the name by now is not read. */
static int open_again(int place, const char *root, const char *path, const struct stat *st,
		      bool to_data_end)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	struct stat opened;
	char again[32];
	int fd, e = EFBIG;

	snprintf(again, sizeof again, "/proc/self/fd/%d", place);
	fd = open(again, flags);
	if (fd < 0 && errno == ENOENT)
		fd = find_as(root, path, flags);
	if (fd < 0)
		return fd;
	if (fstat(fd, &opened) || !is_same_file(&opened, st))
		e = ESTALE;
	else if (!is_hollow(fd, &opened, to_data_end))
		return fd;
	close(fd);
	errno = e;
	return -1;
}

static int open_place(const char *root, const char *path, bool follow, bool to_data_end)
{
	int place = find(root, path, follow), fd = -1, e = ENODEV;
	struct stat st;

	if (place < 0)
		return -1;
	if (fstat(place, &st)) {
		e = errno;
	} else if (S_ISLNK(st.st_mode)) {
		e = ELOOP;
	} else if (S_ISREG(st.st_mode)) {
		fd = open_again(place, root, path, &st, to_data_end);
		e = errno;
	}
	close(place);
	errno = e;
	return fd;
}

int rooted_open(const char *root, const char *path, bool follow)
{
	return open_place(root, path, follow, false);
}

int rooted_open_to_data_end(const char *root, const char *path)
{
	return open_place(root, path, true, true);
}

int rooted_stat(const char *root, const char *path, bool follow, struct stat *st)
{
	int place = find(root, path, follow), rc, e;

	if (place < 0)
		return -1;
	rc = fstat(place, st);
	e = errno;
	close(place);
	errno = e;
	return rc;
}

/* The path that the kernel gives for an open file; without /proc: by following links, which in a
 * root directory that the user gave may lead out of it. */
static bool path_of(int fd, const char *path, char out[PATH_MAX])
{
	struct stat st, real;
	char link[32];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, out, PATH_MAX - 1);
	if (n < 0 && errno == ENOENT)
		return realpath(path, out) && !fstat(fd, &st) && !stat(out, &real) &&
		       is_same_file(&st, &real);
	if (n <= 0 || out[0] != '/')
		return false;
	out[n] = '\0';
	return true;
}

static bool real_path(const char *root, const char *path, char out[PATH_MAX])
{
	int place = find(root, path, true);
	bool ok = place >= 0 && path_of(place, path, out);

	if (place >= 0)
		close(place);
	return ok;
}

bool rooted_real(const char *root, const char *path, char out[PATH_MAX])
{
	size_t n = given_root(root, path), real_n;
	char real_root[PATH_MAX], real[PATH_MAX];

	if (!n)
		return !rooted_process_root(path) && real_path(NULL, path, out);
	if (!real_path(root, path, real) || !real_path(NULL, root, real_root))
		return false;
	real_n = strcmp(real_root, "/") ? strlen(real_root) : 0;
	if (strncmp(real, real_root, real_n) || real[real_n] != '/')
		return false;
	return snprintf(out, PATH_MAX, "%.*s%s", (int)n, path, real + real_n) < PATH_MAX;
}

int rooted_error(struct err *err, int errnum, const char *path)
{
	if (errnum == ENODEV)
		return err_set(err, ERR_UNSUPPORTED, path, "not a regular file");
	if (errnum == ELOOP)
		return err_set(err, ERR_UNSUPPORTED, path, "a symbolic link, or too many of them");
	if (errnum == EFBIG)
		return err_set(err, ERR_LIMIT, path, "nearly all of it is holes (a sparse file)");
	if (errnum == EREMOTE)
		return err_set(err, ERR_IO, path,
			       "a file system that would have to be mounted first (autofs): look "
			       "at it, then it is");
	return err_errno(err, errnum, path, "open");
}

bool rooted_is_trusted(const struct stat *st)
{
	return !st->st_uid || st->st_uid == geteuid();
}

uint64_t rooted_written_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
}
