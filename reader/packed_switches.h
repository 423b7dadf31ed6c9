/* packed_switches.h - how capture writes many records of context switches as one. Part of format.h.
 *
 * PERF_RECORD_SWITCH has 40 bytes, of which all but the time are those of an earlier one, and zstd
 * cannot know that times grow. perf ends at a type that it does not know, but passes over
 * RECORD_EVENT_TYPE, which no recent recorder writes: such a record is one of these when
 * these bytes follow its header. In it, behind the head:
 *
 *	rows	 records without their times, record_bytes - 8 each
 *	places	 for each record, in its order: the number of its row + 1; or 0, if it is the row
 *		 that followed the last record's row when that came the last time (row 0, if that
 *		 was the first time or if there is no last record)
 *	deltas	 for each record: its time, less that of the last one (modulo 2^64)
 *
 * Places and deltas are as in DWARF's ULEB128: seven bits a byte, the lowest first. Zeros
 * follow, up to a multiple of 8 that perf 7.2 takes for a whole RECORD_EVENT_TYPE. All is in the
 * byte order of the recording. */
#ifndef READER_PACKED_SWITCHES_H
#define READER_PACKED_SWITCHES_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "base/nonstring.h"

#define PACKED_SWITCHES_MAGIC	"\377SWITCH\377"
#define PACKED_SWITCHES_VERSION 1

/* An id and a name of 64 bytes. */
enum { PACKED_SWITCHES_BYTES_MIN = 80 };

/* Larger ones there are not: SWITCH_CPU_WIDE with all fields of a sample_id. */
enum { PACKED_SWITCH_BYTES_MAX = 64 };

struct packed_switches {
	struct perf_event_header header; /* RECORD_EVENT_TYPE */
	char magic[8] NONSTRING;
	uint16_t version;
	uint16_t record_bytes; /* of each */
	uint16_t time_at;      /* where in it the time is */
	uint16_t n_rows;
	uint32_t n;
	uint32_t places_bytes;
	uint64_t before_ns; /* to which the first delta is added */
};

_Static_assert(sizeof(struct packed_switches) == 40, "as on disk");

#endif
