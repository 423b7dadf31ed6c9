/* debuginfod_cache.c - checks the files of libdebuginfod's cache before use, and repairs the cache.
 *
 * A server may send a page of HTML (a hotel's network), another file, or only the begin of the
 * right one: transfers without a length may end at any byte. */
#include "modules/debuginfod_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "modules/find.h"
#include "modules/image.h"

#define FILE_NAME_MAX 64

/* ---- paths ------------------------------------------------------------------------------- */

/* The file name of a section since elfutils 0.192 (path_escape() of debuginfod-client.c): with
 * Bernstein's hash of the section's name. Returns false if it would be too long. */
static bool hashed_name(const char *section, char out[FILE_NAME_MAX])
{
	uint32_t hash = 5381;
	const char *c;

	for (c = section; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	return snprintf(out, FILE_NAME_MAX, "section-%08" PRIx32 "-%s", hash, section) <
	       FILE_NAME_MAX;
}

/* The file name of a section in older versions; whole files always had one name. */
static bool plain_name(const char *file, char out[FILE_NAME_MAX])
{
	return snprintf(out, FILE_NAME_MAX, "%s%s", file[0] == '.' ? "section-" : "", file) <
	       FILE_NAME_MAX;
}

/* The file name that exists in the directory of a build id; the newer one if both do. */
static bool file_name(int entry, const char *file, char out[FILE_NAME_MAX])
{
	struct stat st;

	if (file[0] == '.' && hashed_name(file, out) &&
	    !fstatat(entry, out, &st, AT_SYMLINK_NOFOLLOW))
		return true;
	return plain_name(file, out);
}

/* Opens the directory of a build id; -1 if there is none. */
static int open_entry(const char *dir, const struct build_id *id)
{
	char hex[BUILD_ID_TEXT_MAX], path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s/%s", dir, build_id_text(id, false, hex)) >=
	    (int)sizeof path)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void cache_path(const char *dir, const struct build_id *id, const char *file, char out[PATH_MAX])
{
	char hex[BUILD_ID_TEXT_MAX], name[FILE_NAME_MAX];
	int entry = open_entry(dir, id);

	if (!file_name(entry, file, name) ||
	    snprintf(out, PATH_MAX, "%s/%s/%s", dir, build_id_text(id, false, hex), name) >=
		    PATH_MAX)
		out[0] = 0;
	if (entry >= 0)
		close(entry);
}

static bool is_trusted(const char *dir, const struct stat *file)
{
	struct stat top;

	if (file->st_uid == geteuid() || !file->st_uid)
		return true;
	/* The user may have chosen another user's cache: root reads a user's recording. */
	return !stat(dir, &top) && file->st_uid == top.st_uid;
}

int cache_open(const char *dir, const struct build_id *id, const char *file, enum module_miss *why)
{
	char name[FILE_NAME_MAX];
	int entry = open_entry(dir, id), fd = -1;
	struct stat st;

	if (entry >= 0 && file_name(entry, file, name))
		fd = openat(entry, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	*why = fd >= 0		 ? MODULE_MISS_NONE
	       : errno == ENOENT ? MODULE_MISS_NO_FILE
	       : errno == EACCES ? MODULE_MISS_PERMISSION
				 : MODULE_MISS_NOT_A_FILE;
	if (entry >= 0)
		close(entry);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		*why = MODULE_MISS_NOT_A_FILE;
	else if (!is_trusted(dir, &st))
		*why = MODULE_MISS_NOT_TRUSTED;
	if (*why == MODULE_MISS_NONE)
		return fd;
	close(fd);
	return -1;
}

void cache_remove(const char *dir, const struct build_id *id, const char *file)
{
	char name[FILE_NAME_MAX];
	int entry = open_entry(dir, id);

	if (entry < 0)
		return;
	if (file[0] == '.' && hashed_name(file, name))
		unlinkat(entry, name, 0);
	if (plain_name(file, name))
		unlinkat(entry, name, 0);
	close(entry);
}

int cache_rename(const char *dir, const struct build_id *id, const char *from, const char *to)
{
	int entry = open_entry(dir, id), rc;

	if (entry < 0)
		return -1;
	rc = renameat(entry, from, entry, to);
	close(entry);
	return rc;
}

bool cache_is_blocked(const char *dir, const struct build_id *id)
{
	char hex[BUILD_ID_TEXT_MAX], path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof path, "%s/%s", dir, build_id_text(id, false, hex)) >=
		       (int)sizeof path ||
	       (!lstat(path, &st) && !S_ISDIR(st.st_mode));
}

/* ---- checks ------------------------------------------------------------------------------ */

static enum fetch_result check_file(struct debuginfod_query *q, int fd)
{
	char want[BUILD_ID_TEXT_MAX], have[BUILD_ID_TEXT_MAX];
	enum fetch_result result = FETCH_DONE;
	const struct build_id *found;
	struct elf_image *img;
	struct err err = {0};

	if (elf_image_open_fd(&img, fd, q->path, &err)) {
		snprintf(q->detail, sizeof q->detail, "%.100s", err.what);
		return err.code == ERR_FORMAT || err.code == ERR_DAMAGED ? FETCH_NOT_ELF
									 : FETCH_NO_CACHE;
	}
	found = elf_image_build_id(img);
	if (!image_is_whole(img)) {
		snprintf(q->detail, sizeof q->detail, "cut short");
		result = FETCH_NOT_ELF;
	} else if (!build_id_equal(q->id, found)) {
		snprintf(q->detail, sizeof q->detail, "wanted %s, file has %s",
			 build_id_text(q->id, false, want),
			 found->size ? build_id_text(found, false, have) : "none");
		result = FETCH_BUILD_ID_DIFFERS;
	}
	elf_image_close(img);
	return result;
}

/* Checks the section as a server sends it: notes of 4-byte words, in an unknown byte order. The
 * first note is the build id; linkers put no other note into this section. */
static enum fetch_result check_note(const struct debuginfod_query *q, int fd)
{
	uint8_t bytes[256];
	unsigned swapped;
	ssize_t n = read(fd, bytes, sizeof bytes);

	if (n < 0)
		return FETCH_NO_CACHE;
	for (swapped = 0; swapped < 2; swapped++) {
		struct buf b = buf_make(bytes, (size_t)n, 0, swapped);
		uint32_t name_size = buf_u32(&b), id_size = buf_u32(&b), type = buf_u32(&b);
		const uint8_t *name = buf_take(&b, 4), *id = buf_take(&b, id_size);
		struct build_id found = {0};

		if (!id || name_size != 4 || memcmp(name, ELF_NOTE_GNU, 4) ||
		    type != NT_GNU_BUILD_ID || !id_size || id_size > BUILD_ID_MAX)
			continue;
		found.size = (uint8_t)id_size;
		memcpy(found.bytes, id, id_size);
		return build_id_equal(q->id, &found) ? FETCH_DONE : FETCH_BUILD_ID_DIFFERS;
	}
	return FETCH_NOT_ELF;
}

enum fetch_result cache_check(const char *dir, struct debuginfod_query *q)
{
	enum fetch_result r = FETCH_DONE;
	enum module_miss why;
	int fd = cache_open(dir, q->id, q->file, &why);

	snprintf(q->detail, sizeof q->detail, "%s", fd < 0 ? module_miss_text(why) : "");
	if (fd < 0)
		return FETCH_NO_CACHE;
	if (q->file[0] != '.')
		r = check_file(q, fd);
	else if (!strcmp(q->file, ".note.gnu.build-id"))
		r = check_note(q, fd);
	close(fd);
	return r;
}

bool cache_has(const char *dir, struct debuginfod_query *q)
{
	enum module_miss why;
	int fd = cache_open(dir, q->id, q->file, &why);
	struct stat st;
	bool there = fd >= 0 && !fstat(fd, &st) && st.st_size;

	cache_path(dir, q->id, q->file, q->path);
	if (fd >= 0)
		close(fd);
	if (there && cache_check(dir, q) == FETCH_DONE)
		return true;
	/* The library would also accept files that we do not trust. */
	if (there || why == MODULE_MISS_NOT_TRUSTED || why == MODULE_MISS_NOT_A_FILE)
		cache_remove(dir, q->id, q->file);
	return false;
}

/* ---- "there is no such file" ------------------------------------------------------------- */

/* Never zero, because times without nanoseconds have zero there. */
static long signature_of(const char *servers)
{
	return 1 + (long)(hash_bytes(servers, strlen(servers)) % 999999999);
}

static bool is_empty_file(int entry, const char *file, struct stat *st)
{
	char name[FILE_NAME_MAX];

	return file_name(entry, file, name) && !fstatat(entry, name, st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st->st_mode) && !st->st_size;
}

bool cache_says_no(const char *dir, const struct debuginfod_query *q)
{
	int entry = open_entry(dir, q->id);
	struct stat st;
	bool says = entry >= 0 && is_empty_file(entry, q->file, &st);

	if (entry >= 0)
		close(entry);
	return says;
}

void cache_sign_no(const char *dir, const struct debuginfod_query *q, const char *servers)
{
	int entry = open_entry(dir, q->id);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	char name[FILE_NAME_MAX];
	struct stat st;
	int file;

	if (entry < 0)
		return;
	if (is_empty_file(entry, q->file, &st) && file_name(entry, q->file, name)) {
		times[1].tv_sec = st.st_mtim.tv_sec;
		times[1].tv_nsec = signature_of(servers);
		file = openat(entry, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (file >= 0)
			futimens(file, times); /* the sandbox has no times by name */
		if (file >= 0)
			close(file);
	}
	close(entry);
}

void cache_forget_no(const char *dir, const struct debuginfod_query *q, const char *servers)
{
	const char *const files[] = {q->file, "debuginfo", "executable"};
	size_t n = q->file[0] == '.' ? 3 : 1, i;
	int entry = open_entry(dir, q->id);
	char name[FILE_NAME_MAX];
	struct stat st;

	if (entry < 0)
		return;
	for (i = 0; i < n; i++)
		if (is_empty_file(entry, files[i], &st) && file_name(entry, files[i], name) &&
		    !(servers && st.st_mtim.tv_nsec == signature_of(servers)))
			unlinkat(entry, name, 0);
	close(entry);
}
