/* stitch.h - what other samples of a thread show of a stack that was cut.
 *
 * A copy of a stack that was too small ends in the middle of it. Other samples of the thread show
 * how deep the stack was, and often who the callers beyond the cut are. Nothing here reads files or
 * recorded memory: stacks as the unwinder left them come in, with the places of their frames.
 */
#ifndef STITCH_STITCH_H
#define STITCH_STITCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scratch.h"
#include "reader/reader.h"
#include "unwind/unwind.h"

/* ---- how deep stacks are ------------------------------------------------------------------------
 *
 * What the walks by our own tables have shown of stacks that were cut: how large the copy should
 * have been. Known for a thread of which another sample reached the root, and for the first thread
 * of a program that began while it was recorded. */
struct stack_depths; /* opaque */

/* NULL: no memory. */
struct stack_depths *stack_depths_new(void);
void stack_depths_free(struct stack_depths *d);
/* Samples in time order, with what unwind_samples() made of them, before it is stitched. Without
 * memory less is known. */
void stack_depths_add(struct stack_depths *d, const struct perf_sample *const *samples,
		      const struct stack_trace *traces, size_t n);
/* The thread has ended: what is known of its stacks is counted, and no more than that kept. A
 * sample that comes all the same is one of another thread. */
void stack_depths_end(struct stack_depths *d, uint32_t pid, uint32_t tid);

struct stack_need {
	uint64_t cut;	   /* stacks that were cut */
	uint64_t known;	   /* of these, it is known how deep they are */
	uint64_t bytes;	   /* what the asked share of the known ones needs, in whole KiB */
	uint64_t too_deep; /* of the known ones, such as need more than the most */
};
/* percent: share of the stacks that copies of ret->bytes shall hold. 0 or -ERR_NOMEM. */
int stack_depths_need(const struct stack_depths *d, unsigned percent, uint64_t bytes_max,
		      struct stack_need *ret);

/* ---- stitching --------------------------------------------------------------------------------
 *
 * A stack that was cut ends in the middle of an activation of some function. Another sample of the
 * same thread that passed through the same activation shows who called it: one with the same
 * address, stack pointer, frame pointer, and memory of that frame. Without equal memory the nearest
 * in time is believed if it is near, all others that are agree, and the function does not call
 * itself there; what it adds is marked FRAME_STITCHED. A stitcher sees all samples of the threads
 * it works for, in time order, some at a time. What it says of a thread depends on nothing but the
 * samples of that thread, and on where a batch ends: samples later than the batch cannot help, so
 * batches should not be tiny. Of threads that were not seen for the largest distance, or that have
 * ended, nothing is kept. One thread at a time. */
struct stitcher; /* opaque */

struct stitch_options {
	/* in time, of the sample that is believed; 0: STITCH_DISTANCE_NS */
	uint64_t max_distance_ns;
	unsigned max_frames; /* user frames, as in struct unwind_options; then the stop is DEPTH */
};
#define STITCH_DISTANCE_NS 10000000000u

struct stitch_stats {
	uint64_t cut;	   /* stacks that were cut */
	uint64_t to_root;  /* of these, now end at a root */
	uint64_t extended; /* got frames, but no root */
	uint64_t doubtful; /* got none: other samples have such a frame, but maybe not the same */
	uint64_t frames;   /* added */
};

/* 0 or negative with *err. opt is copied; the stitcher is to be freed. */
int stitcher_new(struct stitcher **ret, const struct stitch_options *opt, struct err *err);
void stitcher_free(struct stitcher *st); /* NULL is allowed */
/* Completes those traces of a batch that were cut, as far as can be known: they get a base, in
 * `room`. A trace without places stays as it is, and completes no other. 0 or -ERR_NOMEM, after
 * which the stitcher knows less. */
int stitcher_run(struct stitcher *st, const struct perf_sample *const *samples,
		 struct stack_trace *traces, size_t n, struct scratch *room);
/* The thread has ended, at the end of the last batch at the latest. */
void stitcher_end(struct stitcher *st, uint32_t pid, uint32_t tid);
const struct stitch_stats *stitcher_stats(const struct stitcher *st);

#endif
