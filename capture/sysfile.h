/* sysfile.h - private: reads small files of /proc and /sys. */
#ifndef CAPTURE_SYSFILE_H
#define CAPTURE_SYSFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads at most size-1 bytes and appends a NUL. Returns the length, or -1 with errno. */
ssize_t sysfile_read(const char *path, char *buf, size_t size);
/* The same without the newline at the end. 0 or -1. */
int sysfile_line(const char *path, char *buf, size_t size);
/* A decimal number at the start of the file. 0 or -1. */
int sysfile_u64(const char *path, uint64_t *ret);
int sysfile_i64(const char *path, int64_t *ret);
/* Reads the whole file and appends a NUL; the caller frees it. NULL with errno, which is ENOMEM for
 * a file that is larger than `max` bytes (up to twice that may be accepted). */
char *sysfile_read_all(const char *path, size_t max, size_t *ret_size);

#endif
