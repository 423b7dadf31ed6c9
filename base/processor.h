/* processor.h - one row per processor: the numbers that its documents specify.
 *
 * Code for a processor is elsewhere, in tables by instruction set: calls
 * (functions/call_targets.c), stubs of the PLT (symbolize/plt.c); for frames (unwind/arch_NAME.c,
 * unwind/code_NAME.c) see the rows of unwind/arch.c. */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

/* Instruction sets for which there is a decoder. */
enum insn_set { INSN_SET_UNKNOWN, INSN_SET_X86, INSN_SET_A64, INSN_SET_N };

struct processor {
	/* How recordings (HEADER_ARCH) spell it, NULL-terminated: as uname of its kernels, and of
	 * kernels that also run its programs ("x86_64"), or since perf 7.2 as the kernel's source
	 * names it, which may be several rows ("x86"). */
	const char *names[8];
	uint16_t e_machine; /* elf.h: EM_*; with word_bytes no two rows have the same */
	uint8_t word_bytes; /* 4 or 8 */
	uint8_t insn_set;   /* enum insn_set */
	uint8_t perf_ip;    /* asm/perf_regs.h, with the numbers of 64-bit kernels: the bits of */
	uint8_t perf_sp;    /* instruction and stack pointer */
	uint64_t perf_user_regs; /* that samples can have; 0: such a machine is not recorded */
	/* Relocation types of the psABI; 0: none is known. */
	uint16_t reloc_abs64, reloc_abs32, reloc_abs32_signed;
	uint16_t reloc_glob_dat, reloc_jump_slot, reloc_irelative; /* of GOT slots */
	/* Symbols "$x", "$d.12" mark code and data inside of functions: letters behind the '$'.
	 * Anything may follow, else only ".NUMBER". NULL: no such marks. */
	const char *mark_letters;
	bool marks_are_open;
	bool has_thumb_bit; /* the lowest bit of a function symbol's value says Thumb */
};

/* By name: the first row with this word size; word_bytes 0 matches any. NULL if unknown. */
const struct processor *processor_find(const char *name, unsigned word_bytes);
/* Can both names be of one machine? Names that no row has must be equal. */
bool processor_same(const char *a, const char *b);
/* Can a machine of this name, or one that runs the same kernel, have run such a file? True of names
 * and for EM_NONE, of which nothing is known. */
bool processor_runs(const char *name, uint16_t e_machine);
/* By ELF header; if no row has the ELF class (x32), the row of the machine. NULL if unknown. */
const struct processor *processor_find_elf(uint16_t e_machine, bool is_64);
/* INSN_SET_UNKNOWN if the machine is unknown. */
enum insn_set processor_insn_set(uint16_t e_machine);
/* The processor that this program was built for; NULL if unknown. */
const struct processor *processor_here(void);

#endif
