/* read_file.h - text files: a whole one in memory, and the numbers in it. Private to symbolize/. */
#ifndef SYMBOLIZE_READ_FILE_H
#define SYMBOLIZE_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Reads a regular or /proc file of at most max bytes; what lies behind is ignored (*cut says so;
 * may be NULL). *data is allocated, ends in a NUL that *size does not count, and is the caller's to
 * free. 0, -ERR_NOT_FOUND, -ERR_PERMISSION, -ERR_IO, -ERR_NOMEM, -ERR_UNSUPPORTED (not a
 * file). */
int read_file(const char *path, size_t max, char **data, size_t *size, bool *cut, struct err *err);

/* The same of what was opened by rooted_open() and looked at. The caller closes it. */
int read_file_fd(int fd, const char *path, size_t max, char **data, size_t *size, bool *cut,
		 struct err *err);

/* Takes a hexadecimal number of at least one and at most 16 significant digits from a
 * NUL-terminated text. False, with *p unchanged, when there is none. */
bool take_hex(char **p, uint64_t *ret);

#endif
