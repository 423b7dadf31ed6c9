/* flatten_ranges.h - finds which of overlapping ranges is on top at each address. Private to
 * dwarf/. */
#ifndef DWARF_FLATTEN_RANGES_H
#define DWARF_FLATTEN_RANGES_H

#include <stddef.h>
#include <stdint.h>

#define DWARF_NOTHING UINT32_MAX

struct dwarf_range {
	uint64_t lo, hi;
	uint64_t priority; /* the highest is on top; among equals the one that begins last */
	uint32_t id;
	uint32_t group;
};

struct dwarf_ranges {
	struct dwarf_range *v;
	size_t n, cap;
};

/* `id` is on top from addr up to the next span; DWARF_NOTHING: no range. */
struct dwarf_span {
	uint64_t addr;
	uint32_t id;
};

struct dwarf_spans {
	struct dwarf_span *v;
	size_t n, cap;
};

/* Sorts r[0..n) by begin, then by priority; stable. scratch has room for n. */
void dwarf_ranges_sort(struct dwarf_range *r, size_t n, struct dwarf_range *scratch);
/* Replaces *out by the spans of sorted ranges, none of which is empty. The last span is a
 * DWARF_NOTHING. Returns 0 or -ERR_NOMEM. */
int dwarf_flatten_ranges(const struct dwarf_range *r, size_t n, struct dwarf_spans *out);

#endif
