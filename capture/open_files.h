/* open_files.h - private: paths of the files that processes had open when the recording began.
 *
 * They are read of /proc without a stop of the process, as soon as its calls are recorded: what it
 * opens and closes from then on is told by these. */
#ifndef CAPTURE_OPEN_FILES_H
#define CAPTURE_OPEN_FILES_H

#include <sys/types.h>

#include "base/hash.h"
#include "base/text.h"

/* A zeroed one is empty. */
struct open_files {
	struct hash_table at; /* of process and descriptor: where in `paths` */
	struct text paths;    /* NUL-terminated */
};

/* Adds those of a process. What cannot be read, or has no room in memory, is not known. */
void open_files_read(struct open_files *f, pid_t pid);
/* The path, and forgets it; NULL: not known. Valid until the next reading. */
const char *open_files_take(struct open_files *f, pid_t pid, int fd);
void open_files_done(struct open_files *f);

#endif
