/* rooted.h - opens files whose names come from a recording, from another file or from another
 * process. It opens only regular files that have contents; below a root it opens nothing outside of
 * it.
 *
 * A path has a root if it begins with `root` ("" or NULL: none), or else with /proc/PID/root. Links
 * and ".." in the rest of the path are resolved as a process with that root directory would:
 * openat2(2), RESOLVE_IN_ROOT. Everything is done through one descriptor of the file, so exchanging
 * the file meanwhile has no effect.
 *
 * A path without a root triggers no automount: what autofs has not mounted yet fails with EREMOTE.
 * This does not cover symbolic links in the file system that lead to such places. */
#ifndef BASE_ROOTED_H
#define BASE_ROOTED_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* Opens a file for reading. The file's type is checked before it is opened, so that no device or
 * FIFO ever is (ENODEV). A large file that is nearly all holes fails with EFBIG, and, if `follow`
 * is false, a link as last component with ELOOP. Returns a descriptor, or -1 with errno. */
int rooted_open(const char *root, const char *path, bool follow);
/* The same, following links, for who reads no further than rooted_data_end(): a hole behind that is
 * allowed. */
int rooted_open_to_data_end(const char *root, const char *path);
/* Where the data of an open file ends: its size, but for large files that end in a hole and have
 * few data. */
off_t rooted_data_end(int fd, const struct stat *st);
/* stat() of the file, without opening it for reading. Returns 0, or -1 with errno. */
int rooted_stat(const char *root, const char *path, bool follow, struct stat *st);
/* The path with all links resolved; it begins with `root` as given. Returns false if there is no
 * such file, or if it is below /proc/PID/root, where the kernel reports paths of another file
 * system. */
bool rooted_real(const char *root, const char *path, char out[PATH_MAX]);
/* An O_PATH descriptor of a path without a given root, whatever it is; or -1 with errno. */
int rooted_place(const char *path, bool follow);
/* The length of "/proc/PID/root" at the beginning of a path; 0: it begins with something else. */
size_t rooted_process_root(const char *path);
/* Sets *err from the errno of rooted_open() and returns a negative error code. */
int rooted_error(struct err *err, int errnum, const char *path);
/* Is this user or root the owner? Contents that other users can write are not trusted. */
bool rooted_is_trusted(const struct stat *st);
/* When it was last written, by the wall clock. */
uint64_t rooted_written_ns(const struct stat *st);

#endif
