/* depth.h - collecting what unwind.h tells by stack_depths_need(). Private to unwind/. */
#ifndef UNWIND_DEPTH_H
#define UNWIND_DEPTH_H

#include "unwind/unwind.h"

/* The sample's stack was unwound to its root, whose frame ends at `top`; or the copy, which begins
 * at `sp`, was too small. Without memory less is known. */
void stack_depths_root(struct stack_depths *d, const struct perf_sample *s, uint64_t top);
void stack_depths_cut(struct stack_depths *d, const struct perf_sample *s, uint64_t sp);

#endif
