/* unpack_switches.h - records of context switches out of one that holds many
 * (reader/packed_switches.h). Private to reader/. */
#ifndef READER_UNPACK_SWITCHES_H
#define READER_UNPACK_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "reader/block.h"

struct perf_file;
struct record_view;

/* Of a stream. Zeroed: there were none yet. */
struct unpacked_switches {
	struct block *block;	/* pinned: where the next ones go; NULL */
	VEC(uint16_t) follower; /* of each row of the record at hand */
	uint64_t bytes;		/* in all */
};

/* Is the record one of these? b.data is where it begins. */
bool switches_are_packed(const struct buf *b);
/* Handles the records in it as if they stood in the stream. */
int unpack_switches(struct perf_file *f, const struct record_view *v);
void unpacked_switches_done(struct unpacked_switches *u, struct block_store *store);

#endif
