/* bundle_pins.h - private: keeps the files that are mapped as code open, for the bundle at the end.
 *
 * By then the process may have ended, its file may be deleted or replaced, and the mount namespace
 * that it was in may be gone. /proc/PID/map_files leads to the very file while it is mapped.
 *
 * What is open keeps its file system from being unmounted. One that capture itself does not live on
 * (a container's, a volume, a private mount namespace) is let go as soon as a thread has copied the
 * file into memory: the copy takes its place. What is too much for that is let go when the process
 * that mapped it last has ended, and so are roots. */
#ifndef CAPTURE_BUNDLE_PINS_H
#define CAPTURE_BUNDLE_PINS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/hash.h"
#include "base/vec.h"
#include "cut/cut.h"
#include "reader/reader.h"

/* A file, and where it was mapped last. */
struct pinned_file {
	int fd;		  /* -1: let go without a copy, or never opened */
	bool was_opened;  /* else what is here says only that there was one */
	bool is_foreign;  /* its file system may be unmounted */
	bool is_copy;	  /* or nothing: the file was let go */
	bool has_changed; /* by what is mapped now */
	bool has_other;	  /* an earlier file had its inode */
	uint64_t generation;
	struct timespec noted; /* when it was mapped already */
	struct timespec written;
	off_t size;
	dev_t dev;
	ino_t ino;
	uint32_t pid;
	uint64_t start, end;
};

/* Of a JIT compiler, of a process that has ended. */
struct pinned_text {
	uint32_t pid;
	char *path; /* of a jitdump; NULL: the perf map */
	int fd;
};

/* What is copied by the thread, in the order of `files` or `texts`. */
struct pinned_copy {
	size_t index;
	bool is_text;
	bool is_early; /* its process lives */
	bool is_done;
	int fd; /* of the file, then of its copy */
	uint64_t bytes;
};

/* A process that runs code without a file: where its JIT compiler's files are. */
struct pinned_root {
	uint32_t pid;
	uint32_t inner;	   /* its number in its own PID namespace */
	uint64_t began_ns; /* by the wall clock; 0: not known */
	uid_t owner;
	bool has_owner;
	int root, mounts; /* its root folder and mount namespace; -1: gone */
	bool is_foreign;
};

/* Zeroed: pins nothing. */
struct pins {
	bool on;
	struct timespec begun;
	/* -> index of files; by inode alone, or by build id alone: of the last one */
	struct hash_table by_file;
	VEC(struct pinned_file) files;
	struct hash_table by_pid; /* -> index of roots */
	VEC(struct pinned_root) roots;
	size_t room;	 /* descriptors that may still be opened */
	size_t left_out; /* files for which there was none */
	/* Of those that are let go. */
	dev_t home[3]; /* file systems that capture keeps busy itself */
	ino_t mounts;  /* its mount namespace */
	size_t n_foreign;
	bool looks; /* a process has ended since the last look */
	uint64_t looked_ns;
	uint64_t look_ns; /* how long after that one the next may follow */
	size_t n_early;	  /* of the files, looked at for a copy while they are mapped */
	VEC(struct pinned_text) texts;
	VEC(struct pinned_text) dumps; /* jitdumps of living processes; fd -1 */
	VEC(struct pinned_copy) copies;
	pthread_t copier;
	bool copies_now;
	atomic_bool has_copied;
	uint64_t copied_bytes;
	size_t too_much; /* files that were let go without a copy */
};

void pins_begin(struct pins *p);
/* Takes a record; ignores all but MMAP2 of code. Without memory nothing more is pinned. */
void pins_note(struct pins *p, const uint8_t *rec, size_t n);
/* Lets go what is to be. To be called often; it looks around when a process has ended, and else now
 * and then. */
void pins_look(struct pins *p, uint64_t now_ns);
/* For modules_options.pinned: the descriptor of the file of a dso, or -1; then *changed says that
 * no file that is there now need be it. `pins` is a struct pins that nothing is added to any more.
 */
int pins_find(void *pins, const struct dso *dso, bool *changed);
/* The file of a JIT compiler as its process saw it; for cut_options.read_file. */
void pins_read(void *pins, const struct dso *dso, uint32_t pid, struct cut_text *ret);
void pins_done(struct pins *p);

/* ---- between bundle_pins.c and bundle_leave.c ----------------------------------------------- */

void pins_begin_leaving(struct pins *p);
/* Is it on a file system that may be unmounted? */
bool pins_is_foreign(const struct pins *p, int fd);
bool pins_is_foreign_root(const struct pins *p, const struct pinned_root *r);
/* Opens a file of a JIT compiler as the process saw it; -1. */
int pins_open_text(const struct pinned_root *r, const char *path);
/* Of the files that were kept of processes that have ended; -1: none. */
int pins_find_text(const struct pins *p, uint32_t pid, const char *path);
void pins_done_leaving(struct pins *p);

#endif
