/* sandbox.h - gives up what reading a foreign file does not need.
 *
 * Parsers of perf.data, ELF, DWARF and other tools' profiles read what strangers wrote. If one of
 * them can be made to run a stranger's code, that code is to find nothing to work with. After
 * sandbox_enter(), for all threads and later children:
 *
 * - no new privileges; of root's capabilities those to read remain, and what the output needs;
 * - files are written, made and removed below the given folders only (landlock(7), Linux 5.13);
 *   reading is free. Nothing is executed (landlock, seccomp);
 * - seccomp(2) lets pass the system calls that parsing, threads and writing need. Others fail with
 *   ENOSYS; exec, sockets, ptrace, signals to others, changes of owners and modes with EPERM. With
 *   `network`, for the process that fetches, it is the other way round: what is named here fails,
 *   but sockets remain.
 *
 * /proc/PID/root, maps, map_files and exe of other processes, through which files of containers are
 * found, are closed to a process with landlock. A helper process that was started before opens them
 * (base/helper.h).
 *
 * What the kernel cannot do is left out, and said in `lacks`. Under a sanitizer there is no
 * seccomp, as its own checks need ptrace. */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { SANDBOX_PATHS_MAX = 12 };

/* Zeroed: nothing may be written. */
struct sandbox {
	/* Descriptors (O_PATH) of folders below which, and of files to which may be written. */
	int paths[SANDBOX_PATHS_MAX];
	bool links[SANDBOX_PATHS_MAX]; /* symbolic links may be made there, too */
	size_t n_paths;
	bool network;	   /* sockets */
	bool may_chown;	   /* an output that replaces another user's file keeps its owner */
	bool may_link;	   /* below one of the paths */
	bool terminal;	   /* may be switched to single keys */
	bool may_override; /* root writes into another user's folder */
	bool no_helper;	   /* no file of another process is read */
};

/* Allows an output (base/outfile.h) to be written: the folder that it is in, or itself if it is no
 * regular file. Of what is not there yet, or cannot be opened, nothing is allowed; opening it later
 * fails as it would without a sandbox. */
void sandbox_allow_output(struct sandbox *s, const char *path);
/* Allows everything below a folder, if it exists. */
void sandbox_allow_folder(struct sandbox *s, const char *path);
/* The same, and symbolic links. */
void sandbox_allow_links(struct sandbox *s, const char *path);
/* Enters, and closes the descriptors. To be called before there are threads. lacks: names of what
 * this kernel does not have, "" if nothing. Returns 0, or negative with *err if a step failed that
 * the kernel has. */
int sandbox_enter(struct sandbox *s, char *lacks, size_t size, struct err *err);

#endif
