/* clock.h - clocks as one number; most often that which is never set back. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* In nanoseconds; 0 if the kernel has no such clock. */
static inline uint64_t clock_ns_of(clockid_t clock)
{
	struct timespec t = {0};

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC, in nanoseconds. */
static inline uint64_t clock_ns(void)
{
	return clock_ns_of(CLOCK_MONOTONIC);
}

static inline uint64_t clock_ms(void)
{
	return clock_ns() / 1000000;
}

/* The same in seconds. */
static inline double clock_seconds(void)
{
	return (double)clock_ns() / 1e9;
}

#endif
