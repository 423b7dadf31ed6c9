/* arch_aarch64.c - 64-bit Arm.
 * DWARF numbers: "DWARF for the Arm 64-bit Architecture", 4.1. perf bits: asm/perf_regs.h. */
#include "unwind/arch.h"

#include <elf.h>

static uint32_t instruction(const uint8_t *code)
{
	return (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

/* ---- instructions (Arm ARM C4.1) ---------------------------------------------------------- */

enum insn_kind {
	INSN_OTHER,
	INSN_SETS_FP,	   /* add x29, sp, #n */
	INSN_STORE_RECORD, /* stp x29, x30 */
	INSN_LOAD_RECORD,  /* ldp x29, x30 */
	INSN_CALL,
	INSN_RETURN,
	INSN_JUMP, /* B, BR: perhaps a tail call */
};

static enum insn_kind insn_kind(uint32_t insn)
{
	static const struct {
		uint32_t mask, bits;
		enum insn_kind kind;
	} kinds[] = {
		{0xffc003ff, 0x910003fd, INSN_SETS_FP},
		/* sp unchanged, lowered before (STP) or raised after (LDP) */
		{0xffc07fff, 0xa9007bfd, INSN_STORE_RECORD},
		{0xffc07fff, 0xa9807bfd, INSN_STORE_RECORD},
		{0xffc07fff, 0xa9407bfd, INSN_LOAD_RECORD},
		{0xffc07fff, 0xa8c07bfd, INSN_LOAD_RECORD},
		{0xfc000000, 0x94000000, INSN_CALL}, /* BL; BLR and its authenticating forms */
		{0xfffffc1f, 0xd63f0000, INSN_CALL},
		{0xfefff800, 0xd63f0800, INSN_CALL},
		{0xffffffff, 0xd65f03c0, INSN_RETURN}, /* RET, RETAA, RETAB */
		{0xfffffbff, 0xd65f0bff, INSN_RETURN},
		{0xfc000000, 0x14000000, INSN_JUMP},
		{0xfffffc1f, 0xd61f0000, INSN_JUMP},
	};
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if ((insn & kinds[i].mask) == kinds[i].bits)
			return kinds[i].kind;
	return INSN_OTHER;
}

static int64_t signed_bits(uint32_t insn, unsigned low, unsigned n)
{
	return (int64_t)((uint64_t)insn << (64 - low - n)) >> (64 - n);
}

/* By how many bytes an instruction lowers sp: the forms of prologues and epilogues. */
static int64_t sp_lowered(uint32_t insn)
{
	uint32_t pair = insn & 0xffc003e0; /* opcode and base register only */

	if ((insn & 0xff8003ff) == 0xd10003ff) /* sub sp, sp, #n */
		return (int64_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1) * 12;
	if ((insn & 0xff8003ff) == 0x910003ff) /* add sp, sp, #n */
		return -((int64_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1) * 12);
	if ((insn & 0xffe00fe0) == 0xf8000fe0 || (insn & 0xffe00fe0) == 0xf84007e0)
		return -signed_bits(insn, 12, 9); /* str [sp, #n]!; ldr [sp], #n */
	/* stp [sp, #n]!; ldp [sp], #n: x, d and q registers */
	if (pair == 0xa98003e0 || pair == 0xa8c003e0 || pair == 0x6d8003e0 || pair == 0x6cc003e0)
		return -signed_bits(insn, 15, 7) * 8;
	if (pair == 0xad8003e0 || pair == 0xacc003e0)
		return -signed_bits(insn, 15, 7) * 16;
	return 0;
}

/* ---- code without call frame information ------------------------------------------------- */

/* True if there is padding after the instruction that ends at `end`, `back` bytes before vaddr, as
 * there is before a function that is aligned to 16 bytes. */
static bool is_padded(const uint8_t *end, size_t back, uint64_t vaddr)
{
	size_t pad = (size_t) - (vaddr - back) % 16, i;

	for (i = 0; i < pad && i < back; i += 4)
		if (instruction(end + i) != 0xd503201f && instruction(end + i)) /* NOP, UDF */
			return false;
	return pad && pad <= back;
}

/* True if the last instructions before `end` restore a frame record. Up to three instructions may
 * follow that: those that free the frame, authentication, instructions that the compiler moved
 * there. */
static bool is_framed_epilogue(const uint8_t *end, size_t n)
{
	size_t back;

	for (back = 4; back <= 16 && back <= n; back += 4)
		if (insn_kind(instruction(end - back)) == INSN_LOAD_RECORD)
			return true;
	return false;
}

/* Goes backwards through the code, as if it had run in this order, to the instruction that last
 * decided where the return address is, then on to the start of the function to sum up how much sp
 * was lowered. */
static struct arch_return return_before(const struct arch_code *code)
{
	struct arch_return r = {ARCH_RETURN_ANYWHERE, 0};
	bool left = false; /* passed another exit; changes of sp before it are on another path */
	int64_t lowered;
	size_t back;

	for (back = 4; back <= code->n; back += 4) {
		const uint8_t *at = code->end - back;
		uint32_t insn = instruction(at);
		enum insn_kind kind = insn_kind(insn);
		bool is_exit = kind == INSN_RETURN || kind == INSN_JUMP;
		bool is_framed = is_exit && is_framed_epilogue(at, code->n - back);

		if ((is_exit || kind == INSN_CALL) && is_padded(at + 4, back - 4, code->vaddr))
			break;
		if (r.at == ARCH_RETURN_ANYWHERE) {
			/* stp x16, x30, [sp, #-16]!: the first entry of a .plt (the same for all
			 * linkers); three more instructions and a branch follow. */
			if (insn == 0xa9bf7bf0 && back <= 16)
				return (struct arch_return){ARCH_RETURN_IN_REGISTER, 16};
			if (kind == INSN_SETS_FP || kind == INSN_CALL)
				return (struct arch_return){ARCH_RETURN_IN_FRAME, 0};
			/* After it comes another function, or a part of this one that is reached by
			 * branches with the frame in place. */
			if (is_framed && code->from_start)
				return (struct arch_return){ARCH_RETURN_IN_FRAME, 0};
			if (is_framed)
				return r;
			/* The frame record is not set up yet, already removed, or never made. */
			if (kind == INSN_STORE_RECORD || kind == INSN_LOAD_RECORD ||
			    kind == INSN_RETURN)
				r.at = ARCH_RETURN_IN_REGISTER;
		}
		left |= kind == INSN_RETURN || is_framed;
		if (left && !code->from_start)
			break;
		lowered = sp_lowered(insn);
		if (lowered > 0 || !left)
			r.pushed_bytes += lowered;
	}
	if (code->from_start || back <= code->n)
		r.at = ARCH_RETURN_IN_REGISTER;
	return r;
}

static bool ends_in_call(const uint8_t *end, size_t n)
{
	return n >= 4 && insn_kind(instruction(end - 4)) == INSN_CALL;
}

/* BL imm26 */
static uint64_t call_target(const uint8_t *end, size_t n, uint64_t ip)
{
	uint32_t insn = n >= 4 ? instruction(end - 4) : 0;

	return insn >> 26 == 0x25 ? ip - 4 + (uint64_t)((int64_t)(int32_t)(insn << 6) >> 4) : 0;
}

/* B imm26 */
static bool jumps_to(const uint8_t *code, size_t n, uint64_t ip, uint64_t target)
{
	size_t i;

	for (i = 0; i + 4 <= n; i += 4)
		if (instruction(code + i) >> 26 == 5 &&
		    ip + i + (uint64_t)signed_bits(instruction(code + i), 0, 26) * 4 == target)
			return true;
	return false;
}

/* mov x8, #__NR_rt_sigreturn; svc #0 */
static const uint8_t sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};

/* struct rt_sigframe at sp: siginfo (128 bytes), then ucontext. Its mcontext is at 176 and begins
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

/* musl's clone: mov x8, #SYS_exit; svc #0 */
static const uint8_t exit_musl[] = {0xa8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
static const struct arch_exit exits[] = {{exit_musl, sizeof exit_musl, 0, false}, {0}};

static const struct arch_trampoline trampolines[] = {
	{
		.code = sigreturn,
		.code_bytes = sizeof sigreturn,
		.n_saved = sizeof ucontext_regs / sizeof *ucontext_regs,
		.saved = ucontext_regs,
		/* The first of the records after the registers is always that of the FPU. */
		.mark_off = 128 + 176 + 288,
		.marks = {0x46508001, 0x46508001}, /* FPSIMD_MAGIC of asm/sigcontext.h */
	},
	{0},
};

const struct arch arch_aarch64 = {
	.e_machine = EM_AARCH64,
	.word_bytes = 8,
	.n_regs = 35, /* x0..x30, sp, pc, 33 unused, 34 is RA_SIGN_STATE */
	.sp = 31,
	.fp = 29,
	.ra = 30,
	.pc = 32,
	.signs_addresses = true,
	.untold_plt_bytes = 16,
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
	.return_before = return_before,
	.call_target = call_target,
	.jumps_to = jumps_to,
	/* sizeof(struct rt_sigframe), without the extra space for larger vector registers */
	.signal_record_off = 128 + 176 + 288 + 4096,
	.code_step = code_step_aarch64,
	.trampolines = trampolines,
	.exits = exits,
};
