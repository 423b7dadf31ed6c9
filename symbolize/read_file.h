/* read_file.h - reads text files into memory, and parses hexadecimal numbers. Private to
 * symbolize/. */
#ifndef SYMBOLIZE_READ_FILE_H
#define SYMBOLIZE_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Reads at most max bytes of a regular or /proc file; *cut (may be NULL) says whether there is
 * more. *data is allocated, owned by the caller, and ends in a NUL that *size does not count.
 * Returns 0, -ERR_NOT_FOUND, -ERR_PERMISSION, -ERR_IO, -ERR_NOMEM, or -ERR_UNSUPPORTED (not a
 * file). */
int read_file(const char *path, size_t max, char **data, size_t *size, bool *cut, struct err *err);

/* The same for a file opened by rooted_open(), which the caller closes. */
int read_file_fd(int fd, const char *path, size_t max, char **data, size_t *size, bool *cut,
		 struct err *err);

/* Parses a hexadecimal number with at least one digit and at most 16 significant ones, in a
 * NUL-terminated text; moves *p after it. Returns false, with *p unchanged, if there is none. */
bool take_hex(char **p, uint64_t *ret);

#endif
