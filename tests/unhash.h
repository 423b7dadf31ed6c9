/* unhash.h - keys chosen so that they fall together in a hash table. */
#ifndef TESTS_UNHASH_H
#define TESTS_UNHASH_H

#include <stdint.h>
#include <sys/resource.h>

/* 1 / a modulo 2^64: each step doubles the bits that are right, of which an odd number has three.
 */
static inline uint64_t inverse(uint64_t a)
{
	uint64_t x = a;
	int i;

	for (i = 0; i < 5; i++)
		x *= 2 - a * x;
	return x;
}

/* The x with hash_u64(x) == h, as an attacker can compute it. */
static inline uint64_t unhash(uint64_t h)
{
	h ^= h >> 31 ^ h >> 62;
	h *= inverse(0x94d049bb133111ebu);
	h ^= h >> 27 ^ h >> 54;
	h *= inverse(0xbf58476d1ce4e5b9u);
	return h ^ h >> 30 ^ h >> 60;
}

/* Where so many keys fall together that minutes would not be enough: the test is killed, and fails.
 */
static inline int end_after_a_minute(void)
{
	const struct rlimit limit = {60, 60}; /* of CPU time */

	return setrlimit(RLIMIT_CPU, &limit);
}

#endif
