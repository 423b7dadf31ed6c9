/* code_index.h - functions of one module and the frames in their code. Private to unwind/. */
#ifndef UNWIND_CODE_INDEX_H
#define UNWIND_CODE_INDEX_H

#include "base/hash.h"
#include "base/vec.h"
#include "functions/functions.h"
#include "unwind/arch.h"
#include "unwind/code.h"

struct code_function {
	uint64_t start, end; /* vaddrs */
	bool is_named;	     /* by a symbol; else calls lead there */
	bool is_part;	     /* does not begin as functions do */
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
	uint64_t code_start, code_bytes; /* of the module */
	/* By part of the code, and by start in the parts that are sorted. */
	struct code_start *starts;
	size_t n_starts;
	uint32_t *parts; /* where the starts of each begin, and the end */
	bool *is_sorted;
	size_t n_parts;
	unsigned part_shift; /* parts have 1 << part_shift bytes */
	/* What direct calls lead to: a bit for each address from code_start on. */
	uint64_t *calls;
	uint64_t n_calls;
	struct hash_table by_start; /* start of a function -> index in rows */
	VEC(struct code_rows) rows;
	size_t n_rows;	/* of all functions */
	uint64_t steps; /* that may still be taken: functions may overlap, but not all of them */
};

/* Reads the symbols of a module, which must outlive the index. */
void code_index_open(struct code_index *ix, const struct module *mod);
/* Without the symbols, for functions whose bounds are known otherwise. */
void code_index_open_bare(struct code_index *ix, const struct elf_image *img);
/* Reads all code for calls. */
void code_index_add_calls(struct code_index *ix, const struct elf_image *img,
			  const struct arch *arch);
void code_index_done(struct code_index *ix);

/* The function that vaddr is in, or one that it is not far behind; false: none is known. */
bool code_index_function(struct code_index *ix, uint64_t vaddr, struct code_function *ret);

/* The frame before the instruction at vaddr in the function, or in one behind it, which *fn is
 * then. NULL: not known. Valid until the next call. */
const struct code_frame *code_index_frame(struct code_index *ix, const struct elf_image *img,
					  const struct arch *arch, struct code_function *fn,
					  uint64_t vaddr);

#endif
