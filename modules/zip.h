/* zip.h - finds files that lie uncompressed in a ZIP archive, as ELF files do in Android's APKs,
 * from which the loader maps them. Private to modules/.
 *
 * Source: PKWARE APPNOTE.TXT 4.3.7 (local file header), 4.3.12 (central directory), 4.3.16 (its
 * end). ZIP64 is not read. Sizes and offsets are in bytes of the archive. */
#ifndef MODULES_ZIP_H
#define MODULES_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct zip; /* opaque: the directory of an archive */

/* A file in an archive. */
struct zip_part {
	uint64_t start, size; /* of its contents, which lie inside of the archive */
	const char *name;     /* not terminated; lives as long as the struct zip */
	size_t name_bytes;
};

/* Does the file begin like an archive? */
bool zip_is_one(int fd);
/* Reads the directory. Returns 0, or a negative value: -ERR_FORMAT if it is no archive,
 * -ERR_DAMAGED, -ERR_UNSUPPORTED (ZIP64), -ERR_NOMEM. */
int zip_open(struct zip **ret, int fd);
void zip_free(struct zip *z); /* NULL is allowed */
/* The uncompressed file that contains the offset, and the one with a name; `fd` is that of
 * zip_open(). Return false if there is none, or its header contradicts the directory. */
bool zip_at(const struct zip *z, int fd, uint64_t off, struct zip_part *ret);
bool zip_named(const struct zip *z, int fd, const char *name, struct zip_part *ret);

/* A file in an archive has the path "ARCHIVE!/NAME", as in simpleperf's recordings. Where NAME
 * begins; NULL: the path has no such part. */
const char *zip_name_in(const char *path);
/* Like rooted_open_to_data_end() and rooted_stat() (base/rooted.h). If there is no file with that
 * path and it names one in an archive, opens the archive. */
int zip_rooted_open(const char *root, const char *path);
int zip_rooted_stat(const char *root, const char *path, struct stat *st);

#endif
