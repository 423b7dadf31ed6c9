/* prefetch.h - how functions are declared that only prefetch memory.
 *
 * gcc removes calls of functions without side effects before it would inline them; always_inline is
 * inlined earlier. So declare each as
 *
 *	PREFETCHING void expect_something(const struct something *p)
 */
#ifndef BASE_PREFETCH_H
#define BASE_PREFETCH_H

#define PREFETCHING static inline __attribute__((always_inline))

/* Fetches a cache line that another processor may have in its cache, for writing. The builtin,
 * unless compiled for a newer x86-64 processor, only fetches it for reading. */
PREFETCHING void prefetch_write(const void *p)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" ::"m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

#endif
