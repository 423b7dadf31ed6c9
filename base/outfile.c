/* outfile.c - examines the target once, then uses descriptors instead of names. */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40, TRIES = 16 };

/* May others than us and root create names in the folder? */
static bool is_shared(const struct stat *dir)
{
	return dir->st_mode & S_IWOTH || (dir->st_mode & S_ISVTX && dir->st_mode & S_IWGRP);
}

/* May another user have put it there? */
static bool is_foreign(const struct outplace *p)
{
	return p->exists && p->is_shared && p->st.st_uid && p->st.st_uid != geteuid();
}

/* Opens the folder of a path, which begins at p->dir. */
static int enter(struct outplace *p, const char *path, const char *whole, struct err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char folder[PATH_MAX] = ".";
	struct stat st;
	int dir;

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return err_errno(err, EISDIR, whole, "create");
	if (strlen(name) > NAME_MAX || (slash && (size_t)(slash - path) + 2 > sizeof folder))
		return err_errno(err, ENAMETOOLONG, whole, "create");
	if (slash)
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
	dir = openat(p->dir, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_errno(err, errno, whole, "create");
	outplace_done(p);
	p->dir = dir;
	memmove(p->name, name, strlen(name) + 1);
	if (fstat(dir, &st))
		return err_errno(err, errno, whole, "create");
	p->is_shared = is_shared(&st);
	return 0;
}

/* Links in /proc, as /proc/self/fd/1, cannot be followed by reading their text. */
static bool is_descriptor(const struct outplace *p)
{
	struct statfs fs;

	return !fstatfs(p->dir, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

int outplace_find(struct outplace *p, const char *path, struct err *err)
{
	char target[PATH_MAX];
	const char *at = path;
	ssize_t n;
	int i, rc;

	*p = (struct outplace){.dir = AT_FDCWD};
	for (i = 0; i < LINKS_MAX; i++) {
		rc = enter(p, at, path, err);
		if (rc)
			return rc;
		p->exists = !fstatat(p->dir, p->name, &p->st, AT_SYMLINK_NOFOLLOW);
		if (!p->exists)
			return errno == ENOENT ? 0 : err_errno(err, errno, path, "create");
		if (is_foreign(p) && !S_ISREG(p->st.st_mode))
			return err_set(
				err, ERR_PERMISSION, path,
				"another user's %s, in a folder that every user may write to",
				S_ISLNK(p->st.st_mode) ? "link" : "pipe or device");
		if (!S_ISLNK(p->st.st_mode) || is_descriptor(p))
			return 0;
		n = readlinkat(p->dir, p->name, target, sizeof target - 1);
		if (n < 0)
			return err_errno(err, errno, path, "read the link");
		target[n] = '\0';
		at = target;
	}
	return err_errno(err, ELOOP, path, "create");
}

void outplace_done(struct outplace *p)
{
	if (p->dir >= 0)
		close(p->dir);
	p->dir = AT_FDCWD;
}

/* Is what was opened by name still what was examined? */
static int check_same(const struct outfile *f, struct err *err)
{
	const struct stat *was = &f->place.st;
	struct stat st;

	if (!f->place.exists || S_ISLNK(was->st_mode) ||
	    (!fstat(f->fd, &st) && st.st_dev == was->st_dev && st.st_ino == was->st_ino))
		return 0;
	return err_set(err, ERR_PERMISSION, f->path, "exchanged while it was opened");
}

/* Opens the existing target for writing. */
static int open_direct(struct outfile *f, struct err *err)
{
	const struct outplace *p = &f->place;
	bool follow = S_ISLNK(p->st.st_mode);
	struct stat st;

	f->fd = openat(p->dir, p->name,
		       O_WRONLY | O_CLOEXEC | O_NOCTTY | (follow ? 0 : O_NOFOLLOW));
	if (f->fd < 0)
		return err_errno(err, errno, f->path, "create");
	if (check_same(f, err))
		return -(int)err->code;
	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	return ftruncate(f->fd, 0) ? err_errno(err, errno, f->path, "truncate") : 0;
}

/* Creates the temporary file with the owner and mode of the old one, unless another user may have
 * put the old one there. */
static int create_temp(struct outfile *f, struct err *err)
{
	const struct outplace *p = &f->place;
	const struct stat *old = p->exists && !is_foreign(p) ? &p->st : NULL;
	mode_t mode = old ? old->st_mode & 0777 : geteuid() ? 0666 : 0600;
	/* In a sandbox modes cannot be changed, so the file is made with the right one. */
	mode_t umask_before = old ? umask(0) : 0;
	unsigned i, number;
	struct stat st;
	int e;

	for (i = 0; i < TRIES; i++) {
		if (getrandom(&number, sizeof number, 0) != sizeof number)
			number = (unsigned)getpid() + i;
		snprintf(f->temp, sizeof f->temp, "%.*s.tmp%08x", NAME_MAX - 12, p->name, number);
		f->fd = openat(p->dir, f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (f->fd >= 0 || errno != EEXIST)
			break;
	}
	e = errno;
	if (old)
		umask(umask_before);
	errno = e;
	if (f->fd < 0) {
		f->temp[0] = '\0';
		return err_errno(err, errno, f->path, "create");
	}
	if (!old || fstat(f->fd, &st))
		return 0;
	/* If the owner cannot be kept, write to the old file itself. */
	if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
	    fchown(f->fd, old->st_uid, old->st_gid)) {
		close(f->fd);
		f->fd = -1;
		outfile_remove(f);
		f->temp[0] = '\0';
		return open_direct(f, err);
	}
	if ((st.st_mode & 0777) == (old->st_mode & 0777))
		return 0;
	return fchmod(f->fd, old->st_mode & 0777) ? err_errno(err, errno, f->path, "set the mode")
						  : 0;
}

int outfile_create(struct outfile *f, const char *path, struct err *err)
{
	int rc;

	*f = (struct outfile){.path = path, .fd = -1};
	rc = outplace_find(&f->place, path, err);
	if (!rc)
		rc = f->place.exists && !S_ISREG(f->place.st.st_mode) ? open_direct(f, err)
								      : create_temp(f, err);
	if (rc)
		outfile_finish(f, false, NULL);
	return rc;
}

int outfile_append(struct outfile *f, const char *path, struct err *err)
{
	const struct outplace *p = &f->place;
	int rc;

	*f = (struct outfile){.path = path, .fd = -1};
	rc = outplace_find(&f->place, path, err);
	if (!rc && is_foreign(p))
		rc = err_set(err, ERR_PERMISSION, path,
			     "another user's file, in a folder that every user may write to");
	if (!rc) {
		f->fd = openat(p->dir, p->name,
			       O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY |
				       (p->exists && S_ISLNK(p->st.st_mode) ? 0 : O_NOFOLLOW) |
				       (p->exists ? 0 : O_CREAT | O_EXCL),
			       geteuid() ? 0666 : 0600);
		rc = f->fd < 0 ? err_errno(err, errno, path, "create") : check_same(f, err);
	}
	if (rc)
		outfile_finish(f, false, NULL);
	return rc;
}

int outfile_finish(struct outfile *f, bool keep, struct err *err)
{
	const struct outplace *p = &f->place;
	int rc = 0;

	if (f->fd >= 0 && close(f->fd) && keep)
		rc = err_errno(err, errno, f->path, "write");
	f->fd = -1;
	if (keep && !rc && f->temp[0] && renameat(p->dir, f->temp, p->dir, p->name))
		rc = err_errno(err, errno, f->path, "create");
	if (!keep || rc)
		outfile_remove(f);
	f->temp[0] = '\0';
	outplace_done(&f->place);
	return rc;
}

void outfile_remove(const struct outfile *f)
{
	if (f->temp[0])
		unlinkat(f->place.dir, f->temp, 0);
}
