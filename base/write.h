/* write.h - bytes into a file, whatever a single call takes. */
#ifndef BASE_WRITE_H
#define BASE_WRITE_H

#include <stddef.h>
#include <stdint.h>

/* All n bytes at the file's position, or at `off`. 0 or an errno; ENOSPC when nothing more is
 * taken. How much was written by then is not known. */
int write_all(int fd, const void *bytes, size_t n);
int write_all_at(int fd, const void *bytes, size_t n, uint64_t off);

#endif
