/* heap_event.h - the events of capture --alloc. Part of reader.h, and of format.h for capture. */
#ifndef READER_HEAP_EVENT_H
#define READER_HEAP_EVENT_H

#include <stdint.h>

/* The names of its events, which are uprobes; behind the first there is the class. All of a class
 * are sampled with the same period, the others are all recorded, without stacks. Their fields, each
 * of 64 bits, behind those that all uprobes have (kernel/trace/trace_probe.h): */
#define HEAP_STACK_EVENT  "alloc-stack-" /* size, n, old, sp, ra */
#define HEAP_ENTRY_EVENT  "alloc-entry"	 /* the same */
#define HEAP_RETURN_EVENT "alloc-return" /* pointer */
#define HEAP_FREE_EVENT	  "alloc-free"	 /* pointer, sp */
/* posix_memalign() returns 0 or an error, and stores the pointer where its first argument points
 * to. That is in `old`, with an n of 0; which uprobes cannot follow on return, but that place is
 * mostly a variable of the caller: so much of its stack is recorded. */
#define HEAP_STORED_EVENT "alloc-stored" /* what was returned, sp, the words from there on */
#define HEAP_STORED_WORDS 64		 /* MAX_ARRAY_LEN of kernel/trace/trace_probe.h */

/* In `old` of older recordings: the memory is where an argument points to, which is not known. */
#define HEAP_ELSEWHERE 1

/* Allocations of at most 16 << 4 * class bytes in all, by what filters of the kernel can compare:
 * the number n of objects and the size of each; from `last` on all are one class. */
static inline unsigned heap_log16(uint64_t v)
{
	return v < 16 ? 0 : (63 - (unsigned)__builtin_clzll(v)) / 4;
}

static inline unsigned heap_class(uint64_t size, uint64_t n, unsigned last)
{
	const unsigned c = heap_log16(size) + (n < 2 ? 0 : heap_log16(n) + 1);

	return c < last ? c : last;
}

#endif
