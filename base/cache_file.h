/* cache_file.h - files in a cache directory that several processes share. */
#ifndef BASE_CACHE_FILE_H
#define BASE_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Identifies this build of the program by its build id. Caches store it, because another build may
 * have computed something else (or something wrong). Returns 0 if the program was linked without a
 * build id. */
uint64_t cache_file_maker(void);

/* Maps a file for reading and sets its access and modification times to now; the caller ends the
 * mapping with munmap(). Returns false if the file does not exist, is not a regular file, or
 * belongs to another user: its contents are trusted, and its owner could truncate it while it is
 * mapped. */
bool cache_file_map(const char *path, const void **data, size_t *size);

/* Makes the directory of a cache if it is missing. Returns NULL if it exists, belongs to this user,
 * is not writable by every user, and only root and this user have made the links and directories
 * that lead there; else the reason (a static string) why it must not be used:
 * other users could place links in it, or files that would be trusted or deleted. */
const char *cache_dir_make(const char *dir);

/* Makes the directory with cache_dir_make(), writes a temporary file ".new-..." in it and renames
 * that to `path`, so that readers see either the old file or the whole new one. Only this user can
 * read the file. Returns false if any step fails. */
bool cache_file_publish(const char *dir, const char *path, const void *bytes, size_t size);

#endif
