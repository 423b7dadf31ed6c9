/* prefetch.h - functions that only order memory which will be needed soon.
 *
 * gcc takes a function that does nothing else for one without effect, and leaves out its calls
 * before it would inline them: always_inline comes earlier. So they are all declared like this:
 *
 *	PREFETCHING void expect_something(const struct something *p)
 */
#ifndef BASE_PREFETCH_H
#define BASE_PREFETCH_H

#define PREFETCHING static inline __attribute__((always_inline))

/* The line of cache will be written, and another processor has it: what the builtin makes of that
 * for x86-64, unless told of a newer processor, only reads. */
PREFETCHING void prefetch_write(const void *p)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" ::"m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

#endif
