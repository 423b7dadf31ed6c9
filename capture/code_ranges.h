/* code_ranges.h - private: the parts of a process's memory that have code and no file. */
#ifndef CAPTURE_CODE_RANGES_H
#define CAPTURE_CODE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "capture/mmap2.h"

struct code_range {
	uint64_t start, end;
};

/* Sorted, without overlaps. A zeroed one is empty. */
struct code_ranges {
	VEC(struct code_range) v;
};

/* True if the map is of such memory: the names are those of enum dso_kind DSO_ANON
 * (reader/dso.c). */
bool code_ranges_are(const struct mmap2 *m);
/* Adds it. When out of memory, or if there are too many, it is left out. */
void code_ranges_add(struct code_ranges *r, uint64_t start, uint64_t end);
/* The range that has the address; NULL: none. */
const struct code_range *code_ranges_find(const struct code_ranges *r, uint64_t addr);
/* When out of memory *to is empty. */
void code_ranges_copy(struct code_ranges *to, const struct code_ranges *from);
void code_ranges_done(struct code_ranges *r);

#endif
