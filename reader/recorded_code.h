/* recorded_code.h - how capture writes code that no file has, while it records. Part of format.h.
 *
 * What was read of a process (runtimes/runtimes.h) is a jitdump in a zstd frame, or several of them
 * one after another. A frame that is ready goes into the data section at once, so that it is there
 * whatever happens to the recorder, in records that hold one piece of it each. They have the type
 * RECORD_EVENT_TYPE as packed_switches.h has, and stand between compressed records, never in one:
 * they are found without reading the rest. Pieces of a frame follow each other; other records may
 * stand between. Zeros follow a piece, as there.
 *
 * One that holds nothing (packed is 0) stands behind all of them, with the number of the last. A
 * stream begins with one, of number 0, if others may come: who reads it needs all of them before
 * the first sample.
 *
 * perf_file_recorded_code() (reader.h) makes the section of them that stands at the end of a
 * recording that has nothing of this kind in its data. */
#ifndef READER_RECORDED_CODE_H
#define READER_RECORDED_CODE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/nonstring.h"

#define RECORDED_CODE_MAGIC   "\377RTCODE\377"
#define RECORDED_CODE_VERSION 1

/* Of a record, as of a packed_switches. */
enum { RECORDED_CODE_BYTES_MIN = 80 };

struct recorded_code {
	struct perf_event_header header; /* RECORD_EVENT_TYPE */
	char magic[8] NONSTRING;
	uint16_t version;
	uint16_t frame; /* its number in the file, from 1 on, modulo 2^16 */
	uint32_t pid;
	uint64_t bytes;	 /* of the jitdump */
	uint64_t packed; /* of the frame */
	uint64_t at;	 /* of the piece in the frame */
};

_Static_assert(sizeof(struct recorded_code) == 48, "as on disk");

/* Is a record of n bytes one with code? Its type is to be RECORD_EVENT_TYPE. */
static inline bool recorded_code_is(const uint8_t *rec, size_t n)
{
	return n >= sizeof(struct recorded_code) &&
	       !memcmp(rec + offsetof(struct recorded_code, magic), RECORDED_CODE_MAGIC, 8);
}

#endif
