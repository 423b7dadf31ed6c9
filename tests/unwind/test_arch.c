/* test_arch.c - the processor table: names, ABIs, register maps. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <asm/perf_regs.h>
#include <elf.h>

#include "reader/reader.h"
#include "unwind/arch.h"

static void finds_by_name_and_abi(void **state)
{
	(void)state;
	assert_ptr_equal(arch_find("x86_64", PERF_REGS_ABI_64_), &arch_x86_64);
	assert_ptr_equal(arch_find("x86_64", PERF_REGS_ABI_NONE_), &arch_x86_64);
	assert_ptr_equal(arch_find("x86_64", PERF_REGS_ABI_32_), &arch_i386);
	assert_ptr_equal(arch_find("i686", PERF_REGS_ABI_32_), &arch_i386);
	assert_null(arch_find("i686", PERF_REGS_ABI_64_));
	assert_ptr_equal(arch_find("aarch64", PERF_REGS_ABI_64_), &arch_aarch64);
	assert_null(arch_find("s390x", PERF_REGS_ABI_64_));
	assert_null(arch_find("", PERF_REGS_ABI_64_));
	assert_non_null(arch_find(NULL, PERF_REGS_ABI_64_));
}

/* Every DWARF number is used at most once and is tracked; the special registers are mapped; both
 * maps say the same. */
static void maps_are_inverse(void **state)
{
	static const struct arch *const all[] = {&arch_x86_64, &arch_i386, &arch_aarch64};
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		const struct arch *a = all[i];
		uint64_t seen = 0;
		int bit, reg;

		assert_true(a->n_regs <= ARCH_REGS_MAX);
		for (bit = 0; bit < 64; bit++) {
			reg = a->perf_to_dwarf[bit];
			if (reg < 0)
				continue;
			assert_true(reg < a->n_regs);
			assert_false(seen >> reg & 1);
			seen |= 1ull << reg;
			assert_int_equal(a->dwarf_to_perf[reg], bit);
		}
		for (reg = 0; reg < a->n_regs; reg++)
			assert_int_equal(a->dwarf_to_perf[reg] >= 0, seen >> reg & 1);
		assert_true(seen >> a->sp & 1);
		assert_true(seen >> a->fp & 1);
		assert_true(seen >> a->ra & 1);
		assert_true(seen >> a->pc & 1);
	}
}

#if defined __x86_64__
/* The kernel's own enumeration, where this machine's headers have it. */
static void agrees_with_kernel_header(void **state)
{
	const int8_t *m = arch_x86_64.perf_to_dwarf;

	(void)state;
	assert_int_equal(m[PERF_REG_X86_AX], 0);
	assert_int_equal(m[PERF_REG_X86_BX], 3);
	assert_int_equal(m[PERF_REG_X86_CX], 2);
	assert_int_equal(m[PERF_REG_X86_DX], 1);
	assert_int_equal(m[PERF_REG_X86_SI], 4);
	assert_int_equal(m[PERF_REG_X86_DI], 5);
	assert_int_equal(m[PERF_REG_X86_BP], 6);
	assert_int_equal(m[PERF_REG_X86_SP], 7);
	assert_int_equal(m[PERF_REG_X86_IP], 16);
	assert_int_equal(m[PERF_REG_X86_GS], -1);
	assert_int_equal(m[PERF_REG_X86_R8], 8);
	assert_int_equal(m[PERF_REG_X86_R15], 15);
	assert_int_equal(m[PERF_REG_X86_R15 + 1], -1);
	assert_int_equal(arch_i386.perf_to_dwarf[PERF_REG_X86_CX], 1);
	assert_int_equal(arch_i386.perf_to_dwarf[PERF_REG_X86_R8], -1);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_by_name_and_abi),
		cmocka_unit_test(maps_are_inverse),
#if defined __x86_64__
		cmocka_unit_test(agrees_with_kernel_header),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
