/* past.h - private: what records say about processes that are there, without what is over.
 *
 * A flight recorder keeps the last seconds of samples, but needs the maps of processes that began
 * long before. Their records (FORK, COMM, MMAP2 ...) come here when they are older than the samples
 * that are kept. What no later sample can need is dropped from time to time: processes and threads
 * that have ended, programs that an exec has replaced, maps that another one has replaced. A
 * process that was forked and has not called exec has the maps of its parent, whose records are
 * kept as long as it needs them. */
#ifndef CAPTURE_PAST_H
#define CAPTURE_PAST_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "capture/bytes.h"

struct past {
	struct bytes records; /* as the kernel wrote them, with their trailers */
	size_t compact_bytes; /* when they have so many, what is over is dropped */
};

/* A zeroed one is empty. Appends whole records; what is no record about processes is left out. */
void past_add(struct past *p, const uint8_t *records, size_t n);
/* Drops what is over, if there is much. Records that come later may be of up to 5 s before the last
 * one: rings of other processors are read later. Returns 0, or -1 when out of memory. */
int past_compact(struct past *p);
/* Sorts, drops what is over, and makes the records of a time before all others (their trailer is
 * zero, as that of synthesized ones). Nothing may be added any more. Returns 0, or -1. */
int past_settle(struct past *p);
void past_done(struct past *p);

#endif
