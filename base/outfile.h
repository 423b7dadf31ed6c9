/* outfile.h - a file that is written as a whole and takes the place of an older one at the end.
 *
 * Other users may create files and links where we write (/tmp), and exchange them while we look. So
 * the folder is opened once, and all that follows is decided by one look at the name in it and done
 * through that descriptor. A link of our own folders is followed, and what it leads to is replaced;
 * in a folder that others may write to no link of another user is followed, and a file of another
 * user is not written to: its name gets a new file.
 */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

/* A name in an open folder. */
struct outplace {
	int dir; /* O_PATH */
	char name[NAME_MAX + 1];
	bool exists;
	struct stat st; /* of what has the name, which is no link */
	bool is_shared; /* others may create names in the folder */
};

/* Where `path` leads. 0, or negative with *err: -ERR_PERMISSION for what another user may have put
 * there. outplace_done() in both cases. */
int outplace_find(struct outplace *p, const char *path, struct err *err);
void outplace_done(struct outplace *p);

struct outfile {
	struct outplace place;
	const char *path; /* the caller's */
	int fd;
	bool is_direct;		 /* written to as it is: a pipe, a terminal, /dev/stdout */
	char temp[NAME_MAX + 1]; /* in place.dir; "": none (any more) */
};

/* Creates the file under a name of its own beside its place; what is no regular file is opened
 * itself. Mode and owner are those of the file that is replaced; of a new one by the umask, for
 * root 0600. 0 or negative with *err. */
int outfile_create(struct outfile *f, const char *path, struct err *err);
/* It takes its place, if that is wanted. `fd` may be closed by now; it is closed if it is not -1. 0
 * or negative with *err. */
int outfile_finish(struct outfile *f, bool keep, struct err *err);
/* Removes the unfinished file. For signal handlers. */
void outfile_remove(const struct outfile *f);

#endif
