/* lookup.h - the chain of one address, with its frames. */
#ifndef TESTS_DWARF_LOOKUP_H
#define TESTS_DWARF_LOOKUP_H

#include "dwarf/dwarf.h"

/* Returns the number of levels. A chain deeper than max keeps its outermost levels. file_line (may
 * be NULL) gets file and line of the address. */
static inline size_t dwarf_index_lookup(struct dwarf_index *d, uint64_t vaddr,
					struct dwarf_frame *frames, size_t max,
					struct dwarf_frame *file_line)
{
	struct dwarf_at at[DWARF_CHAIN_MAX];
	struct dwarf_chain chain;
	size_t n, skip;

	dwarf_index_chains(d, &vaddr, 1, &chain, at, DWARF_CHAIN_MAX);
	skip = chain.n > max ? chain.n - max : 0;
	n = chain.n - skip;
	dwarf_index_frames(d, at + skip, n, frames);
	if (file_line)
		dwarf_index_frames(d, &chain.line, 1, file_line);
	return n;
}

#endif
