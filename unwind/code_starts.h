/* code_starts.h - where functions seem to start in code without symbols. Private to unwind/. */
#ifndef UNWIND_CODE_STARTS_H
#define UNWIND_CODE_STARTS_H

#include "modules/modules.h"
#include "unwind/arch.h"

/* Functions that are recognized by the padding before them are looked for at multiples of this. */
#define BEGINS_ALIGN 16

/* Alignments that are told apart: BEGINS_ALIGN, twice and four times as much. */
#define BEGINS_CLASSES 3

/* Functions without a known end are analyzed up to this size. */
#define OPEN_BYTES (64u << 10)

/* Zeroed: nothing is known. */
struct code_starts {
	uint64_t code_start, code_bytes; /* of the module */
	/* calls: targets of direct calls and function starts after padding, one bit for each
	 * address from code_start on. begins: the starts after padding only, one bit for each
	 * multiple of BEGINS_ALIGN. NULL: not read. */
	uint64_t *calls, *begins;
	uint64_t n_calls;
	/* Of the places of each alignment that look as if a function begins. */
	struct {
		uint32_t begins, called; /* all; those to which a call leads */
		bool are_begins;
	} aligned[BEGINS_CLASSES];
};

/* Scans all code for direct calls, and for padding. The extent of the code must be set. */
void code_starts_read(struct code_starts *st, const struct elf_image *img, const struct arch *arch);
void code_starts_done(struct code_starts *st);

/* True if a call leads to vaddr, or padding precedes it. */
static inline bool code_starts_has(const struct code_starts *st, uint64_t vaddr)
{
	uint64_t i = vaddr - st->code_start;

	return i < st->n_calls && st->calls[i / 64] >> i % 64 & 1;
}

/* The last call target, or start after padding, in [low, vaddr]. Other bytes can look like a call.
 * Returns false if there is none within OPEN_BYTES. */
bool code_starts_called(const struct code_starts *st, uint64_t vaddr, uint64_t low, uint64_t *ret);
/* The last start after padding in [low, vaddr], likewise. */
bool code_starts_begun(const struct code_starts *st, uint64_t vaddr, uint64_t low, uint64_t *ret);
/* The first start after padding in [vaddr, end); `end`: none. */
uint64_t code_starts_next(const struct code_starts *st, uint64_t vaddr, uint64_t end);

#endif
