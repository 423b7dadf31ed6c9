/* outfile.h - writes a file under a temporary name and renames it over the old one at the end.
 *
 * Other users may create files and links in the folder (/tmp), and exchange them at any time. So
 * the folder is opened once, the name in it is examined once, and everything else is done through
 * that descriptor. In a folder of our own a link is followed and its target is replaced. In a
 * folder that others may write to, links of other users are not followed, and files of other users
 * are not written to: they are replaced by a new file. */
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

/* Finds the folder and name to which `path` leads. Returns 0, or negative with *err:
 * -ERR_PERMISSION if another user has put a link, pipe or device there. Call outplace_done() in
 * both cases. */
int outplace_find(struct outplace *p, const char *path, struct err *err);
void outplace_done(struct outplace *p);

struct outfile {
	struct outplace place;
	const char *path; /* the caller's */
	int fd;
	char temp[NAME_MAX + 1]; /* in place.dir; "": none (any more) */
};

/* Creates a temporary file in the same folder; an existing target that is not a regular file is
 * opened in place. A replaced file keeps its mode and owner. A new file has the mode that the umask
 * gives, or 0600 for root. Returns 0, or negative with *err. */
int outfile_create(struct outfile *f, const char *path, struct err *err);
/* Opens a file to write at its end; a new one has the mode that outfile_create() gives. Returns 0,
 * or negative with *err. */
int outfile_append(struct outfile *f, const char *path, struct err *err);
/* Renames the temporary file to its final name if `keep`, else removes it. Closes `fd` unless it is
 * -1 (the caller has closed it). Returns 0, or negative with *err. */
int outfile_finish(struct outfile *f, bool keep, struct err *err);
/* Removes the temporary file. Async-signal-safe. */
void outfile_remove(const struct outfile *f);

#endif
