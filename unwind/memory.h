/* memory.h - what of a process's memory a sample lets one see. Private to unwind/.
 *
 * The stack copy, and the parts of mapped files that no one can have written to. */
#ifndef UNWIND_MEMORY_H
#define UNWIND_MEMORY_H

#include "modules/modules.h"
#include "unwind/arch.h"

/* A recorded register by its DWARF number; false when it was not recorded. */
bool arch_reg(const struct arch *arch, const struct perf_regs *regs, uint8_t dwarf, uint64_t *ret);

struct memory {
	const struct perf_sample *sample;
	struct modules *modules;
	uint64_t sp;	/* where the copy starts */
	uint32_t bytes; /* how long it is; 0 without a recorded stack pointer */
	uint8_t word_bytes;
};

struct memory memory_of(const struct perf_sample *s, struct modules *modules,
			const struct arch *arch);
/* One word of the recorded processor, from the stack copy. False when it was not recorded. */
bool memory_read_stack(const struct memory *m, uint64_t addr, uint64_t *ret);
/* The same, also from files. */
bool memory_read_word(const struct memory *m, uint64_t addr, uint64_t *ret);
/* The same for `size` (1..8) bytes, zero-extended. */
bool memory_read_bytes(const struct memory *m, uint64_t addr, unsigned size, uint64_t *ret);
/* Whether a failed read at addr is explained by a copy that was cut: it lies above the copy, and
 * the kernel had more stack to give (it filled the dump), or stopped before the stack's end. */
bool memory_is_cut_before(const struct memory *m, uint64_t addr);

#endif
