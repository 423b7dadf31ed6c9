/* wide.h - sums of 128 bits, also where the compiler has no such type (32-bit processors). */
#ifndef BASE_WIDE_H
#define BASE_WIDE_H

#include <stdint.h>

/* sum += a * b, modulo 2^128; sum[0] is the low half. */
static inline void wide_add_product(uint64_t sum[2], uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 s = (unsigned __int128)sum[1] << 64 | sum[0];

	s += (unsigned __int128)a * b;
	sum[0] = (uint64_t)s;
	sum[1] = (uint64_t)(s >> 64);
#else
	uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
	uint64_t low = other << 32 | (uint32_t)(a0 * b0);

	sum[0] += low;
	sum[1] += a1 * b1 + (middle >> 32) + (other >> 32) + (sum[0] < low);
#endif
}

#endif
