/* arch_aarch64.c - 64-bit Arm.
 * DWARF numbers: "DWARF for the Arm 64-bit Architecture", 4.1. perf bits: asm/perf_regs.h. */
#include "unwind/arch.h"

#include <elf.h>

const struct arch arch_aarch64 = {
	.names = {"aarch64", "arm64"},
	.e_machine = EM_AARCH64,
	.word_bytes = 8,
	.n_regs = 35, /* x0..x30, sp, pc, 33 unused, 34 is RA_SIGN_STATE */
	.sp = 31,
	.fp = 29,
	.ra = 30,
	.pc = 32,
	/* clang-format off */
	.perf_to_dwarf = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
		30, 31, 32,                       /* LR SP PC */
		[33 ... 63] = -1,
	},
	/* clang-format on */
};
