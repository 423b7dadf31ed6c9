/* debuginfod_cache.h - the files of libdebuginfod's cache. Private to modules/.
 *
 * The names are DIR/BUILD-ID/{executable,debuginfo,section-.NAME}, since elfutils 0.192
 * section-HASH-.NAME. An empty file says that the servers do not have it. The library lets only its
 * own user write there, so a file of another user was not written by it and is not read. Symbolic
 * links below DIR are not followed, also not to remove files. */
#ifndef MODULES_DEBUGINFOD_CACHE_H
#define MODULES_DEBUGINFOD_CACHE_H

#include "modules/debuginfod.h"

/* Makes the path of a file; `file` as in struct debuginfod_query. Sets out to "" if it is too long.
 */
void cache_path(const char *dir, const struct build_id *id, const char *file, char out[PATH_MAX]);
/* Opens a file for reading. Returns -1 and sets *why: NO_FILE, PERMISSION, NOT_A_FILE (a link, a
 * directory ...), NOT_TRUSTED. */
int cache_open(const char *dir, const struct build_id *id, const char *file, enum module_miss *why);
/* Is the file whole, ELF, and of this build id? (Of .note.gnu.build-id: is it the note with this
 * build id?) Returns DONE, NOT_ELF or BUILD_ID_DIFFERS; NO_CACHE if it cannot be read. Other
 * sections are not checked. */
enum fetch_result cache_check(const char *dir, struct debuginfod_query *q);
/* Is a valid file there? Sets q->path. Removes a file that is not valid, because the library would
 * return it. */
bool cache_has(const char *dir, struct debuginfod_query *q);
void cache_remove(const char *dir, const struct build_id *id, const char *file);
/* Renames a file within the directory of its build id. Returns 0 or -1. */
int cache_rename(const char *dir, const struct build_id *id, const char *from, const char *to);

/* ---- "there is no such file" ----
 * The library leaves an empty file also after a server failed or the user cancelled, and then
 * reports "not found" for ten minutes, whichever servers are to be asked. So we sign the empty
 * files that are true: the nanoseconds of their modification time, which the library does not use,
 * are a hash of the servers that said so. */

/* Is there an empty file for the query, signed or not? */
bool cache_says_no(const char *dir, const struct debuginfod_query *q);
/* Signs the empty file of a query: all servers of this list have just said that they lack the file.
 */
void cache_sign_no(const char *dir, const struct debuginfod_query *q, const char *servers);
/* Removes empty files that are not signed for this list; with NULL all empty files. For a section
 * also those of both whole files, which the library asks for, too. */
void cache_forget_no(const char *dir, const struct debuginfod_query *q, const char *servers);

/* Is there something else than a directory under the build id's name? */
bool cache_is_blocked(const char *dir, const struct build_id *id);

#endif
