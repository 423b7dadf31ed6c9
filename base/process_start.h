/* process_start.h - when a process that still runs was started. */
#ifndef BASE_PROCESS_START_H
#define BASE_PROCESS_START_H

#include <stdint.h>

/* Times of files are those of the last tick, that of a start may be one of a tick before: what is
 * not earlier by this much need not be earlier. */
#define PROCESS_START_SLACK_NS 100000000ull

/* By the wall clock, in nanoseconds, up to 10 ms too early; 0: there is none. What it has called
 * exec for meanwhile, and when, is not known. */
uint64_t process_start_wall_ns(uint32_t pid);

#endif
