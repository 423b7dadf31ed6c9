/* returned.h - the function that has returned as a frame of a return probe's sample. Private to
 * load/. */
#ifndef LOAD_RETURNED_H
#define LOAD_RETURNED_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "base/vec.h"
#include "unwind/unwind.h"

/* Memory for the frames of a batch; of one thread. */
struct returned {
	VEC(struct frame) frames;
	VEC(struct frame_place) places;
	VEC(struct frame_registers) registers;
	struct text values;
};

/* Adds a frame to those of n <= UNWIND_BATCH traces that are of return probes;
 * they are then valid until the next call. Returns 0, or -1 when out of memory. */
int returned_add(struct returned *r, const struct perf_file *f,
		 const struct perf_sample *const *samples, struct stack_trace *traces, size_t n);
void returned_done(struct returned *r);

#endif
