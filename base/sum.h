/* sum.h - sums of numbers that a hostile file chose. */
#ifndef BASE_SUM_H
#define BASE_SUM_H

#include <stdint.h>

/* UINT64_MAX on overflow instead of wrapping, so the result does not depend on the order. */
static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
