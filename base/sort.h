/* sort.h - radix sort of (u64 key, u32 index) pairs. Part of base/. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sort_pair {
	uint64_t key;
	uint32_t index;
};

/* Rising by key; equal keys keep their order. 0, or -1 when out of memory (v is then unchanged). */
int sort_pairs(struct sort_pair *v, size_t n);

#endif
