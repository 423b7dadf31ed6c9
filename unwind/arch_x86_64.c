/* arch_x86_64.c - x86-64 and its 32-bit tasks.
 * DWARF numbers: System V psABI AMD64, figure 3.36; i386, table 2.14. perf bits: asm/perf_regs.h.
 */
#include "unwind/arch.h"

#include <elf.h>

const struct arch arch_x86_64 = {
	.names = {"x86_64", "amd64"},
	.e_machine = EM_X86_64,
	.word_bytes = 8,
	.n_regs = 17,
	.sp = 7,
	.fp = 6,
	.ra = 16,
	.pc = 16,
	/* clang-format off */
	.perf_to_dwarf = {
		0, 3, 2, 1, 4, 5, 6, 7,           /* AX BX CX DX SI DI BP SP */
		16, -1, -1, -1, -1, -1, -1, -1,   /* IP FLAGS CS SS DS ES FS GS */
		8, 9, 10, 11, 12, 13, 14, 15,     /* R8 .. R15 */
		[24 ... 63] = -1,
	},
	/* clang-format on */
};

/* A 32-bit task has no R8..R15; the kernel still uses the 64-bit numbering of the rest. */
const struct arch arch_i386 = {
	.names = {"i386", "i486", "i586", "i686", "x86_64", "amd64"},
	.e_machine = EM_386,
	.word_bytes = 4,
	.n_regs = 9,
	.sp = 4,
	.fp = 5,
	.ra = 8,
	.pc = 8,
	/* clang-format off */
	.perf_to_dwarf = {
		0, 3, 1, 2, 6, 7, 5, 4,           /* AX BX CX DX SI DI BP SP */
		8, [9 ... 63] = -1,               /* IP */
	},
	/* clang-format on */
};
