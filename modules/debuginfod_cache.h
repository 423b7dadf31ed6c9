/* debuginfod_cache.h - the files of libdebuginfod's cache. Private to modules/debuginfod*.
 *
 * DIR/BUILD-ID/{executable,debuginfo,section-.NAME}; an empty one says that servers have none. */
#ifndef MODULES_DEBUGINFOD_CACHE_H
#define MODULES_DEBUGINFOD_CACHE_H

#include "modules/debuginfod.h"

/* `file` as in struct debuginfod_query. "" when it would be too long. */
void cache_path(const char *dir, const struct build_id *id, const char *file, char out[PATH_MAX]);
/* Is q->path a whole ELF file with the build id, or for .note.gnu.build-id the note with it? DONE,
 * NOT_ELF or BUILD_ID_DIFFERS; NO_CACHE when it cannot be read. Other sections pass. */
enum fetch_result cache_check(struct debuginfod_query *q);
/* Is the file there? Fills q->path. A wrong one, which the library would give out, is removed. */
bool cache_has(const char *dir, struct debuginfod_query *q);
/* Does it say that there is no such file? */
bool cache_says_no(const char *dir, const struct debuginfod_query *q);
/* Removes that word, which makes the library say "not found" for ten minutes, and which it also
 * leaves when a server was in trouble or we had no more patience. For a section it asks for both
 * whole files, too. */
void cache_forget_no(const char *dir, const struct debuginfod_query *q);
/* Makes the directories above `dir`, which the library does not. */
void cache_make_dir(const char *dir);

#endif
