/* zip.c - reads the directories of ZIP archives. */
#include "modules/zip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/rooted.h"
#include "base/vec.h"

#define LOCAL_MAGIC   0x04034b50u
#define CENTRAL_MAGIC 0x02014b50u
#define END_MAGIC     0x06054b50u

enum {
	LOCAL_BYTES = 30,
	CENTRAL_BYTES = 46,
	END_BYTES = 22,
	COMMENT_MAX = UINT16_MAX,
	STORED = 0,    /* compression method */
	ENCRYPTED = 1, /* a flag */
	DIRECTORY_BYTES_MAX = 64 << 20,
};

/* An uncompressed file, by the directory. */
struct entry {
	uint64_t header; /* where its local header is */
	uint64_t size;
	const char *name;
	uint16_t name_bytes;
};

struct zip {
	uint8_t *directory;
	uint64_t end; /* of what is in front of the directory */
	VEC(struct entry) entries;
};

static bool read_at(int fd, void *to, size_t n, uint64_t off)
{
	uint8_t *p = to;

	while (n) {
		ssize_t got = off <= INT64_MAX ? pread(fd, p, n, (off_t)off) : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		off += (uint64_t)got;
		n -= (size_t)got;
	}
	return true;
}

bool zip_is_one(int fd)
{
	uint8_t magic[4];
	struct buf b = buf_make(magic, sizeof magic, 0, false);

	return read_at(fd, magic, sizeof magic, 0) && buf_u32(&b) == LOCAL_MAGIC;
}

/* Where the directory is, by the record at the end of the file, behind which there is but a
 * comment. */
static int find_directory(int fd, uint64_t file_bytes, uint64_t *start, uint64_t *size)
{
	size_t n =
		file_bytes < END_BYTES + COMMENT_MAX ? (size_t)file_bytes : END_BYTES + COMMENT_MAX;
	uint8_t *tail = malloc(n ? n : 1);
	size_t at = n < END_BYTES ? 0 : n - END_BYTES + 1;
	int rc = -ERR_DAMAGED;

	if (!tail)
		return -ERR_NOMEM;
	if (!read_at(fd, tail, n, file_bytes - n))
		at = 0;
	while (rc == -ERR_DAMAGED && at--) {
		struct buf b = buf_make(tail + at, n - at, 0, false);
		uint16_t count, comment;

		if (buf_u32(&b) != END_MAGIC)
			continue;
		buf_skip(&b, 6);
		count = buf_u16(&b);
		*size = buf_u32(&b);
		*start = buf_u32(&b);
		comment = buf_u16(&b);
		if (comment != n - at - END_BYTES)
			continue;
		rc = count == UINT16_MAX || *start == UINT32_MAX ? -ERR_UNSUPPORTED : 0;
	}
	free(tail);
	return rc;
}

/* Returns 0, 1 at the end of what can be read, or -1 (out of memory). */
static int read_entry(struct zip *z, struct buf *b)
{
	struct entry e;
	uint16_t flags, method, extra, comment;
	uint32_t packed;

	if (buf_u32(b) != CENTRAL_MAGIC)
		return 1;
	buf_skip(b, 4);
	flags = buf_u16(b);
	method = buf_u16(b);
	buf_skip(b, 8);
	packed = buf_u32(b);
	e.size = buf_u32(b);
	e.name_bytes = buf_u16(b);
	extra = buf_u16(b);
	comment = buf_u16(b);
	buf_skip(b, 8);
	e.header = buf_u32(b);
	e.name = (const char *)buf_take(b, e.name_bytes);
	buf_skip(b, (uint64_t)extra + comment);
	if (!buf_ok(b))
		return 1;
	if (method != STORED || flags & ENCRYPTED || packed != e.size || !e.size || !e.name_bytes)
		return 0;
	return vec_push(&z->entries, e);
}

int zip_open(struct zip **ret, int fd)
{
	struct zip *z;
	struct stat st;
	uint64_t size;
	struct buf b;
	int rc;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !zip_is_one(fd))
		return -ERR_FORMAT;
	z = calloc(1, sizeof *z);
	if (!z)
		return -ERR_NOMEM;
	rc = find_directory(fd, (uint64_t)st.st_size, &z->end, &size);
	if (!rc && (size > DIRECTORY_BYTES_MAX || size > (uint64_t)st.st_size ||
		    z->end > (uint64_t)st.st_size - size))
		rc = -ERR_DAMAGED;
	if (!rc) {
		z->directory = malloc(size ? size : 1);
		rc = !z->directory			       ? -ERR_NOMEM
		     : read_at(fd, z->directory, size, z->end) ? 0
							       : -ERR_DAMAGED;
	}
	if (!rc) {
		b = buf_make(z->directory, size, 0, false);
		while (!rc)
			rc = read_entry(z, &b);
		rc = rc < 0 ? -ERR_NOMEM : 0;
	}
	if (rc)
		zip_free(z);
	else
		*ret = z;
	return rc;
}

void zip_free(struct zip *z)
{
	if (!z)
		return;
	vec_done(&z->entries);
	free(z->directory);
	free(z);
}

/* The contents begin behind the local header, whose lengths may differ from the directory's: they
 * are aligned so. */
static bool part_of(const struct zip *z, int fd, const struct entry *e, struct zip_part *ret)
{
	uint8_t header[LOCAL_BYTES];
	struct buf b = buf_make(header, sizeof header, 0, false);
	uint32_t magic;

	if (!read_at(fd, header, sizeof header, e->header))
		return false;
	magic = buf_u32(&b);
	buf_skip(&b, LOCAL_BYTES - 8);
	ret->start = e->header + LOCAL_BYTES + buf_u16(&b);
	ret->start += buf_u16(&b);
	ret->size = e->size;
	ret->name = e->name;
	ret->name_bytes = e->name_bytes;
	return magic == LOCAL_MAGIC && ret->start <= z->end && ret->size <= z->end - ret->start;
}

bool zip_at(const struct zip *z, int fd, uint64_t off, struct zip_part *ret)
{
	const struct entry *nearest = NULL;
	size_t i;

	for (i = 0; i < z->entries.n; i++) {
		const struct entry *e = &z->entries.v[i];

		if (e->header < off && (!nearest || e->header > nearest->header))
			nearest = e;
	}
	return nearest && part_of(z, fd, nearest, ret) && off >= ret->start &&
	       off - ret->start < ret->size;
}

bool zip_named(const struct zip *z, int fd, const char *name, struct zip_part *ret)
{
	const size_t n = strlen(name);
	size_t i;

	for (i = 0; i < z->entries.n; i++)
		if (z->entries.v[i].name_bytes == n && !memcmp(z->entries.v[i].name, name, n))
			return part_of(z, fd, &z->entries.v[i], ret);
	return false;
}

/* ---- paths -------------------------------------------------------------------------------- */

/* The last "!/": a folder's name may end in '!'. */
const char *zip_name_in(const char *path)
{
	const char *at, *found = NULL;

	for (at = path; (at = strstr(at, "!/")); at += 2)
		found = at + 2;
	return found && *found ? found : NULL;
}

/* Returns false if there is none. */
static bool archive_of(const char *path, char out[PATH_MAX])
{
	const char *name = zip_name_in(path);
	const size_t n = name ? (size_t)(name - 2 - path) : 0;

	if (!n || n >= PATH_MAX)
		return false;
	memcpy(out, path, n);
	out[n] = 0;
	return true;
}

int zip_rooted_open(const char *root, const char *path)
{
	char archive[PATH_MAX];
	int fd = rooted_open_to_data_end(root, path);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR) && archive_of(path, archive))
		fd = rooted_open_to_data_end(root, archive);
	return fd;
}

int zip_rooted_stat(const char *root, const char *path, struct stat *st)
{
	char archive[PATH_MAX];
	int rc = rooted_stat(root, path, true, st);

	if (rc && (errno == ENOENT || errno == ENOTDIR) && archive_of(path, archive))
		rc = rooted_stat(root, archive, true, st);
	return rc;
}
