/* cache_file.c - a new file gets its final name only when it is complete, and is never changed
 * after that, so it can be mapped. */
#include "base/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/write_all.h"

/* The hash of the build id found among the ELF notes at p; 0 if there is none. */
static uint64_t hash_build_id(const uint8_t *p, size_t n)
{
	ElfW(Nhdr) note;
	uint64_t name, desc;

	for (; n >= sizeof note; p += desc, n -= desc) {
		memcpy(&note, p, sizeof note);
		p += sizeof note;
		n -= sizeof note;
		name = ((uint64_t)note.n_namesz + 3) & ~3ul;
		desc = ((uint64_t)note.n_descsz + 3) & ~3ul;
		if (name > n || desc > n - name)
			break;
		p += name;
		n -= name;
		if (note.n_type == NT_GNU_BUILD_ID && name == 4 && !memcmp(p - 4, "GNU", 4))
			return hash_bytes(p, note.n_descsz);
	}
	return 0;
}

/* For dl_iterate_phdr(): the first object is the program itself. */
static int hash_program(struct dl_phdr_info *info, size_t size, void *ret)
{
	uint64_t *hash = ret;
	size_t i;

	(void)size;
	for (i = 0; !*hash && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type == PT_NOTE)
			*hash = hash_build_id((const uint8_t *)(info->dlpi_addr + h->p_vaddr),
					      h->p_memsz);
	}
	return 1;
}

uint64_t cache_file_maker(void)
{
	uint64_t hash = 0;

	dl_iterate_phdr(hash_program, &hash);
	return hash;
}

bool cache_file_map(const char *path, const void **data, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	void *p = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED)
		futimens(fd, NULL); /* trimming deletes the oldest files first */
	close(fd);
	*data = p;
	*size = p != MAP_FAILED ? (size_t)st.st_size : 0;
	return p != MAP_FAILED;
}

/* In a user namespace the owner of what belongs to users outside of it is shown as nobody. */
static bool is_trusted(uid_t owner)
{
	enum { OVERFLOW_UID = 65534 };
	unsigned inside = 0, outside = 0;
	FILE *f;

	if (!owner || owner == geteuid())
		return true;
	f = owner == OVERFLOW_UID ? fopen("/proc/self/uid_map", "re") : NULL;
	if (f && fscanf(f, "%u %u", &inside, &outside) != 2)
		inside = outside;
	if (f)
		fclose(f);
	return inside != outside;
}

/* Do all links and directories on the way belong to root or to us? Of root's run with a user's HOME
 * they do not: the user could lead root to any directory, where it would delete files. */
static bool is_our_way(const char *path)
{
	char at[PATH_MAX];
	struct stat st;
	const char *end;
	size_t n;

	for (end = path; *end; end += strspn(end, "/")) {
		end += strcspn(end, "/");
		n = (size_t)(end - path);
		if (n >= sizeof at)
			return false;
		memcpy(at, path, n);
		at[n] = '\0';
		if (n && (lstat(at, &st) || !is_trusted(st.st_uid) || stat(at, &st) ||
			  !is_trusted(st.st_uid)))
			return false;
	}
	return true;
}

/* Makes the directory and its missing parents, but not in a directory of another user than root:
 * with `sudo -E` root would leave directories in the user's home that the user cannot write to. */
static bool make_directory(char *path)
{
	char *slash = strrchr(path, '/');
	struct stat st;
	bool ok = true;

	if (!stat(path, &st))
		return S_ISDIR(st.st_mode);
	if (slash && slash != path) {
		*slash = 0;
		ok = make_directory(path) && !stat(path, &st) &&
		     (!st.st_uid || st.st_uid == geteuid());
		*slash = '/';
	}
	return ok && (!mkdir(path, 0700) || errno == EEXIST);
}

const char *cache_dir_make(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;
	size_t n;

	if (snprintf(path, sizeof path, "%s", dir) >= PATH_MAX)
		return "the path is too long";
	for (n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = 0;
	if (!make_directory(path) || stat(path, &st))
		return "the directory cannot be made here";
	if (st.st_uid != geteuid())
		return "the directory belongs to another user";
	if (!is_our_way(path))
		return "another user owns a directory or link on the way to it";
	return st.st_mode & S_IWOTH ? "every user may write to the directory" : NULL;
}

bool cache_file_publish(const char *dir, const char *path, const void *bytes, size_t size)
{
	char temporary[PATH_MAX];
	int fd, n = snprintf(temporary, sizeof temporary, "%s/.new-XXXXXX", dir);
	bool ok;

	if (cache_dir_make(dir) || n < 0 || n >= (int)sizeof temporary)
		return false;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = !write_all(fd, bytes, size);
	ok &= !close(fd);
	if (ok && !rename(temporary, path))
		return true;
	unlink(temporary);
	return false;
}
