/* chain.h - call chains that the kernel recorded. Private to unwind/. */
#ifndef UNWIND_CHAIN_H
#define UNWIND_CHAIN_H

#include "unwind/method.h"

/* Kernel (and hypervisor, guest kernel) entries of the sample's chain, leaf first. */
void chain_kernel_frames(const struct perf_sample *s, struct frame_sink *sink);
/* User entries: of the last branch records when the event asked for call stacks from them, else of
 * the chain. */
void chain_user_frames(const struct perf_sample *s, struct frame_sink *sink);

#endif
