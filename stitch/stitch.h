/* stitch.h - extends stacks that were cut by what other samples of the thread show.
 *
 * A stack copy that was too small ends in the middle of the stack. Other samples of the thread show
 * how deep the stack was, and often which callers are beyond the cut. Nothing here reads files or
 * recorded memory: the input is stacks from the unwinder, with the places of their frames. */
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
 * Computes how large the copies of the stacks that were cut should have been, from walks by our own
 * tables. This is known for threads of which another sample reached the root, and for the first
 * thread of a program that started during the recording. */
struct stack_depths; /* opaque */

/* Returns NULL when out of memory. */
struct stack_depths *stack_depths_new(void);
void stack_depths_free(struct stack_depths *d);
/* Adds samples in time order, with their traces as unwind_samples() made them, before they are
 * stitched. When out of memory, less will be known. */
void stack_depths_add(struct stack_depths *d, const struct perf_sample *const *samples,
		      const struct stack_trace *traces, size_t n);
/* To be called when a thread has ended: its results are added to the totals, and the rest is freed.
 * A later sample with the same ids belongs to a new thread. */
void stack_depths_end(struct stack_depths *d, uint32_t pid, uint32_t tid);

struct stack_need {
	uint64_t cut;	   /* stacks that were cut */
	uint64_t known;	   /* those of them whose depth is known */
	uint64_t bytes;	   /* copy size that holds `percent` of the known ones, in whole KiB */
	uint64_t too_deep; /* those of the known ones that need more than bytes_max */
};
/* percent: the share of the known stacks that copies of ret->bytes must hold. Returns 0 or
 * -ERR_NOMEM. */
int stack_depths_need(const struct stack_depths *d, unsigned percent, uint64_t bytes_max,
		      struct stack_need *ret);

/* ---- stitching --------------------------------------------------------------------------------
 *
 * A stack that was cut ends in an activation of some function. Another sample of the same thread
 * that contains the same activation shows its caller: a sample with the same address, stack
 * pointer, frame pointer, and memory of that frame. If no sample has equal memory, the nearest in
 * time is used if it is near, all others that are near agree with it, and the function does not
 * call itself there. Added frames are marked FRAME_STITCHED. A stitcher must get all samples of its
 * threads, in time order, in batches. The result for a thread depends only on the samples of that
 * thread and on where batches end: samples after the batch cannot help, so batches should not be
 * tiny. Nothing is kept of threads that have ended, or of which no sample came for max_distance_ns.
 * A stitcher may be used by one thread at a time. */
struct stitcher; /* opaque */

struct stitch_options {
	/* maximum distance in time of the sample used; 0: STITCH_DISTANCE_NS */
	uint64_t max_distance_ns;
	unsigned max_frames; /* user frames, as in struct unwind_options; beyond, stop becomes
			      * DEPTH */
};
#define STITCH_DISTANCE_NS 10000000000u

struct stitch_stats {
	uint64_t cut;	   /* stacks that were cut */
	uint64_t to_root;  /* those of them that now end at a root */
	uint64_t extended; /* those that got frames, but no root */
	uint64_t doubtful; /* those that got none: other samples have a similar frame, but maybe not
			    * the same */
	uint64_t frames;   /* frames added */
};

/* Returns 0, or a negative error code with *err. opt (may be NULL) is copied. */
int stitcher_new(struct stitcher **ret, const struct stitch_options *opt, struct err *err);
void stitcher_free(struct stitcher *st); /* NULL is allowed */
/* Extends the traces of a batch that were cut, as far as possible: sets their base, allocated in
 * `room`. A trace without places stays as it is, and extends no other. Returns 0, or -ERR_NOMEM,
 * after which the stitcher knows less. */
int stitcher_run(struct stitcher *st, const struct perf_sample *const *samples,
		 struct stack_trace *traces, size_t n, struct scratch *room);
/* To be called when a thread has ended, not before the batch with its last sample. */
void stitcher_end(struct stitcher *st, uint32_t pid, uint32_t tid);
const struct stitch_stats *stitcher_stats(const struct stitcher *st);

#endif
