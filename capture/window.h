/* window.h - private: the last seconds of a recording, in memory (capture --snapshot).
 *
 * The writer's helper puts compressed data here instead of into a file, in segments that can be
 * decompressed by themselves. A segment that is older than the window is dropped, and so are the
 * oldest ones when there is more data than may be; what they say about processes goes to the past
 * (past.h). The caller must lock: the helper while it writes, others while it does not. */
#ifndef CAPTURE_WINDOW_H
#define CAPTURE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/bytes.h"
#include "capture/past.h"

/* So many segments to a window: it holds up to one more than was asked for. */
enum { WINDOW_SEGMENTS = 8 };

struct segment {
	struct bytes data;	   /* for the file: whole zstd frames */
	struct bytes records;	   /* the records about processes that are in it, as they are */
	uint64_t begin_ns, end_ns; /* of CLOCK_MONOTONIC: when its records were written */
	uint64_t samples, raw_bytes;
	uint64_t first_sample_ns; /* 0: none */
	uint64_t first_ns;	  /* of samples and switches, which are older than begin_ns */
};

struct window {
	uint64_t length_ns;
	size_t max_bytes;
	VEC(struct segment) segments; /* the last one is open */
	struct past past;
	size_t bytes;	    /* of segments */
	uint64_t cut_short; /* segments that were dropped for max_bytes */
	bool failed;	    /* out of memory: what it has is not complete */
};

/* Adds data for the file. */
void window_put(struct window *w, const uint8_t *data, size_t n);
/* Takes note of the records that the data which follow are made of. */
void window_note(struct window *w, const uint8_t *records, size_t n);
/* Should the frame that is open end, so that a segment can? */
bool window_is_due(const struct window *w);
/* No frame is open: ends the segment if it is due, and drops what is too old or too much. */
void window_cut(struct window *w);
/* Drops what is too old. */
void window_drop_old(struct window *w, uint64_t now_ns);
/* From when on the window has all that was recorded; 0: it is empty. */
uint64_t window_begin_ns(const struct window *w);
void window_done(struct window *w);

#endif
