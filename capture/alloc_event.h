/* alloc_event.h - private: the events of --alloc.
 *
 * Every call of an allocator's functions is recorded, without a stack: where it begins (how many
 * bytes are wanted), where it returns (the memory), and what is given back. So what was allocated,
 * and what is still in use, is counted and not estimated. Stacks are what costs: of the calls of a
 * class of sizes (heap_class() of reader/format.h) each N-th has one, by events of the same probe
 * with a filter and a period of their own, so that one is taken at least every BYTES bytes of a
 * class. */
#ifndef CAPTURE_ALLOC_EVENT_H
#define CAPTURE_ALLOC_EVENT_H

#include <sys/types.h>

#include "base/err.h"
#include "capture/session.h"

/* Adds them to the session's events. pid: whose files are meant; 0: the command's, and what the
 * machine's programs use. Returns 0, or a negative value with *err. */
int alloc_events(struct session *s, pid_t pid, struct err *err);

#endif
