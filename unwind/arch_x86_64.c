/* arch_x86_64.c - x86-64 and its 32-bit tasks.
 * DWARF numbers: System V psABI AMD64, figure 3.36; i386, table 2.14. perf bits: asm/perf_regs.h.
 */
#include "unwind/arch.h"

#include <elf.h>
#include <string.h>

/* Length of the indirect call at `code`, 0 if there is none. Intel SDM volume 2, CALL: FF /2 with a
 * ModRM byte that determines the number of bytes that follow. */
static size_t indirect_call_bytes(const uint8_t *code, size_t n)
{
	unsigned mod, rm;
	size_t len = 2;

	if (n < len || code[0] != 0xff || (code[1] >> 3 & 7) != 2)
		return 0;
	mod = code[1] >> 6;
	rm = code[1] & 7;
	if (mod == 3)
		return len;
	if (rm == 4) { /* a SIB byte, which may require a displacement without a base */
		if (n < ++len)
			return 0;
		rm = code[2] & 7;
	}
	return len + (mod == 1 ? 1 : mod == 2 || rm == 5 ? 4 : 0);
}

static bool ends_in_indirect_call(const uint8_t *end, size_t n)
{
	size_t len;

	for (len = 2; len <= 7 && len <= n; len++)
		if (indirect_call_bytes(end - len, len) == len)
			return true;
	return false;
}

/* Prefixes precede the opcode and need not be examined. */
static bool ends_in_call(const uint8_t *end, size_t n)
{
	return (n >= 5 && end[-5] == 0xe8) || ends_in_indirect_call(end, n);
}

static uint32_t load32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* CALL rel32 */
static uint64_t call_target(const uint8_t *end, size_t n, uint64_t ip)
{
	if (n < 5 || end[-5] != 0xe8 || ends_in_indirect_call(end, n))
		return 0;
	return ip + (uint64_t)(int64_t)(int32_t)load32(end - 4);
}

static uint64_t call_target_32(const uint8_t *end, size_t n, uint64_t ip)
{
	return (uint32_t)call_target(end, n, ip);
}

/* JMP rel32 and Jcc rel32, at any byte offset. */
static bool jumps_to(const uint8_t *code, size_t n, uint64_t ip, uint64_t target)
{
	size_t i;

	for (i = 1; i + 4 < n; i++) {
		if (code[i] != 0xe9 && (code[i - 1] != 0x0f || code[i] >> 4 != 8))
			continue;
		if (ip + i + 5 + (uint64_t)(int64_t)(int32_t)load32(code + i + 1) == target)
			return true;
	}
	return false;
}

/* RET, RET imm16, perhaps with a prefix (branch prediction of old processors, MPX). */
static bool is_return(const uint8_t *code, size_t n)
{
	if (n > 1 && (code[0] == 0xf3 || code[0] == 0xf2))
		code++;
	return n && (*code == 0xc3 || *code == 0xc2);
}

/* ---- x86-64 ------------------------------------------------------------------------------ */

/* mov $__NR_rt_sigreturn, %rax (or %eax); syscall */
static const uint8_t sigreturn_rax[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
static const uint8_t sigreturn_eax[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

/* struct ucontext, which is at sp at that point: flags, link and stack take 40 bytes, then struct
 * sigcontext follows (asm/sigcontext.h). */
static const struct arch_saved_reg ucontext_regs[] = {
	{8, 40},  {9, 48},  {10, 56}, {11, 64}, {12, 72}, {13, 80}, {14, 88}, {15, 96},	 {5, 104},
	{4, 112}, {6, 120}, {3, 128}, {1, 136}, {0, 144}, {2, 152}, {7, 160}, {16, 168},
};

enum { N_UCONTEXT_REGS = sizeof ucontext_regs / sizeof *ucontext_regs };

/* A stub of a lazy .plt: push $index; jmp to the first stub, which is: push GOT+8; jmp *GOT+16. The
 * jumps may have a bnd prefix (psABI AMD64 5.2, all linkers). */
static unsigned stub_pushes(const uint8_t *at)
{
	const uint8_t *jump = at + (at[0] == 0xf2), *next = at + 6 + (at[6] == 0xf2);

	if (at[0] == 0xff && at[1] == 0x35 && next[0] == 0xff && next[1] == 0x25)
		return 1;
	if (jump[0] == 0xff && jump[1] == 0x25 && at[-6] == 0xff && at[-5] == 0x35)
		return 2;
	return jump[0] == 0xe9 && at[-5] == 0x68;
}

/* _init of glibc's crti.o, which calls constructors, for example in libcrypto: sub $8,%rsp; mov
 * __gmon_start__@GOTPCREL(%rip),%rax; test %rax,%rax; je +2; call *%rax; other calls; add $8,%rsp;
 * ret. */
static int known_frame(const uint8_t *code, size_t n, size_t at)
{
	static const uint8_t start[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05};
	static const uint8_t rest[] = {0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xd0};
	const size_t rest_off = sizeof start + 4, size = rest_off + sizeof rest;
	size_t i;

	for (i = 0; i + size <= n && i <= at; i++)
		if (!memcmp(code + i, start, sizeof start) &&
		    !memcmp(code + i + rest_off, rest, sizeof rest))
			return at - i < 4 || is_return(code + at, n - at) ? 0 : 8;
	return -1;
}

/* musl's clone: mov %eax,%edi; xor %eax,%eax; mov $SYS_exit,%al; syscall */
static const uint8_t exit_musl[] = {0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05};
/* glibc's clone before it had unwind information: mov %rax,%rdi; mov $SYS_exit,%eax; syscall */
static const uint8_t exit_glibc[] = {0x48, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05};
/* glibc's __start_context; the function of a makecontext() returns to its start: mov %rbx,%rsp; mov
 * (%rsp),%rdi; test %rdi,%rdi; je +8; call __setcontext */
static const uint8_t exit_context[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24,
				       0x48, 0x85, 0xff, 0x74, 0x08, 0xe8};
/* The same in a glibc built with control-flow enforcement: endbr64 first. */
static const uint8_t exit_context_cet[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xdc, 0x48, 0x8b,
					   0x3c, 0x24, 0x48, 0x85, 0xff, 0x74, 0x08, 0xe8};
/* The function of a Boost fiber returns to the instruction after the jump that entered it: jmp
 * *%rbx; xor %rdi,%rdi; call _exit (make_x86_64_sysv_elf_gas.S). */
static const uint8_t exit_fiber[] = {0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8};
static const uint8_t exit_fiber_cet[] = {0xff, 0xe3, 0xf3, 0x0f, 0x1e,
					 0xfa, 0x48, 0x31, 0xff, 0xe8};
static const struct arch_exit exits[] = {{exit_musl, sizeof exit_musl, 0, false},
					 {exit_glibc, sizeof exit_glibc, 0, false},
					 {exit_context, sizeof exit_context, 0, true},
					 {exit_context_cet, sizeof exit_context_cet, 0, true},
					 {exit_fiber, sizeof exit_fiber, 2, false},
					 {exit_fiber_cet, sizeof exit_fiber_cet, 2, false},
					 {0}};

/* glibc's clone and clone3: syscall; test %rax,%rax; jl; je +1; ret; xor %ebp,%ebp. Their call
 * frame information ends before the first of these; the code from the last on has an FDE with an
 * undefined return address. */
static const int16_t clone_glibc[] = {0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c,
				      -1,   0x74, 0x01, 0xc3, 0x31, 0xed};
/* musl's clone: syscall; test %eax,%eax; jne; xor %ebp,%ebp; pop %rdi; call *%r9 */
static const int16_t clone_musl[] = {0x0f, 0x05, 0x85, 0xc0, 0x75, -1,
				     0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1};
static const struct arch_clone clones[] = {
	{clone_glibc, sizeof clone_glibc / sizeof *clone_glibc, 2, 7},
	{clone_musl, sizeof clone_musl / sizeof *clone_musl, 2, 9},
	{0},
};

static const struct arch_trampoline trampolines[] = {
	{sigreturn_rax, sizeof sigreturn_rax, N_UCONTEXT_REGS, 0, ucontext_regs, 0, {0}},
	{sigreturn_eax, sizeof sigreturn_eax, N_UCONTEXT_REGS, 0, ucontext_regs, 0, {0}},
	{0},
};

/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
static const uint8_t python_stub[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
				      0x48, 0x83, 0xc4, 0x08, 0xc3};
static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

const struct arch arch_x86_64 = {
	.e_machine = EM_X86_64,
	.word_bytes = 8,
	.n_regs = 17,
	.sp = 7,
	.fp = 6,
	.ra = 16,
	.pc = 16,
	.aligns_calls = true,
	.interpreter_sp_off = -8,
	.throw_regs = {0, 1}, /* rax, rdx */
	.go_fp_off = -16,
	/* clang-format off */
	.perf_to_dwarf = {
		0, 3, 2, 1, 4, 5, 6, 7,           /* AX BX CX DX SI DI BP SP */
		16, -1, -1, -1, -1, -1, -1, -1,   /* IP FLAGS CS SS DS ES FS GS */
		8, 9, 10, 11, 12, 13, 14, 15,     /* R8 .. R15 */
		[24 ... 63] = -1,
	},
	.dwarf_to_perf = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8},
	/* clang-format on */
	.ends_in_call = ends_in_call,
	.call_target = call_target,
	.jumps_to = jumps_to,
	.is_return = is_return,
	.stub_pushes = stub_pushes,
	.known_frame = known_frame,
	.code_step = code_step_x86_64,
	.code_may_start = code_may_start_x86_64,
	.code_begins = code_begins_x86_64,
	.stub = python_stub,
	.stub_bytes = sizeof python_stub,
	.stub_prefix = endbr64,
	.stub_prefix_bytes = sizeof endbr64,
	.trampolines = trampolines,
	.exits = exits,
	.clones = clones,
};

/* ---- i386 -------------------------------------------------------------------------------- */

/* pop %eax; mov $__NR_sigreturn, %eax; int $0x80. rt_sigreturn is the same without the pop. */
static const uint8_t sigreturn[] = {0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80};
static const uint8_t rt_sigreturn[] = {0xb8, 0xad, 0, 0, 0, 0xcd, 0x80};

/* At sp at that point, in old frames: the signal number, struct sigcontext. In rt frames: the
 * signal number, two pointers, siginfo (128 bytes), struct ucontext, whose sigcontext is at 20
 * (asm/sigframe.h, asm/sigcontext.h). */
#define SIGCONTEXT(at)                                                                          \
	{                                                                                       \
		{7, (at) + 16}, {6, (at) + 20}, {5, (at) + 24}, {4, (at) + 28}, {3, (at) + 32}, \
			{2, (at) + 36}, {1, (at) + 40}, {0, (at) + 44},                         \
		{                                                                               \
			8, (at) + 56                                                            \
		}                                                                               \
	}
static const struct arch_saved_reg sigreturn_regs[] = SIGCONTEXT(4);
static const struct arch_saved_reg rt_sigreturn_regs[] = SIGCONTEXT(12 + 128 + 20);
#undef SIGCONTEXT

/* asm/segment.h: __USER_CS of 32-bit kernels, __USER32_CS of 64-bit kernels. */
enum { USER_CS = 0x73, USER_CS_64 = 0x23 };

static const struct arch_trampoline i386_trampolines[] = {
	{sigreturn, sizeof sigreturn, 9, 4, sigreturn_regs, 4 + 60, {USER_CS, USER_CS_64}},
	{rt_sigreturn,
	 sizeof rt_sigreturn,
	 9,
	 0,
	 rt_sigreturn_regs,
	 160 + 60,
	 {USER_CS, USER_CS_64}},
	{0},
};

/* musl's clone: mov %eax,%ebx; xor %eax,%eax; inc %eax (SYS_exit); int $0x80 */
static const uint8_t i386_exit_musl[] = {0x89, 0xc3, 0x31, 0xc0, 0x40, 0xcd, 0x80};
static const struct arch_exit i386_exits[] = {{i386_exit_musl, sizeof i386_exit_musl, 0, false},
					      {0}};

/* A 32-bit task has no R8..R15; for the other registers the kernel uses the 64-bit numbering. */
const struct arch arch_i386 = {
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
	.dwarf_to_perf = {0, 2, 3, 1, 7, 6, 4, 5, 8},
	/* clang-format on */
	.ends_in_call = ends_in_call,
	.call_target = call_target_32,
	/* __kernel_vsyscall of a vDSO that is not available pushes ecx, edx, ebp; glibc's memcpy
	 * pushes eax */
	.untold_pushes = 3,
	.throw_regs = {0, 2}, /* eax, edx */
	.trampolines = i386_trampolines,
	.exits = i386_exits,
};
