/* cache_file.h - files of a cache directory that several processes use. */
#ifndef BASE_CACHE_FILE_H
#define BASE_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Identifies this build of the program, by its build id: what another one has worked out
 * may be what it got wrong. 0 when it was linked without one. */
uint64_t cache_file_maker(void);

/* Maps a file for reading and marks it as used now; munmap() ends it. False when there is none, or
 * it is no regular file or another user's: what stands in there is believed, and its owner may cut
 * it while it is read. */
bool cache_file_map(const char *path, const void **data, size_t *size);

/* Makes a cache's directory where it is missing. NULL: it is there, and only this user can write to
 * it; else why it is not to be used: what others can put there would be written through, trimmed or
 * believed. */
const char *cache_dir_make(const char *dir);

/* Makes the directory by cache_dir_make(), writes ".new-..." in it and renames that to `path`, so
 * that readers see the old file or the whole new one. Only the user can read it. */
bool cache_file_publish(const char *dir, const char *path, const void *bytes, size_t size);

#endif
