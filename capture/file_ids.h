/* file_ids.h - private: build ids of files whose maps the kernel reports without one.
 *
 * The kernel reads PT_NOTE only, and only pages that are in memory (lib/buildid.c); Go 1.24 has its
 * note only in a section. So such files are read at the end of the recording, and their ids go into
 * the BUILD_ID feature, which has ids by path. */
#ifndef CAPTURE_FILE_IDS_H
#define CAPTURE_FILE_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "capture/buildid.h"
#include "capture/bytes.h"

struct mapped_file {
	char *path;
	uint32_t pid, maj, min;
	uint64_t ino;
	int64_t seen_ns; /* CLOCK_REALTIME: it was mapped before */
	struct build_id id;
};

/* A zeroed one is empty. */
struct file_ids {
	struct hash_table known; /* by path and inode; by path alone */
	VEC(struct mapped_file) files;
	VEC(uint32_t) paths; /* by index of a file: the first one of its path */
};

/* Takes a record of the kernel; ignores all but MMAP2 records of code without build id. Returns 0,
 * or -1 when out of memory. */
int file_ids_note(struct file_ids *f, const uint8_t *rec, size_t n);
/* Reads those files that are still the ones that were mapped, and writes the contents of the
 * feature: nothing if no file has an id. A path that stood for several files is left out unless all
 * of them have an id. */
void file_ids_section(struct file_ids *f, struct bytes *out);
void file_ids_done(struct file_ids *f);

#endif
