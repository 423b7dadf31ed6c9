/* sysfile.h - private: small files of /proc and /sys read whole. */
#ifndef CAPTURE_SYSFILE_H
#define CAPTURE_SYSFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads at most size-1 bytes and ends them with a NUL. The length, or -1 with errno. */
ssize_t sysfile_read(const char *path, char *buf, size_t size);
/* The same without the newline at the end. 0 or -1. */
int sysfile_line(const char *path, char *buf, size_t size);
/* A decimal number at the start of the file. 0 or -1. */
int sysfile_u64(const char *path, uint64_t *ret);
int sysfile_i64(const char *path, int64_t *ret);
/* The whole file, NUL-terminated, in memory the caller frees; `max` bounds it. NULL with errno. */
char *sysfile_read_all(const char *path, size_t max, size_t *ret_size);

#endif
