/* cache_file.h - writing into a cache directory that several processes use. Private to symbolize/.
 */
#ifndef SYMBOLIZE_CACHE_FILE_H
#define SYMBOLIZE_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the directory where needed, writes ".new-..." in it and renames that to `path`, so that
 * readers see the old file or the whole new one. Nobody but the user can read it. */
bool cache_file_publish(const char *dir, const char *path, const void *bytes, size_t size);

#endif
