/* debuginfod_cache.h - the files of libdebuginfod's cache. Private to modules/.
 *
 * DIR/BUILD-ID/{executable,debuginfo,section-.NAME}, since elfutils 0.192 section-HASH-.NAME; an
 * empty one says that servers have none. The library lets only its user read and write there, and
 * so what is there of another user was not put there by it: such files are not read. Nothing is
 * followed or removed through a symbolic link below DIR. */
#ifndef MODULES_DEBUGINFOD_CACHE_H
#define MODULES_DEBUGINFOD_CACHE_H

#include "modules/debuginfod.h"

/* `file` as in struct debuginfod_query. "" when it would be too long. */
void cache_path(const char *dir, const struct build_id *id, const char *file, char out[PATH_MAX]);
/* Opens a file for reading. -1 and why: NO_FILE, PERMISSION, NOT_A_FILE (a link, a directory ...),
 * NOT_TRUSTED. */
int cache_open(const char *dir, const struct build_id *id, const char *file, enum module_miss *why);
/* Is the file whole, ELF, of this build id, or for .note.gnu.build-id the note with it? DONE,
 * NOT_ELF or BUILD_ID_DIFFERS; NO_CACHE when it cannot be read. Other sections pass. */
enum fetch_result cache_check(const char *dir, struct debuginfod_query *q);
/* Is the file there? Fills q->path. A wrong one, which the library would give out, is removed. */
bool cache_has(const char *dir, struct debuginfod_query *q);
void cache_remove(const char *dir, const struct build_id *id, const char *file);
/* Moves a file within its entry. 0 or -1. */
int cache_rename(const char *dir, const struct build_id *id, const char *from, const char *to);

/* ---- "there is no such file" ----
 * The library leaves an empty file also when a server was in trouble or a user had no more
 * patience, and then says "not found" for ten minutes, whatever servers it is to ask. We know
 * better, and sign what is true: the nanoseconds of the modification time, which mean nothing to
 * the library, are made of the names of the servers that said so. */

/* Says one of the empty files so, signed or not? */
bool cache_says_no(const char *dir, const struct debuginfod_query *q);
/* All servers of this list said so just now. */
void cache_sign_no(const char *dir, const struct debuginfod_query *q, const char *servers);
/* Removes what is not signed for this list; with NULL whatever there is. For a section the library
 * asks for both whole files, too. */
void cache_forget_no(const char *dir, const struct debuginfod_query *q, const char *servers);

/* Is there something else in the place of the build id's directory? */
bool cache_is_blocked(const char *dir, const struct build_id *id);

#endif
