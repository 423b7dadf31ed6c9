/* mmap2.h - private: the one parser of MMAP2 records, for all that capture learns from them.
 * Source of truth: perf_event.h, PERF_RECORD_MMAP2. */
#ifndef CAPTURE_MMAP2_H
#define CAPTURE_MMAP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "reader/format.h"

struct mmap2 {
	uint16_t misc; /* PERF_RECORD_MISC_* */
	uint32_t pid, tid;
	uint64_t start, bytes, pgoff;
	uint32_t maj, min; /* as all to ino_generation: only without build id */
	uint64_t ino;
	uint64_t ino_generation; /* tells files apart that had one inode; 0: not known */
	bool has_build_id;
	uint32_t prot, flags;
	const char *path; /* in the record */
};

/* Returns false, and leaves *ret alone, if the record is of another type or damaged. */
bool mmap2_parse(const uint8_t *rec, size_t n, struct mmap2 *ret);
/* Is it of memory that has no code? */
static inline bool mmap2_is_data(const struct mmap2 *m)
{
	return m->misc & PERF_RECORD_MISC_MMAP_DATA;
}
/* A file whose path is longer than the kernel tells (perf_event_mmap_event()). */
static inline bool mmap2_is_too_long(const struct mmap2 *m)
{
	return !strcmp(m->path, "//toolong");
}

#endif
