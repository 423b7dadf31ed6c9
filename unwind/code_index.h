/* code_index.h - functions of one module and the frames in their code. Private to unwind/. */
#ifndef UNWIND_CODE_INDEX_H
#define UNWIND_CODE_INDEX_H

#include "base/hash.h"
#include "base/vec.h"
#include "functions/functions.h"
#include "unwind/arch.h"
#include "unwind/code.h"
#include "unwind/code_starts.h"

struct code_function {
	uint64_t start, end; /* vaddrs */
	uint64_t low;	     /* what contains the place starts here or later */
	bool is_named;	     /* by a symbol; else a call leads here, or padding precedes it */
	bool is_sure;	     /* certainly a function start: is_named, or padding precedes it */
	bool is_part;	     /* a split-off part (.cold): its frame is already set up at the
			      * start */
};

/* A symbol of a function. */
struct code_start {
	uint64_t start;
	uint32_t index, table;
};

/* A zeroed index is empty. */
struct code_index {
	struct elf_symbols tables[2]; /* of the module */
	size_t n_tables;
	struct code_starts code;
	/* Function symbols, grouped by part of the code; sorted by start in the parts marked in
	 * is_sorted. */
	struct code_start *starts;
	size_t n_starts;
	uint32_t *parts; /* index in `starts` of the first of each part, and n_starts */
	bool *is_sorted;
	size_t n_parts;
	unsigned part_shift;	    /* a part has 1 << part_shift bytes */
	struct hash_table by_start; /* start of a function -> index in rows */
	VEC(struct code_rows) rows;
	size_t n_rows;	/* total of all functions */
	uint64_t steps; /* steps left: bounds the work when many function symbols overlap */
};

/* Reads the symbols of a module. The module must outlive the index. */
void code_index_open(struct code_index *ix, const struct module *mod);
/* Opens the index without symbols, for functions whose bounds are known from elsewhere. */
void code_index_open_bare(struct code_index *ix, const struct elf_image *img);
void code_index_done(struct code_index *ix);

/* The function whose symbol contains vaddr. If there is none returns false, and *ret is one that
 * ends not far before vaddr; its end is 0 if none does. */
bool code_index_symbol(struct code_index *ix, uint64_t vaddr, struct code_function *ret);
/* Changes *ret, as set by code_index_symbol(), to the function that starts nearest before vaddr by
 * ix->code, if one does. `low`: where the last function before vaddr ends whose bounds are known
 * from elsewhere. */
void code_index_called(struct code_index *ix, uint64_t vaddr, uint64_t low,
		       struct code_function *ret);

/* The frame before the instruction at vaddr, in function *fn or in a later one, to which *fn is
 * then changed. NULL: not known. Valid until the next call. */
const struct code_frame *code_index_frame(struct code_index *ix, const struct elf_image *img,
					  const struct arch *arch, struct code_function *fn,
					  uint64_t vaddr);

#endif
