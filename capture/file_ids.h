/* file_ids.h - private: build ids of files whose maps the kernel reports without one.
 *
 * It looks at PT_NOTE only, and only at what is in memory (lib/buildid.c); Go 1.24 leaves its note
 * in a section. So such files are read when the recording ends, and go into the BUILD_ID feature,
 * which names ids by path. */
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
	struct buildid id;
};

/* A zeroed one is empty. */
struct file_ids {
	struct hash_table known; /* by path and inode; by path alone */
	VEC(struct mapped_file) files;
	VEC(uint32_t) paths; /* by index of a file: the first one of its path */
};

/* Takes a record of the kernel: MMAP2 of code that has no build id. Others are passed over. 0, or
 * -1 without memory. */
int file_ids_note(struct file_ids *f, const uint8_t *rec, size_t n);
/* Reads the files that are still what was mapped, and writes the feature's section: nothing when no
 * file has an id. A path that stood for several files is left out unless all have one. */
void file_ids_section(struct file_ids *f, struct bytes *out);
void file_ids_done(struct file_ids *f);

#endif
