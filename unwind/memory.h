/* memory.h - the memory of a process that is known at a sample. Private to unwind/.
 *
 * That is the stack copy, and those parts of mapped files that cannot have been modified. */
#ifndef UNWIND_MEMORY_H
#define UNWIND_MEMORY_H

#include "modules/modules.h"
#include "unwind/arch.h"

/* A recorded register, by DWARF number. Returns false if it was not recorded. */
bool arch_reg(const struct arch *arch, const struct perf_regs *regs, uint8_t dwarf, uint64_t *ret);

struct memory {
	const struct perf_sample *sample;
	struct modules *modules;
	uint64_t sp;	/* address where the copy starts */
	uint32_t bytes; /* length of the copy; 0 if the stack pointer was not recorded */
	uint8_t word_bytes;
};

struct memory memory_of(const struct perf_sample *s, struct modules *modules,
			const struct arch *arch);
/* Reads one word (of the recorded processor's size) from the stack copy. Returns false if it was
 * not recorded. */
bool memory_read_stack(const struct memory *m, uint64_t addr, uint64_t *ret);
/* The same, also from mapped files. */
bool memory_read_word(const struct memory *m, uint64_t addr, uint64_t *ret);
/* The same for `size` (1..8) bytes, zero-extended. */
bool memory_read_bytes(const struct memory *m, uint64_t addr, unsigned size, uint64_t *ret);
/* The n bytes at an address; NULL: not recorded. */
const uint8_t *memory_bytes(const struct memory *m, uint64_t addr, unsigned n);
/* True if a failed read at `addr` is explained by a copy that ended too early: addr lies above the
 * copy, and the copy was filled completely, or the kernel stopped copying before the end of the
 * stack. */
bool memory_is_cut_before(const struct memory *m, uint64_t addr);

#endif
