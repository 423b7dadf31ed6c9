/* write_all.h - writes all bytes, by as many write(2) or pwrite(2) calls as it takes. */
#ifndef BASE_WRITE_ALL_H
#define BASE_WRITE_ALL_H

#include <stddef.h>
#include <stdint.h>

/* Writes n bytes at the file's position, or at offset `off`. Returns 0 or an errno (ENOSPC if the
 * kernel writes nothing and reports no error). After a failure, how much was written is unknown. */
int write_all(int fd, const void *bytes, size_t n);
int write_all_at(int fd, const void *bytes, size_t n, uint64_t off);

#endif
