/* random.h - numbers that are the same in each run (xorshift64, Marsaglia 2003). */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

/* *state is not 0. */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

#endif
