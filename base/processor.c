/* processor.c - the table of processors. */
#include "base/processor.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#ifndef R_AARCH64_IRELATIVE /* musl's elf.h */
#define R_AARCH64_IRELATIVE 1032
#endif

/* clang-format off */
static const struct processor rows[] = {
	{ /* System V psABI AMD64 */
		.names = {"x86_64", "amd64", "x86"},
		.e_machine = EM_X86_64, .word_bytes = 8, .insn_set = INSN_SET_X86,
		.perf_ip = 8, .perf_sp = 7,
		.perf_user_regs = 0xff0fff, /* all but DS, ES, FS, GS, which the kernel refuses */
		.reloc_abs64 = R_X86_64_64, .reloc_abs32 = R_X86_64_32, .reloc_abs32_signed = R_X86_64_32S,
		.reloc_glob_dat = R_X86_64_GLOB_DAT, .reloc_jump_slot = R_X86_64_JUMP_SLOT,
		.reloc_irelative = R_X86_64_IRELATIVE,
	},
	{ /* System V psABI i386; also the 32-bit tasks of 64-bit kernels */
		.names = {"i386", "i486", "i586", "i686", "x86", "x86_64", "amd64"},
		.e_machine = EM_386, .word_bytes = 4, .insn_set = INSN_SET_X86,
		.perf_ip = 8, .perf_sp = 7,
		.reloc_abs32 = R_386_32,
		.reloc_glob_dat = R_386_GLOB_DAT, .reloc_jump_slot = R_386_JMP_SLOT,
		.reloc_irelative = R_386_IRELATIVE,
	},
	{ /* ELF for the Arm 64-bit Architecture */
		.names = {"aarch64", "arm64"},
		.e_machine = EM_AARCH64, .word_bytes = 8, .insn_set = INSN_SET_A64,
		.perf_ip = 32, .perf_sp = 31,
		.perf_user_regs = (1ull << 33) - 1, /* x0-x30, sp, pc */
		.reloc_abs64 = R_AARCH64_ABS64, .reloc_abs32 = R_AARCH64_ABS32,
		.reloc_glob_dat = R_AARCH64_GLOB_DAT, .reloc_jump_slot = R_AARCH64_JUMP_SLOT,
		.reloc_irelative = R_AARCH64_IRELATIVE,
		.mark_letters = "adtx",
	},
	{ /* ELF for the Arm Architecture */
		.names = {"arm", "armv6l", "armv7l", "armv8l"},
		.e_machine = EM_ARM, .word_bytes = 4,
		.perf_ip = 15, .perf_sp = 13,
		.reloc_abs32 = R_ARM_ABS32,
		.mark_letters = "adtx", .has_thumb_bit = true,
	},
	{
		.names = {"ppc64le", "ppc64", "powerpc"},
		.e_machine = EM_PPC64, .word_bytes = 8,
		.perf_ip = 32, .perf_sp = 1,
		.reloc_abs64 = R_PPC64_ADDR64, .reloc_abs32 = R_PPC64_ADDR32,
	},
	{
		.names = {"s390x", "s390"},
		.e_machine = EM_S390, .word_bytes = 8,
		.perf_ip = 33, .perf_sp = 15,
		.reloc_abs64 = R_390_64, .reloc_abs32 = R_390_32,
	},
	{
		.names = {"riscv64", "riscv"},
		.e_machine = EM_RISCV, .word_bytes = 8,
		.perf_ip = 0, .perf_sp = 2,
		.reloc_abs64 = R_RISCV_64, .reloc_abs32 = R_RISCV_32,
		.mark_letters = "dx", .marks_are_open = true,
	},
	{
		.names = {"riscv32", "riscv"},
		.e_machine = EM_RISCV, .word_bytes = 4,
		.perf_ip = 0, .perf_sp = 2,
		.reloc_abs64 = R_RISCV_64, .reloc_abs32 = R_RISCV_32,
		.mark_letters = "dx", .marks_are_open = true,
	},
};
/* clang-format on */

enum { N_ROWS = sizeof rows / sizeof *rows };

static bool has_name(const struct processor *p, const char *name)
{
	const char *const *n;

	for (n = p->names; *n; n++)
		if (!strcmp(*n, name))
			return true;
	return false;
}

const struct processor *processor_find(const char *name, unsigned word_bytes)
{
	size_t i;

	for (i = 0; name && i < N_ROWS; i++)
		if (has_name(&rows[i], name) && (!word_bytes || rows[i].word_bytes == word_bytes))
			return &rows[i];
	return NULL;
}

bool processor_same(const char *a, const char *b)
{
	size_t i;

	for (i = 0; i < N_ROWS; i++)
		if (has_name(&rows[i], a) && has_name(&rows[i], b))
			return true;
	return !strcmp(a, b);
}

/* Kernels of 64 bits run programs of 32, and what these see as the machine's name may be theirs. */
static uint16_t family_of(uint16_t e_machine)
{
	switch (e_machine) {
	case EM_386:
		return EM_X86_64;
	case EM_ARM:
		return EM_AARCH64;
	case EM_PPC:
		return EM_PPC64;
	default:
		return e_machine;
	}
}

bool processor_runs(const char *name, uint16_t e_machine)
{
	const struct processor *p = processor_find(name, 0);

	return !p || e_machine == EM_NONE || family_of(p->e_machine) == family_of(e_machine);
}

const struct processor *processor_find_elf(uint16_t e_machine, bool is_64)
{
	const struct processor *other = NULL;
	size_t i;

	for (i = 0; i < N_ROWS; i++) {
		if (rows[i].e_machine == e_machine && (rows[i].word_bytes == 8) == is_64)
			return &rows[i];
		if (rows[i].e_machine == e_machine)
			other = &rows[i];
	}
	return other;
}

enum insn_set processor_insn_set(uint16_t e_machine)
{
	const struct processor *p = processor_find_elf(e_machine, true);

	return p ? (enum insn_set)p->insn_set : INSN_SET_UNKNOWN;
}

const struct processor *processor_here(void)
{
#if defined(__x86_64__)
	return processor_find_elf(EM_X86_64, true);
#elif defined(__aarch64__)
	return processor_find_elf(EM_AARCH64, true);
#else
	return NULL;
#endif
}
