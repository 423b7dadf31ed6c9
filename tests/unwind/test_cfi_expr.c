/* test_cfi_expr.c - the expression evaluator and the packing of rows that hold expressions.
 * Expected values follow from DWARF5 2.5.1; the whole expressions are those that toolchains emit.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/expr.h"
#include "unwind/rule.h"

#define UNKNOWN_REG 2
#define MEMORY_AT   0x7000u

static uint64_t regs[17];

/* Memory holds at every address the address itself, but only from MEMORY_AT to 0x100 above. */
static bool read_memory(void *arg, uint64_t addr, unsigned size, uint64_t *ret)
{
	(void)arg;
	if (addr < MEMORY_AT || addr - MEMORY_AT > 0x100 - size)
		return false;
	*ret = size == 8 ? addr : addr & ((1ull << size * 8) - 1);
	return true;
}

static enum expr_status evaluate(unsigned address_bytes, const uint8_t *e, size_t n,
				 const uint64_t *initial, uint64_t *ret)
{
	struct expr_machine m = {
		.regs = regs,
		.known = 0x1ffff & ~(1u << UNKNOWN_REG),
		.n_regs = 17,
		.address_bytes = address_bytes,
		.bias = 0x10000,
		.read = read_memory,
	};
	unsigned i;

	for (i = 0; i < 17; i++)
		regs[i] = 0x1000 * i;
	return expr_evaluate(&m, e, n, initial, ret);
}

struct expr_case {
	const char *name;
	const uint8_t *e;
	size_t n;
	uint64_t want;
};
#define EXPR(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void computes(void **state)
{
	const struct expr_case cases[] = {
		{"lit", EXPR(DW_OP_lit31), 31},
		{"const1u", EXPR(DW_OP_const1u, 0xff), 0xff},
		{"const1s", EXPR(DW_OP_const1s, 0xff), UINT64_MAX},
		{"const2u", EXPR(DW_OP_const2u, 0xfe, 0xff), 0xfffe},
		{"const2s", EXPR(DW_OP_const2s, 0xfe, 0xff), (uint64_t)-2},
		{"const4u", EXPR(DW_OP_const4u, 1, 0, 0, 0x80), 0x80000001},
		{"const4s", EXPR(DW_OP_const4s, 1, 0, 0, 0x80), 0xffffffff80000001},
		{"const8u", EXPR(DW_OP_const8u, 1, 2, 3, 4, 5, 6, 7, 8), 0x0807060504030201},
		{"const8s", EXPR(DW_OP_const8s, 1, 2, 3, 4, 5, 6, 7, 0x88), 0x8807060504030201},
		{"constu", EXPR(DW_OP_constu, 0x80, 1), 128},
		{"consts", EXPR(DW_OP_consts, 0x7f), UINT64_MAX},
		{"addr", EXPR(DW_OP_addr, 5, 0, 0, 0, 0, 0, 0, 0), 0x10005},
		{"breg", EXPR(DW_OP_breg7, 0x78), 0x7000 - 8},
		{"bregx", EXPR(DW_OP_bregx, 7, 8), 0x7008},
		{"deref", EXPR(DW_OP_breg7, 16, DW_OP_deref), 0x7010},
		{"deref_size", EXPR(DW_OP_breg7, 16, DW_OP_deref_size, 1), 0x10},
		{"dup", EXPR(DW_OP_lit3, DW_OP_dup, DW_OP_mul), 9},
		{"drop", EXPR(DW_OP_lit3, DW_OP_lit4, DW_OP_drop), 3},
		{"over", EXPR(DW_OP_lit3, DW_OP_lit4, DW_OP_over), 3},
		{"pick", EXPR(DW_OP_lit3, DW_OP_lit4, DW_OP_lit5, DW_OP_pick, 2), 3},
		{"swap", EXPR(DW_OP_lit3, DW_OP_lit4, DW_OP_swap, DW_OP_minus), 1},
		/* rot: 1 2 3 becomes 3 1 2 */
		{"rot top", EXPR(DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot), 2},
		{"rot second", EXPR(DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot, DW_OP_drop), 1},
		{"rot third",
		 EXPR(DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot, DW_OP_drop, DW_OP_drop), 3},
		{"abs", EXPR(DW_OP_const1s, 0xf8, DW_OP_abs), 8},
		{"neg", EXPR(DW_OP_lit8, DW_OP_neg), (uint64_t)-8},
		{"not", EXPR(DW_OP_lit0, DW_OP_not), UINT64_MAX},
		{"and", EXPR(DW_OP_lit12, DW_OP_lit10, DW_OP_and), 8},
		{"or", EXPR(DW_OP_lit12, DW_OP_lit10, DW_OP_or), 14},
		{"xor", EXPR(DW_OP_lit12, DW_OP_lit10, DW_OP_xor), 6},
		{"plus", EXPR(DW_OP_lit12, DW_OP_lit10, DW_OP_plus), 22},
		{"plus_uconst", EXPR(DW_OP_lit12, DW_OP_plus_uconst, 0x80, 1), 140},
		{"minus", EXPR(DW_OP_lit10, DW_OP_lit12, DW_OP_minus), (uint64_t)-2},
		{"div", EXPR(DW_OP_const1s, 0xf9, DW_OP_lit2, DW_OP_div), (uint64_t)-3},
		{"div min by -1",
		 EXPR(DW_OP_const8u, 0, 0, 0, 0, 0, 0, 0, 0x80, DW_OP_const1s, 0xff, DW_OP_div),
		 0x8000000000000000},
		{"mod", EXPR(DW_OP_lit17, DW_OP_lit5, DW_OP_mod), 2},
		{"shl", EXPR(DW_OP_lit1, DW_OP_lit31, DW_OP_shl), 0x80000000},
		{"shl far", EXPR(DW_OP_lit1, DW_OP_const1u, 64, DW_OP_shl), 0},
		{"shr", EXPR(DW_OP_const1s, 0xff, DW_OP_const1u, 63, DW_OP_shr), 1},
		{"shra", EXPR(DW_OP_const1s, 0xf0, DW_OP_lit2, DW_OP_shra), (uint64_t)-4},
		{"shra far", EXPR(DW_OP_const1s, 0xf0, DW_OP_const1u, 99, DW_OP_shra), UINT64_MAX},
		{"ge is signed", EXPR(DW_OP_const1s, 0xff, DW_OP_lit1, DW_OP_ge), 0},
		{"lt is signed", EXPR(DW_OP_const1s, 0xff, DW_OP_lit1, DW_OP_lt), 1},
		{"gt", EXPR(DW_OP_lit2, DW_OP_lit1, DW_OP_gt), 1},
		{"le", EXPR(DW_OP_lit2, DW_OP_lit2, DW_OP_le), 1},
		{"eq", EXPR(DW_OP_lit2, DW_OP_lit2, DW_OP_eq), 1},
		{"ne", EXPR(DW_OP_lit2, DW_OP_lit2, DW_OP_ne), 0},
		{"skip", EXPR(DW_OP_lit1, DW_OP_skip, 1, 0, DW_OP_lit2, DW_OP_nop), 1},
		{"bra taken", EXPR(DW_OP_lit1, DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_lit2), 1},
		{"bra not taken", EXPR(DW_OP_lit1, DW_OP_lit0, DW_OP_bra, 1, 0, DW_OP_lit2), 2},
		{"loop that ends", /* 5, 4, ... 0 */
		 EXPR(DW_OP_lit5, DW_OP_lit1, DW_OP_minus, DW_OP_dup, DW_OP_bra, 0xfa, 0xff), 0},
		/* binutils' .plt, at pc = 16 << 12: before the push */
		{"plt",
		 EXPR(DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and, DW_OP_lit11,
		      DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus),
		 0x7008},
		{"plt after the push",
		 EXPR(DW_OP_breg7, 8, DW_OP_breg16, 11, DW_OP_lit15, DW_OP_and, DW_OP_lit11,
		      DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus),
		 0x7010},
	};
	uint64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		if (evaluate(8, cases[i].e, cases[i].n, NULL, &v) != EXPR_OK || v != cases[i].want)
			fail_msg("%s: 0x%llx", cases[i].name, (unsigned long long)v);
	v = 0x1234;
	assert_int_equal(evaluate(8, EXPR(DW_OP_plus_uconst, 1), &v, &v), EXPR_OK);
	assert_int_equal(v, 0x1235);
}

static void computes_in_32_bits(void **state)
{
	const struct expr_case cases[] = {
		{"wraps", EXPR(DW_OP_const1s, 0xff, DW_OP_lit2, DW_OP_plus), 1},
		{"const1s", EXPR(DW_OP_const1s, 0xff), 0xffffffff},
		{"signed", EXPR(DW_OP_const1s, 0xff, DW_OP_lit1, DW_OP_lt), 1},
		{"shra", EXPR(DW_OP_const1s, 0xf0, DW_OP_lit2, DW_OP_shra), 0xfffffffc},
		{"shl", EXPR(DW_OP_lit1, DW_OP_const1u, 32, DW_OP_shl), 0},
		{"abs", EXPR(DW_OP_const1s, 0xf8, DW_OP_abs), 8},
		{"deref", EXPR(DW_OP_breg7, 16, DW_OP_deref), 0x7010},
		{"addr", EXPR(DW_OP_addr, 5, 0, 0, 0), 0x10005},
	};
	uint64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		if (evaluate(4, cases[i].e, cases[i].n, NULL, &v) != EXPR_OK || v != cases[i].want)
			fail_msg("%s: 0x%llx", cases[i].name, (unsigned long long)v);
	assert_int_equal(evaluate(4, EXPR(DW_OP_breg7, 0, DW_OP_deref_size, 8), NULL, &v),
			 EXPR_BAD);
}

static void refuses(void **state)
{
	const struct {
		const char *name;
		const uint8_t *e;
		size_t n;
		enum expr_status want;
	} cases[] = {
		{"nothing", EXPR(DW_OP_nop), EXPR_BAD},
		{"empty at the end", EXPR(DW_OP_lit1, DW_OP_drop), EXPR_BAD},
		{"underflow", EXPR(DW_OP_lit1, DW_OP_plus), EXPR_BAD},
		{"underflow of pick", EXPR(DW_OP_lit1, DW_OP_pick, 1), EXPR_BAD},
		{"underflow of rot", EXPR(DW_OP_lit1, DW_OP_lit1, DW_OP_rot), EXPR_BAD},
		{"endless", EXPR(DW_OP_lit1, DW_OP_skip, 0xfc, 0xff), EXPR_BAD},
		{"endless without effect", EXPR(DW_OP_lit1, DW_OP_skip, 0xfd, 0xff), EXPR_BAD},
		{"jump behind the end", EXPR(DW_OP_lit1, DW_OP_skip, 1, 0), EXPR_BAD},
		{"jump before the start", EXPR(DW_OP_lit1, DW_OP_skip, 0, 0x80), EXPR_BAD},
		{"cut operand", EXPR(DW_OP_const4u, 1, 2), EXPR_BAD},
		{"cut LEB", EXPR(DW_OP_constu, 0x80), EXPR_BAD},
		{"division by zero", EXPR(DW_OP_lit1, DW_OP_lit0, DW_OP_div), EXPR_BAD},
		{"modulo zero", EXPR(DW_OP_lit1, DW_OP_lit0, DW_OP_mod), EXPR_BAD},
		{"deref_size 0", EXPR(DW_OP_breg7, 0, DW_OP_deref_size, 0), EXPR_BAD},
		{"deref_size 9", EXPR(DW_OP_breg7, 0, DW_OP_deref_size, 9), EXPR_BAD},
		{"call_frame_cfa", EXPR(DW_OP_call_frame_cfa), EXPR_BAD},
		{"call2", EXPR(DW_OP_call2, 0, 0), EXPR_BAD},
		{"reg", EXPR(DW_OP_reg3), EXPR_BAD},
		{"undefined operation", EXPR(0xff), EXPR_BAD},
		{"unknown register", EXPR(DW_OP_breg0 + UNKNOWN_REG, 0), EXPR_NO_REGISTER},
		{"no such register", EXPR(DW_OP_bregx, 17, 0), EXPR_NO_REGISTER},
		{"huge register", EXPR(DW_OP_bregx, 0xff, 0xff, 0x7f, 0), EXPR_NO_REGISTER},
		{"no memory", EXPR(DW_OP_lit1, DW_OP_deref), EXPR_NO_MEMORY},
	};
	uint8_t pushes[200];
	uint64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		if (evaluate(8, cases[i].e, cases[i].n, NULL, &v) != cases[i].want)
			fail_msg("%s", cases[i].name);
	memset(pushes, DW_OP_lit1, sizeof pushes);
	assert_int_equal(evaluate(8, pushes, sizeof pushes, NULL, &v), EXPR_BAD);
	assert_int_equal(evaluate(8, pushes, 0, NULL, &v), EXPR_BAD);
}

static void survives_random_bytes(void **state)
{
	uint64_t seed = 7, v;
	unsigned round, i, n;

	(void)state;
	for (round = 0; round < 50000; round++) {
		n = 1 + round % 40;
		uint8_t *e = malloc(n);

		assert_non_null(e);
		for (i = 0; i < n; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			e[i] = (uint8_t)(seed >> 40);
		}
		(void)evaluate(round & 1 ? 8 : 4, e, n, NULL, &v);
		free(e);
	}
}

/* ---- packing ------------------------------------------------------------------------------- */

/* A row as nearly all are: CFA = rsp + 16, rbp at CFA - 16, return address at CFA - 8. */
static struct cfi_row usual_row(void)
{
	struct cfi_row row = {
		.cfa_how = CFI_CFA_REG, .cfa_reg = 7, .cfa_off = 16, .ra_reg = 16, .n_regs = 17};

	row.regs[6] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = -16};
	row.regs[16] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = -8};
	return row;
}

static struct rule packed(const struct cfi_row *row, uint64_t vaddr)
{
	struct rule r;

	rule_pack(row, &arch_x86_64, vaddr, &r);
	return r;
}

static void set_cfa(struct cfi_row *row, const uint8_t *e, size_t n)
{
	row->cfa_how = CFI_CFA_EXPRESSION;
	row->cfa_expr = e;
	row->cfa_expr_len = (uint32_t)n;
}

static void set_expression(struct cfi_row *row, unsigned reg, const uint8_t *e, size_t n)
{
	row->regs[reg].how = CFI_EXPRESSION;
	row->regs[reg].expr = e;
	row->regs[reg].expr_len = (uint32_t)n;
}

static void packs_simple_rows(void **state)
{
	struct cfi_row row = usual_row();
	struct rule r = packed(&row, 0);

	(void)state;
	assert_int_equal(r.kind, RULE_SP);
	assert_int_equal(r.cfa_off, 16);
	assert_int_equal(r.fp_off, -16);
	assert_int_equal(r.ra_off, -8);
	row.cfa_reg = 6;
	assert_int_equal(packed(&row, 0).kind, RULE_FP);
	row.regs[6].how = CFI_UNSPECIFIED;
	assert_int_equal(packed(&row, 0).fp_off, 0);
	row.cfa_reg = 10;
	r = packed(&row, 0);
	assert_int_equal(r.kind, RULE_SHAPED);
	assert_int_equal(r.reg, 10);
	row.regs[16].how = CFI_UNDEFINED;
	assert_int_equal(packed(&row, 0).kind, RULE_END);
	row = usual_row();
	row.regs[16].off = -24; /* the simple kinds take it from where calls push it */
	r = packed(&row, 0);
	assert_int_equal(r.kind, RULE_SHAPED);
	assert_int_equal(r.ra_off, -24);
	row = usual_row();
	row.cfa_how = CFI_CFA_UNDEFINED;
	assert_int_equal(packed(&row, 0).kind, RULE_BAD_CFI);
}

/* What does not fit must not be squeezed in. */
static void leaves_the_rest_to_the_full_walk(void **state)
{
	struct cfi_row row = usual_row();

	(void)state;
	row.cfa_off = 1ll << 31;
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
	row = usual_row();
	row.regs[6].off = -(1ll << 31) - 1;
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
	row = usual_row();
	row.regs[16].off = -40000;
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
	row = usual_row();
	row.regs[16] = (struct cfi_reg_rule){.how = CFI_REGISTER, .off = 5}; /* vfork */
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
	row = usual_row();
	row.regs[6] = (struct cfi_reg_rule){.how = CFI_REGISTER, .off = 5};
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
	row = usual_row();
	row.regs[7] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = -24};
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
	row = usual_row();
	row.regs[16].how = CFI_UNSPECIFIED;
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
	row = usual_row();
	row.cfa_reg = 99;
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
	/* three loads of memory, as some libcrypto frames need */
	set_cfa(&row, EXPR(DW_OP_breg7, 8, DW_OP_breg9, 0, DW_OP_lit8, DW_OP_mul, DW_OP_plus,
			   DW_OP_deref, DW_OP_plus_uconst, 8));
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
}

static void packs_expressions(void **state)
{
	static const uint8_t plt[] = {DW_OP_breg7, 8,	      DW_OP_breg16, 0,
				      DW_OP_lit15, DW_OP_and, DW_OP_lit11,  DW_OP_ge,
				      DW_OP_lit3,  DW_OP_shl, DW_OP_plus};
	struct cfi_row row = usual_row();
	struct rule r;

	(void)state;
	row.regs[6].how = CFI_UNSPECIFIED;
	set_cfa(&row, plt, sizeof plt);
	r = packed(&row, 0x102a);
	assert_int_equal(r.kind, RULE_SHAPED);
	assert_int_equal(r.flags, RULE_PC_IN_CFA);
	assert_int_equal(r.cfa_off, 8);
	assert_int_equal(packed(&row, 0x102b).cfa_off, 16);
	/* gcc's realigned frames */
	set_cfa(&row, EXPR(DW_OP_breg6, 0x78, DW_OP_deref));
	set_expression(&row, 6, EXPR(DW_OP_breg6, 0));
	r = packed(&row, 0);
	assert_int_equal(r.kind, RULE_SHAPED);
	assert_int_equal(r.reg, 6);
	assert_int_equal(r.cfa_off, -8);
	assert_int_equal(r.flags, RULE_DEREF | RULE_FP_AT_BASE);
	assert_int_equal(r.fp_off, 0);
	/* perlasm */
	row = usual_row();
	set_cfa(&row, EXPR(DW_OP_breg7, 0x18, DW_OP_deref, DW_OP_plus_uconst, 8));
	r = packed(&row, 0);
	assert_int_equal(r.kind, RULE_SHAPED);
	assert_int_equal(r.cfa_off, 0x18);
	assert_int_equal(r.cfa_add, 8);
	assert_int_equal(r.flags, RULE_DEREF);
}

/* glibc's __restore_rt: everything is in the signal frame. */
static void packs_signal_frames(void **state)
{
	struct cfi_row row = {.ra_reg = 16, .n_regs = 17, .is_signal_frame = true};
	struct rule r;

	(void)state;
	set_cfa(&row, EXPR(DW_OP_breg7, 0xa0, 1, DW_OP_deref));
	set_expression(&row, 7, EXPR(DW_OP_breg7, 0xa0, 1));
	set_expression(&row, 6, EXPR(DW_OP_breg7, 0xf8, 0));
	set_expression(&row, 16, EXPR(DW_OP_breg7, 0xa8, 1));
	r = packed(&row, 0);
	assert_int_equal(r.kind, RULE_SHAPED);
	assert_int_equal(r.reg, 7);
	assert_int_equal(r.flags, RULE_DEREF | RULE_SIGNAL | RULE_FP_AT_BASE | RULE_RA_AT_BASE);
	assert_int_equal(r.cfa_off, 160);
	assert_int_equal(r.fp_off, 120);
	assert_int_equal(r.ra_off, 168);
	/* the stack pointer from elsewhere than the CFA */
	set_expression(&row, 7, EXPR(DW_OP_breg7, 0xa8, 1));
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
}

/* Rows that are made up for code that is known by its bytes: offsets from sp, sp's own as well. */
static void packs_made_up_signal_frames(void **state)
{
	struct cfi_row row = {.cfa_how = CFI_CFA_REG,
			      .cfa_reg = 7,
			      .ra_reg = 16,
			      .n_regs = 17,
			      .is_signal_frame = true};
	struct rule r;

	(void)state;
	row.regs[7] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = 160};
	row.regs[6] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = 120};
	row.regs[16] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = 168};
	row.cfa_off = 8;
	r = packed(&row, 0);
	assert_int_equal(r.kind, RULE_SHAPED);
	assert_int_equal(r.flags, RULE_DEREF | RULE_SIGNAL | RULE_FP_AT_BASE | RULE_RA_AT_BASE);
	assert_int_equal(r.cfa_off, 168);
	assert_int_equal(r.fp_off, 128);
	assert_int_equal(r.ra_off, 176);
	row.regs[7].off = INT64_MAX;
	assert_int_equal(packed(&row, 0).kind, RULE_FULL);
}

static struct rule packed_aarch64(const struct cfi_row *row)
{
	struct rule r;

	rule_pack(row, &arch_aarch64, 0, &r);
	return r;
}

static void packs_rows_with_a_link_register(void **state)
{
	struct cfi_row row = {.cfa_how = CFI_CFA_REG, .cfa_reg = 31, .ra_reg = 30, .n_regs = 35};
	struct rule r = packed_aarch64(&row);

	(void)state;
	/* on entry, and in leaf functions */
	assert_int_equal(r.kind, RULE_SP);
	assert_int_equal(r.cfa_off, 0);
	assert_int_equal(r.ra_off, 0);
	/* stp x29, x30, [sp, #-48]!; mov x29, sp */
	row.cfa_reg = 29;
	row.cfa_off = 48;
	row.ra_signed = true;
	row.regs[29] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = -48};
	row.regs[30] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = -40};
	r = packed_aarch64(&row);
	assert_int_equal(r.kind, RULE_FP);
	assert_int_equal(r.fp_off, -48);
	assert_int_equal(r.ra_off, -40);
	/* at the CFA itself: what says "in the register" in packed rules */
	row.regs[30].off = 0;
	assert_int_equal(packed_aarch64(&row).kind, RULE_FULL);
	row.regs[30] = (struct cfi_reg_rule){.how = CFI_REGISTER, .off = 9};
	assert_int_equal(packed_aarch64(&row).kind, RULE_FULL);
	/* the pc and no link register as return address belongs to signal frames only */
	row.regs[30] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = -40};
	row.regs[32] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = -32};
	row.ra_reg = 32;
	assert_int_equal(packed_aarch64(&row).kind, RULE_FULL);
	row.is_signal_frame = true;
	row.regs[31] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = -24};
	r = packed_aarch64(&row);
	assert_int_equal(r.kind, RULE_SHAPED);
	assert_int_equal(r.flags, RULE_DEREF | RULE_SIGNAL | RULE_FP_AT_BASE | RULE_RA_AT_BASE);
	assert_int_equal(r.ra_off, 16);
	row.regs[30].off = -8; /* not behind the frame pointer, where the walk looks for it */
	assert_int_equal(packed_aarch64(&row).kind, RULE_FULL);
	row.regs[30].off = -40;
	row.ra_reg = 30;
	assert_int_equal(packed_aarch64(&row).kind, RULE_FULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(computes),
		cmocka_unit_test(computes_in_32_bits),
		cmocka_unit_test(refuses),
		cmocka_unit_test(survives_random_bytes),
		cmocka_unit_test(packs_simple_rows),
		cmocka_unit_test(leaves_the_rest_to_the_full_walk),
		cmocka_unit_test(packs_expressions),
		cmocka_unit_test(packs_signal_frames),
		cmocka_unit_test(packs_made_up_signal_frames),
		cmocka_unit_test(packs_rows_with_a_link_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
