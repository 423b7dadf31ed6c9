/* switch_pack.h - private: records of context switches become one record of the file, of a fifth of
 * the size once that is compressed (reader/packed_switches.h). */
#ifndef CAPTURE_SWITCH_PACK_H
#define CAPTURE_SWITCH_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "reader/format.h"

/* SWITCH_CPU_WIDE is the larger one. */
enum { SWITCH_RECORD_MAX = 48 };
enum { SWITCH_ROWS_MAX = 512, SWITCH_SLOTS = 4 * SWITCH_ROWS_MAX };
enum { SWITCH_PACK_RECORDS = 8192, SWITCH_PLACES_BYTES = 2 * SWITCH_PACK_RECORDS };
enum { SWITCH_DELTAS_BYTES = 24 << 10 };

/* The largest record that comes of it. */
#define SWITCH_PACK_BYTES                                                               \
	(sizeof(struct packed_switches) + SWITCH_ROWS_MAX * (SWITCH_RECORD_MAX - 8ul) + \
	 SWITCH_PLACES_BYTES + SWITCH_DELTAS_BYTES + 8)

_Static_assert(SWITCH_PACK_BYTES < 65000, "it is a record, and a piece of record_writer.h");

/* Zeroed: empty. */
struct switch_pack {
	uint32_t n;
	uint16_t record_bytes; /* of each */
	uint16_t n_rows, last_row;
	uint64_t before_ns, last_ns;
	size_t places_bytes, deltas_bytes;
	uint64_t rows[SWITCH_ROWS_MAX][SWITCH_RECORD_MAX / 8]; /* with times that are zero */
	uint64_t row_last_ns[SWITCH_ROWS_MAX];
	uint16_t follower[SWITCH_ROWS_MAX]; /* the row that came behind it the last time */
	uint16_t slots[SWITCH_SLOTS];	    /* row + 1, by a hash of the row; 0: free */
	uint8_t places[SWITCH_PLACES_BYTES], deltas[SWITCH_DELTAS_BYTES];
};

static inline bool is_switch_record(uint32_t type)
{
	return type == PERF_RECORD_SWITCH || type == PERF_RECORD_SWITCH_CPU_WIDE;
}

/* Adds a record of n bytes. False: it does not go with those that are there, or there is no room;
 * never when it is empty and the record is one of a context switch with its trailer (attr.h). */
bool switch_pack_add(struct switch_pack *p, const uint8_t *rec, size_t n);
/* Writes the record to dst (SWITCH_PACK_BYTES of room). Returns its size, 0: there is none. */
size_t switch_pack_write(const struct switch_pack *p, uint8_t *dst);
/* Remembers when its threads switched (switch_event.h). Returns 0, or -1 when out of memory. */
int switch_pack_note(const struct switch_pack *p, struct hash_table *seen);
void switch_pack_clear(struct switch_pack *p);

/* The time of the first switch of such a record of n bytes; 0: it is none. */
uint64_t switch_pack_first_ns(const uint8_t *rec, size_t n);

#endif
