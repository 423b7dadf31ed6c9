/* arch_aarch64.c - 64-bit Arm.
 * DWARF numbers: "DWARF for the Arm 64-bit Architecture", 4.1. perf bits: asm/perf_regs.h. */
#include "unwind/arch.h"

#include <elf.h>

static uint32_t instruction(const uint8_t *code)
{
	return (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

/* Arm ARM C4.1: BL imm26; BLR Xn and its authenticating forms BLRAA, BLRAB, BLRAAZ, BLRABZ. */
static bool ends_in_call(const uint8_t *end, size_t n)
{
	uint32_t insn;

	if (n < 4)
		return false;
	insn = instruction(end - 4);
	return insn >> 26 == 0x25 || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}

/* The first entry of a .plt (AAELF64, and what all linkers emit) saves x16 and x30 with its first
 * instruction, then has three more and a branch. */
static unsigned pushed_bytes(const uint8_t *end, size_t n)
{
	size_t back;

	for (back = 4; back <= 16 && back <= n; back += 4)
		if (instruction(end - back) == 0xa9bf7bf0) /* stp x16, x30, [sp, #-16]! */
			return 16;
	return 0;
}

/* mov x8, #__NR_rt_sigreturn; svc #0 */
static const uint8_t sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};

/* struct rt_sigframe at sp: siginfo (128 bytes), then ucontext, whose mcontext is at 176 and begins
 * with the fault address (asm/ucontext.h, asm/sigcontext.h). */
#define X(i)                               \
	{                                  \
		i, 128 + 176 + 8 + 8 * (i) \
	}
static const struct arch_saved_reg ucontext_regs[] = {
	X(0),  X(1),  X(2),  X(3),  X(4),  X(5),  X(6),	 X(7),	X(8),  X(9),  X(10),
	X(11), X(12), X(13), X(14), X(15), X(16), X(17), X(18), X(19), X(20), X(21),
	X(22), X(23), X(24), X(25), X(26), X(27), X(28), X(29), X(30), X(31), X(32),
};
#undef X

static const struct arch_trampoline trampolines[] = {
	{
		.code = sigreturn,
		.code_bytes = sizeof sigreturn,
		.n_saved = sizeof ucontext_regs / sizeof *ucontext_regs,
		.saved = ucontext_regs,
		/* The first of the records behind the registers is always that of the FPU. */
		.mark_off = 128 + 176 + 288,
		.marks = {0x46508001, 0x46508001}, /* FPSIMD_MAGIC of asm/sigcontext.h */
	},
	{0},
};

const struct arch arch_aarch64 = {
	.names = {"aarch64", "arm64"},
	.e_machine = EM_AARCH64,
	.word_bytes = 8,
	.n_regs = 35, /* x0..x30, sp, pc, 33 unused, 34 is RA_SIGN_STATE */
	.sp = 31,
	.fp = 29,
	.ra = 30,
	.pc = 32,
	.signs_addresses = true,
	/* clang-format off */
	.perf_to_dwarf = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
		30, 31, 32,                       /* LR SP PC */
		[33 ... 63] = -1,
	},
	.dwarf_to_perf = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
		30, 31, 32, -1, -1,
	},
	/* clang-format on */
	.ends_in_call = ends_in_call,
	.pushed_bytes = pushed_bytes,
	.trampolines = trampolines,
};
