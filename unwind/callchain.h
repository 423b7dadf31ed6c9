/* callchain.h - call chains that the kernel recorded. Private to unwind/. */
#ifndef UNWIND_CALLCHAIN_H
#define UNWIND_CALLCHAIN_H

#include "unwind/method.h"

/* Kernel (and hypervisor, guest kernel) entries of the sample's chain, leaf first. */
void chain_kernel_frames(const struct perf_sample *s, struct frame_sink *sink);
/* User entries, the callers from branch records where the reader has put these in the chain. */
void chain_user_frames(const struct perf_sample *s, struct frame_sink *sink);

#endif
