/* test_arch.c - the processor table: names, ABIs, register maps. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <asm/perf_regs.h>
#include <elf.h>

#include "base/processor.h"
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
	const struct processor *cpu = processor_find("x86_64", 8);
	const int8_t *m = arch_x86_64.perf_to_dwarf;

	(void)state;
	assert_int_equal(cpu->perf_ip, PERF_REG_X86_IP);
	assert_int_equal(cpu->perf_sp, PERF_REG_X86_SP);
	assert_true(cpu->perf_user_regs >> PERF_REG_X86_R15 & 1);
	assert_int_equal(cpu->perf_user_regs >> PERF_REG_X86_DS & 0xf, 0);
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

/* As aarch64-linux-gnu-as writes them. */
#define SUB_SP_32   0xd10083ff /* sub sp, sp, #32 */
#define SUB_SP_4096 0xd14007ff /* sub sp, sp, #1, lsl #12 */
#define ADD_SP_32   0x910083ff /* add sp, sp, #32 */
#define STP_PRE	    0xa9bd7bfd /* stp x29, x30, [sp, #-48]! */
#define STP_OFF	    0xa9017bfd /* stp x29, x30, [sp, #16] */
#define LDP_POST    0xa8c37bfd /* ldp x29, x30, [sp], #48 */
#define MOV_FP	    0x910003fd /* mov x29, sp */
#define STR_PRE	    0xf81f0ff3 /* str x19, [sp, #-16]! */
#define LDR_POST    0xf84107f3 /* ldr x19, [sp], #16 */
#define STP_D_PRE   0x6dbf27e8 /* stp d8, d9, [sp, #-16]! */
#define LDP_Q_POST  0xacc127e8 /* ldp q8, q9, [sp], #32 */
#define STP_PLT	    0xa9bf7bf0 /* stp x16, x30, [sp, #-16]! */
#define ADD	    0x91000400 /* add x0, x0, #1 */
#define NOP	    0xd503201f
#define RET	    0xd65f03c0
#define RETAA	    0xd65f0bff
#define BL	    0x94000000
#define BLR	    0xd63f0020
#define B	    0x14000000

enum {
	ANYWHERE = ARCH_RETURN_ANYWHERE,
	REGISTER = ARCH_RETURN_IN_REGISTER,
	FRAME = ARCH_RETURN_IN_FRAME
};

/* The code before a place, which is at a multiple of 16 plus `past`; whether the first instruction
 * is the start of the function; where the return address is, by what the instructions do. */
static const struct {
	const char *what;
	uint32_t code[12];
	unsigned past;
	bool from_start;
	int at, pushed;
} returns[] = {
	{"first instruction", {0}, 0, true, REGISTER, 0},
	{"leaf", {ADD, ADD}, 8, true, REGISTER, 0},
	{"nothing but arithmetic", {ADD, ADD}, 8, false, ANYWHERE, 0},
	{"leaf that takes stack", {SUB_SP_32, ADD}, 8, true, REGISTER, 32},
	{"takes and gives back", {SUB_SP_32, ADD, ADD_SP_32}, 12, true, REGISTER, 0},
	{"4096", {SUB_SP_4096, ADD}, 8, true, REGISTER, 4096},
	{"single registers", {STR_PRE, STR_PRE, LDR_POST}, 12, true, REGISTER, 16},
	{"pairs of d and q", {SUB_SP_32, STP_D_PRE, LDP_Q_POST}, 12, true, REGISTER, 16},
	{"record stored, fp not set", {SUB_SP_32, STP_PRE}, 8, true, REGISTER, 80},
	{"record set up", {STP_PRE, MOV_FP, ADD}, 12, true, FRAME, 0},
	{"record set up, start unknown", {STP_PRE, MOV_FP, ADD}, 12, false, FRAME, 0},
	{"record without lowering", {SUB_SP_32, STP_OFF}, 8, true, REGISTER, 32},
	{"after a call", {STP_PRE, MOV_FP, BL, ADD}, 0, true, FRAME, 0},
	{"after a call by register", {ADD, BLR, ADD}, 12, false, FRAME, 0},
	{"record taken down", {SUB_SP_32, STP_PRE, MOV_FP, BL, LDP_POST}, 4, true, REGISTER, 32},
	{"all taken down",
	 {SUB_SP_32, STP_PRE, MOV_FP, BL, LDP_POST, ADD_SP_32},
	 8,
	 true,
	 REGISTER,
	 0},
	{"behind another way out", {STP_PRE, MOV_FP, LDP_POST, RET, ADD}, 4, true, FRAME, 0},
	{"behind another way out of a leaf",
	 {SUB_SP_32, ADD, ADD_SP_32, RET, ADD},
	 4,
	 true,
	 REGISTER,
	 32},
	{"behind a tail call", {STP_PRE, MOV_FP, LDP_POST, B, ADD}, 4, true, FRAME, 0},
	{"behind a branch", {STP_PRE, MOV_FP, B, ADD}, 0, true, FRAME, 0},
	{"another function before", {LDP_POST, RETAA, ADD}, 12, false, ANYWHERE, 0},
	{"another leaf before", {ADD, RET, SUB_SP_32}, 12, false, REGISTER, 32},
	{"padding before", {LDP_POST, RET, NOP, NOP, ADD}, 4, false, REGISTER, 0},
	{"call that does not return, padding", {BL, NOP, NOP, SUB_SP_32}, 4, false, REGISTER, 32},
	{"first entry of a .plt", {RET, STP_PLT, ADD}, 8, false, REGISTER, 16},
};

static void finds_return_address_in_code(void **state)
{
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof returns / sizeof *returns; i++) {
		struct arch_code code = {.vaddr = 0x10000 + returns[i].past,
					 .from_start = returns[i].from_start};
		struct arch_return r;

		for (n = 0; n < 12 && returns[i].code[n]; n++)
			;
		code.n = n * 4;
		code.end = (const uint8_t *)(returns[i].code + n);
		r = arch_aarch64.return_before(&code);
		if ((int)r.at != returns[i].at || r.pushed_bytes != returns[i].pushed)
			fail_msg("%s: %d, %d bytes", returns[i].what, (int)r.at,
				 (int)r.pushed_bytes);
	}
}

static void finds_call_target(void **state)
{
	static const uint32_t code[] = {0x94000002, 0x97ffffff, BLR};
	static const uint8_t x86[] = {0xe8, 16, 0, 0, 0, 0xe8, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xd0};
	const uint8_t *at = (const uint8_t *)code;

	(void)state;
	assert_int_equal(arch_aarch64.call_target(at + 4, 4, 0x1004), 0x1008);
	assert_int_equal(arch_aarch64.call_target(at + 8, 4, 0x1008), 0x1000);
	assert_int_equal(arch_aarch64.call_target(at + 12, 4, 0x100c), 0);
	/* call .+5+16; call .+5-5; call *%rax, whose bytes could be the end of the former */
	assert_int_equal(arch_x86_64.call_target(x86 + 5, 5, 0x1005), 0x1015);
	assert_int_equal(arch_x86_64.call_target(x86 + 10, 7, 0x10000100a), 0x100001005);
	assert_int_equal(arch_i386.call_target(x86 + 10, 7, 2), 0xfffffffd);
	assert_int_equal(arch_x86_64.call_target(x86 + 12, 7, 0x100c), 0);
	assert_int_equal(arch_x86_64.call_target(x86 + 4, 4, 0x1004), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_by_name_and_abi),
		cmocka_unit_test(maps_are_inverse),
		cmocka_unit_test(finds_return_address_in_code),
		cmocka_unit_test(finds_call_target),
#if defined __x86_64__
		cmocka_unit_test(agrees_with_kernel_header),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
