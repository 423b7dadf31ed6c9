/* rooted.h - opens files whose names come from a recording, another file or another process:
 * nothing but a regular file that has contents, and below a root nothing outside of it.
 *
 * A path has a root when it begins with `root` ("" or NULL: none given), or else with
 * /proc/PID/root. Links and ".." in the rest of it lead to where they lead for a process with that
 * root directory: openat2(2), RESOLVE_IN_ROOT. All that is done with a file is done with one
 * descriptor of it, so it does not matter who puts another one in its place meanwhile. Nothing is
 * mounted because of a path without a root (autofs): what is not yet is not there, EREMOTE. Links
 * that are in the file system may lead to such places all the same. */
#ifndef BASE_ROOTED_H
#define BASE_ROOTED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/err.h"

/* For reading. What has the name is looked at before it is opened, so that no device or FIFO ever
 * is: -1 and ENODEV. A file that claims to be large and is nearly all holes: EFBIG. A link at the
 * end that is not to be followed: ELOOP. A descriptor, or -1 and errno. */
int rooted_open(const char *root, const char *path, bool follow);
/* What has the name, without opening it. 0, or -1 and errno. */
int rooted_stat(const char *root, const char *path, bool follow, struct stat *st);
/* The path without links, which begins with `root` as it was given. False when there is no such
 * file, or it is below /proc/PID/root, where the kernel's paths are those of another file system.
 */
bool rooted_real(const char *root, const char *path, char out[PATH_MAX]);
/* The length of "/proc/PID/root" at the beginning of a path; 0: it begins with something else. */
size_t rooted_process_root(const char *path);
/* Sets *err for the errno of rooted_open(); a negative error code. */
int rooted_error(struct err *err, int errnum, const char *path);
/* Is it this user's, or root's? What others can have written is not believed. */
bool rooted_is_trusted(const struct stat *st);

#endif
