/* jit_file.h - the files that JIT compilers write, as the recording machine has them. Private to
 * cut/. */
#ifndef CUT_JIT_FILE_H
#define CUT_JIT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"

/* Reads the perf map (DSO_ANON) or jitdump of a process, at its path below symfs or, of a process
 * that still runs, in its container. A file of another user is not read, unless it is the one that
 * was mapped. NULL: there is none, or no memory. The result is malloc'ed. */
void *cut_jit_file(const char *symfs, const struct dso *dso, uint32_t pid, size_t *size);

#endif
