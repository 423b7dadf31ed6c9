/* test_cfi.c - entries and rows from hand-built sections: every DW_CFA operation, every pointer
 * encoding, all versions, and bytes that lie. Expected values follow from DWARF5 6.4.2 and the LSB.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <stdlib.h>

#include "tests/unwind/cfi_build.h"
#include "unwind/cfi.h"

#define VADDR 0x100000 /* of the section */
#define CODE  0x4000
#define SIZE  0x100

/* CFA = rsp + 8, return address at CFA - 8. */
static const uint8_t initial[] = {DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1};

static struct cfi_section section_of(const struct build *b, bool is_eh)
{
	return (struct cfi_section){
		.data = b->bytes, .size = b->n, .vaddr = VADDR, .is_eh = is_eh, .address_bytes = 8};
}

/* A section with one CIE and one FDE for [CODE, CODE + SIZE). Returns the FDE's offset. */
static size_t build_fde(struct build *b, const uint8_t *insns, size_t n)
{
	const struct cie_spec cie = {true, 1, "zR", DW_EH_PE_udata8, initial, sizeof initial};
	size_t cie_off, off;

	b->n = 0;
	b->is_64 = false;
	cie_off = put_cie(b, &cie);
	off = put_fde_head(b, true, cie_off);
	put(b, CODE, 8);
	put(b, SIZE, 8);
	put(b, 0, 1); /* no augmentation data */
	put_bytes(b, insns, n);
	entry_end(b);
	return off;
}

static bool row_of(const uint8_t *insns, size_t n, uint64_t pc, struct cfi_row *row)
{
	static struct build b; /* rows point into it */
	size_t off = build_fde(&b, insns, n);
	struct cfi_section sec = section_of(&b, true);
	struct cfi_fde fde;

	assert_true(cfi_fde_read(&sec, off, &fde));
	assert_int_equal(fde.start, CODE);
	assert_int_equal(fde.end, CODE + SIZE);
	return cfi_row_find(&fde, &arch_x86_64, pc, NULL, row);
}

#define INSNS(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* ---- operations that set one register's rule ----------------------------------------------- */

struct rule_case {
	const char *name;
	const uint8_t *insns;
	size_t n;
	unsigned reg;
	enum cfi_how how;
	int64_t off;
};

static void sets_rules(void **state)
{
	const struct rule_case cases[] = {
		{"offset", INSNS(DW_CFA_offset | 6, 2), 6, CFI_OFFSET, -16},
		{"offset_extended", INSNS(DW_CFA_offset_extended, 12, 3), 12, CFI_OFFSET, -24},
		{"offset_extended_sf", INSNS(DW_CFA_offset_extended_sf, 12, 0x7e), 12, CFI_OFFSET,
		 16},
		{"negative", INSNS(DW_CFA_GNU_negative_offset_extended, 3, 2), 3, CFI_OFFSET, 16},
		{"val_offset", INSNS(DW_CFA_val_offset, 7, 2), 7, CFI_VAL_OFFSET, -16},
		{"val_offset_sf", INSNS(DW_CFA_val_offset_sf, 7, 0x7f), 7, CFI_VAL_OFFSET, 8},
		{"undefined", INSNS(DW_CFA_undefined, 16), 16, CFI_UNDEFINED, 0},
		{"same_value", INSNS(DW_CFA_same_value, 3), 3, CFI_SAME_VALUE, 0},
		{"register", INSNS(DW_CFA_register, 16, 5), 16, CFI_REGISTER, 5},
		{"restore", INSNS(DW_CFA_undefined, 16, DW_CFA_restore | 16), 16, CFI_OFFSET, -8},
		{"restore_extended", INSNS(DW_CFA_undefined, 16, DW_CFA_restore_extended, 16), 16,
		 CFI_OFFSET, -8},
		{"restore of nothing", INSNS(DW_CFA_restore | 3), 3, CFI_UNSPECIFIED, 0},
		{"restore to nothing", INSNS(DW_CFA_offset | 3, 2, DW_CFA_restore | 3), 3,
		 CFI_UNSPECIFIED, 0},
		{"args_size", INSNS(DW_CFA_GNU_args_size, 0x80, 1, DW_CFA_offset | 3, 2), 3,
		 CFI_OFFSET, -16},
		{"nop", INSNS(DW_CFA_nop, DW_CFA_nop, DW_CFA_offset | 3, 2), 3, CFI_OFFSET, -16},
		{"untracked register",
		 INSNS(DW_CFA_offset_extended, 0xff, 0x7f, 2, DW_CFA_offset | 3, 2), 3, CFI_OFFSET,
		 -16},
	};
	struct cfi_row row;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct rule_case *c = &cases[i];

		if (!row_of(c->insns, c->n, CODE, &row) || row.regs[c->reg].how != c->how ||
		    row.regs[c->reg].off != c->off)
			fail_msg("%s: how %d off %d", c->name, row.regs[c->reg].how,
				 (int)row.regs[c->reg].off);
		assert_int_equal(row.cfa_reg, 7);
		assert_int_equal(row.cfa_off, 8);
	}
}

static void sets_expressions(void **state)
{
	struct cfi_row row;

	(void)state;
	assert_true(row_of(INSNS(DW_CFA_expression, 6, 2, DW_OP_breg6, 0), CODE, &row));
	assert_int_equal(row.regs[6].how, CFI_EXPRESSION);
	assert_int_equal(row.regs[6].expr_len, 2);
	assert_int_equal(row.regs[6].expr[0], DW_OP_breg6);
	assert_true(row_of(INSNS(DW_CFA_val_expression, 6, 1, DW_OP_lit3), CODE, &row));
	assert_int_equal(row.regs[6].how, CFI_VAL_EXPRESSION);
	assert_true(row_of(INSNS(DW_CFA_def_cfa_expression, 3, DW_OP_breg7, 8, DW_OP_deref), CODE,
			   &row));
	assert_int_equal(row.cfa_how, CFI_CFA_EXPRESSION);
	assert_int_equal(row.cfa_expr_len, 3);
	/* longer than what is left */
	assert_false(row_of(INSNS(DW_CFA_expression, 6, 0x7f, DW_OP_breg6, 0), CODE, &row));
	assert_false(row_of(INSNS(DW_CFA_def_cfa_expression, 0x7f, DW_OP_breg6, 0), CODE, &row));
}

/* ---- the CFA ------------------------------------------------------------------------------- */

static void sets_cfa(void **state)
{
	const struct {
		const char *name;
		const uint8_t *insns;
		size_t n;
		uint32_t reg;
		int64_t off;
	} cases[] = {
		{"def_cfa", INSNS(DW_CFA_def_cfa, 6, 16), 6, 16},
		{"def_cfa_sf", INSNS(DW_CFA_def_cfa_sf, 6, 0x7e), 6, 16},
		{"def_cfa_register", INSNS(DW_CFA_def_cfa_register, 6), 6, 8},
		{"def_cfa_offset", INSNS(DW_CFA_def_cfa_offset, 0x80, 2), 7, 256},
		{"def_cfa_offset_sf", INSNS(DW_CFA_def_cfa_offset_sf, 0x70), 7, 128},
	};
	struct cfi_row row;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!row_of(cases[i].insns, cases[i].n, CODE, &row) || row.cfa_how != CFI_CFA_REG ||
		    row.cfa_reg != cases[i].reg || row.cfa_off != cases[i].off)
			fail_msg("%s: r%u %+d", cases[i].name, row.cfa_reg, (int)row.cfa_off);
}

/* As libgcc's, gdb's and LLVM's readers: an expression does not make the offset forgotten. So it is
 * in _gcry_sha512_transform_amd64_avx of libgcrypt 1.10. */
static void changes_parts_of_a_cfa_that_is_an_expression(void **state)
{
	struct cfi_row row;

	(void)state;
	assert_true(row_of(INSNS(DW_CFA_def_cfa_offset, 56, DW_CFA_def_cfa_expression, 1,
				 DW_OP_lit0, DW_CFA_def_cfa_register, 6),
			   CODE, &row));
	assert_int_equal(row.cfa_how, CFI_CFA_REG);
	assert_int_equal(row.cfa_reg, 6);
	assert_int_equal(row.cfa_off, 56);
	assert_true(
		row_of(INSNS(DW_CFA_def_cfa_expression, 1, DW_OP_lit0, DW_CFA_def_cfa_offset, 24),
		       CODE, &row));
	assert_int_equal(row.cfa_how, CFI_CFA_EXPRESSION);
	assert_true(row_of(INSNS(DW_CFA_def_cfa_expression, 1, DW_OP_lit0, DW_CFA_def_cfa_offset,
				 24, DW_CFA_def_cfa_register, 3),
			   CODE, &row));
	assert_int_equal(row.cfa_how, CFI_CFA_REG);
	assert_int_equal(row.cfa_off, 24);
}

/* ---- locations ----------------------------------------------------------------------------- */

static void assert_rows(const uint8_t *insns, size_t n, const uint64_t *starts, size_t n_rows)
{
	uint64_t pc = CODE;
	struct cfi_row row;
	size_t i;

	for (i = 0; i < n_rows; i++, pc = row.end) {
		assert_true(row_of(insns, n, pc, &row));
		assert_int_equal(row.start, CODE + starts[i]);
		/* The last address of the row gives the same row. */
		assert_true(row_of(insns, n, row.end - 1, &row));
		assert_int_equal(row.start, CODE + starts[i]);
		/* Each row of these tests has its own CFA offset. */
		assert_int_equal(row.cfa_off, 8 + 8 * (int64_t)i);
	}
	assert_int_equal(pc, CODE + SIZE);
}

static void advances(void **state)
{
	const uint8_t ops[] = {DW_CFA_advance_loc | 1,
			       DW_CFA_def_cfa_offset,
			       16,
			       DW_CFA_advance_loc1,
			       2,
			       DW_CFA_def_cfa_offset,
			       24,
			       DW_CFA_advance_loc2,
			       3,
			       0,
			       DW_CFA_def_cfa_offset,
			       32,
			       DW_CFA_advance_loc4,
			       4,
			       0,
			       0,
			       0,
			       DW_CFA_def_cfa_offset,
			       40,
			       DW_CFA_set_loc,
			       0x50,
			       0x40,
			       0,
			       0,
			       0,
			       0,
			       0,
			       0,
			       DW_CFA_def_cfa_offset,
			       48,
			       0x1d /* DW_CFA_MIPS_advance_loc8 */,
			       8,
			       0,
			       0,
			       0,
			       0,
			       0,
			       0,
			       0,
			       DW_CFA_def_cfa_offset,
			       56};
	const uint64_t starts[] = {0, 1, 3, 6, 10, 0x50, 0x58};

	(void)state;
	assert_rows(ops, sizeof ops, starts, 7);
}

/* Beyond the FDE's end, or so far that the address wraps: what is before stays right. */
static void clips_rows_to_the_fde(void **state)
{
	const uint8_t far[] = {DW_CFA_advance_loc4, 0, 0, 1, 0, DW_CFA_def_cfa_offset, 16};
	const uint8_t wrap[] = {0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	const uint64_t starts[] = {0};
	struct cfi_row row;

	(void)state;
	assert_rows(far, sizeof far, starts, 1);
	assert_rows(wrap, sizeof wrap, starts, 1);
	/* backwards */
	assert_false(
		row_of(INSNS(DW_CFA_advance_loc | 8, DW_CFA_set_loc, 0, 0x40, 0, 0, 0, 0, 0, 0),
		       CODE + 9, &row));
	/* outside */
	assert_false(row_of(far, sizeof far, CODE - 1, &row));
	assert_false(row_of(far, sizeof far, CODE + SIZE, &row));
}

static void remembers_and_restores(void **state)
{
	const uint8_t ops[] = {DW_CFA_remember_state,
			       DW_CFA_offset | 6,
			       2,
			       DW_CFA_def_cfa,
			       6,
			       16,
			       DW_CFA_remember_state,
			       DW_CFA_undefined,
			       16,
			       DW_CFA_advance_loc | 4,
			       DW_CFA_restore_state,
			       DW_CFA_advance_loc | 4,
			       DW_CFA_restore_state};
	uint8_t deep[600];
	struct cfi_row row;

	(void)state;
	assert_true(row_of(ops, sizeof ops, CODE, &row));
	assert_int_equal(row.regs[16].how, CFI_UNDEFINED);
	assert_true(row_of(ops, sizeof ops, CODE + 4, &row));
	assert_int_equal(row.regs[16].how, CFI_OFFSET);
	assert_int_equal(row.regs[6].how, CFI_OFFSET);
	assert_int_equal(row.cfa_reg, 6);
	assert_int_equal(row.start, CODE + 4);
	assert_true(row_of(ops, sizeof ops, CODE + 8, &row));
	assert_int_equal(row.regs[6].how, CFI_UNSPECIFIED);
	assert_int_equal(row.cfa_reg, 7);
	assert_int_equal(row.start, CODE + 8);
	assert_int_equal(row.end, CODE + SIZE);
	/* nothing to restore; deeper than any compiler nests */
	assert_false(row_of(INSNS(DW_CFA_restore_state), CODE, &row));
	memset(deep, DW_CFA_remember_state, sizeof deep);
	assert_false(row_of(deep, sizeof deep, CODE, &row));
}

static void refuses_unknown_operations(void **state)
{
	static const uint8_t known[] = {
		DW_CFA_nop,
		DW_CFA_set_loc,
		DW_CFA_advance_loc1,
		DW_CFA_advance_loc2,
		DW_CFA_advance_loc4,
		DW_CFA_offset_extended,
		DW_CFA_restore_extended,
		DW_CFA_undefined,
		DW_CFA_same_value,
		DW_CFA_register,
		DW_CFA_remember_state,
		DW_CFA_restore_state,
		DW_CFA_def_cfa,
		DW_CFA_def_cfa_register,
		DW_CFA_def_cfa_offset,
		DW_CFA_def_cfa_expression,
		DW_CFA_expression,
		DW_CFA_offset_extended_sf,
		DW_CFA_def_cfa_sf,
		DW_CFA_def_cfa_offset_sf,
		DW_CFA_val_offset,
		DW_CFA_val_offset_sf,
		DW_CFA_val_expression,
		0x1d,
		DW_CFA_GNU_args_size,
		DW_CFA_GNU_negative_offset_extended,
	};
	struct cfi_row row;
	unsigned op;

	(void)state;
	for (op = 0; op < 0x40; op++)
		if (!memchr(known, (int)op, sizeof known))
			assert_false(row_of(INSNS((uint8_t)op), CODE, &row));
}

static void takes_no_more_steps_than_allowed(void **state)
{
	static const uint8_t ops[] = {DW_CFA_nop,	    DW_CFA_remember_state,
				      DW_CFA_restore_state, DW_CFA_advance_loc | 4,
				      DW_CFA_offset | 3,    2};
	static struct build b;
	size_t off = build_fde(&b, ops, sizeof ops);
	struct cfi_section sec = section_of(&b, true);
	uint64_t steps = 1000, taken;
	struct cfi_fde fde;
	struct cfi_row row;

	(void)state;
	assert_true(cfi_fde_read(&sec, off, &fde));
	assert_true(cfi_row_find(&fde, &arch_x86_64, CODE, &steps, &row));
	taken = 1000 - steps;
	assert_in_range(taken, sizeof initial / 2 + 4, 50);
	steps = 1000;
	assert_true(cfi_row_find(&fde, &arch_x86_64, CODE + 4, &steps, &row));
	assert_true(1000 - steps > taken);
	taken = 1000 - steps;
	steps = taken;
	assert_true(cfi_row_find(&fde, &arch_x86_64, CODE + 4, &steps, &row));
	assert_int_equal(steps, 0);
	steps = taken - 1;
	assert_false(cfi_row_find(&fde, &arch_x86_64, CODE + 4, &steps, &row));
	assert_int_equal(steps, 0);
	assert_false(cfi_row_find(&fde, &arch_x86_64, CODE, &steps, &row));
}

/* DW_CFA_AARCH64_negate_ra_state is only known there; it toggles and is remembered with the row. */
static void toggles_ra_state_on_aarch64(void **state)
{
	static const uint8_t ops[] = {
		DW_CFA_AARCH64_negate_ra_state, DW_CFA_remember_state,	DW_CFA_advance_loc | 4,
		DW_CFA_AARCH64_negate_ra_state, DW_CFA_advance_loc | 4, DW_CFA_restore_state};
	static struct build b;
	size_t off = build_fde(&b, ops, sizeof ops);
	struct cfi_section sec = section_of(&b, true);
	struct cfi_fde fde;
	struct cfi_row row;

	(void)state;
	assert_true(cfi_fde_read(&sec, off, &fde));
	assert_true(cfi_row_find(&fde, &arch_aarch64, CODE, NULL, &row));
	assert_true(row.ra_signed);
	assert_true(cfi_row_find(&fde, &arch_aarch64, CODE + 4, NULL, &row));
	assert_false(row.ra_signed);
	assert_true(cfi_row_find(&fde, &arch_aarch64, CODE + 8, NULL, &row));
	assert_true(row.ra_signed);
	assert_false(cfi_row_find(&fde, &arch_x86_64, CODE, NULL, &row));
}

/* ---- entries ------------------------------------------------------------------------------- */

/* The same FDE in every container: .eh_frame and .debug_frame, versions 1, 3 and 4, 32 and 64-bit.
 */
static void reads_all_containers(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 12; i++) {
		bool is_eh = i & 1, is_64 = i & 2;
		uint8_t version = (const uint8_t[]){1, 3, 4}[i / 4];
		const struct cie_spec cie = {is_eh, version, "", 0, initial, sizeof initial};
		struct build b = {.is_64 = is_64};
		struct cfi_section sec;
		struct cfi_fde fde;
		struct cfi_row row;
		uint64_t next;
		size_t off;

		put_cie(&b, &cie); /* so that the one used is not at offset 0 */
		off = put_cie(&b, &cie);
		off = put_fde_head(&b, is_eh, off);
		put(&b, CODE, 8);
		put(&b, SIZE, 8);
		put_bytes(&b, (const uint8_t[]){DW_CFA_offset | 3, 2}, 2);
		entry_end(&b);
		sec = section_of(&b, is_eh);
		assert_int_equal(cfi_entry_at(&sec, 0, &next), CFI_ENTRY_CIE);
		assert_int_equal(cfi_entry_at(&sec, next, &next), CFI_ENTRY_CIE);
		assert_int_equal(next, off);
		assert_int_equal(cfi_entry_at(&sec, next, &next), CFI_ENTRY_FDE);
		assert_int_equal(next, b.n);
		assert_int_equal(cfi_entry_at(&sec, next, &next), CFI_ENTRY_END);
		assert_true(cfi_fde_read(&sec, off, &fde));
		assert_int_equal(fde.start, CODE);
		assert_int_equal(fde.end, CODE + SIZE);
		assert_true(cfi_row_find(&fde, &arch_x86_64, CODE, NULL, &row));
		assert_int_equal(row.regs[3].off, -16);
		assert_int_equal(row.ra_reg, 16);
		assert_false(cfi_fde_read(&sec, 0, &fde)); /* a CIE is not an FDE */
	}
}

/* What each pointer encoding makes of the bytes from offset 3 on. */
static void reads_pointer_encodings(void **state)
{
	static const uint8_t bytes[] = {0, 0, 0, 0x80, 0xff, 0xff, 0x0f, 0, 0,
					0, 0, 0, 0,    0,    0,	   0,	 0};
	struct cfi_section sec = {.data = bytes,
				  .size = sizeof bytes,
				  .vaddr = VADDR,
				  .is_eh = true,
				  .address_bytes = 8};
	static const struct {
		uint8_t encoding;
		unsigned bytes;
		uint64_t value;
		bool refused;
	} cases[] = {
		{DW_EH_PE_absptr, 8, 0x0fffff80, false},
		{DW_EH_PE_uleb128, 4, 0x1ffff80, false},
		{DW_EH_PE_udata2, 2, 0xff80, false},
		{DW_EH_PE_udata4, 4, 0x0fffff80, false},
		{DW_EH_PE_udata8, 8, 0x0fffff80, false},
		{DW_EH_PE_signed, 8, 0x0fffff80, false},
		{DW_EH_PE_sdata2, 2, (uint64_t)-128, false},
		{DW_EH_PE_sdata4, 4, 0x0fffff80, false},
		{DW_EH_PE_sdata8, 8, 0x0fffff80, false},
		{DW_EH_PE_pcrel | DW_EH_PE_udata2, 2, VADDR + 3 + 0xff80, false},
		{DW_EH_PE_pcrel | DW_EH_PE_sdata2, 2, VADDR + 3 - 128, false},
		{DW_EH_PE_datarel | DW_EH_PE_udata2, 2, 0x500000 + 0xff80, false},
		{DW_EH_PE_aligned, 13, 0, false}, /* at offset 8 there are zeros */
		{DW_EH_PE_textrel | DW_EH_PE_udata4, 0, 0, true},
		{DW_EH_PE_funcrel | DW_EH_PE_udata4, 0, 0, true},
		{DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4, 0, 0, true},
		{0x05, 0, 0, true},
		{0x0f, 0, 0, true},
		{DW_EH_PE_omit, 0, 0, true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf b = buf_make(bytes, sizeof bytes, 0, false);
		uint64_t v = 0;
		bool ok;

		buf_skip(&b, 3);
		ok = cfi_pointer_read(&sec, &b, cases[i].encoding, 0x500000, &v);
		if (ok == cases[i].refused || (ok && v != cases[i].value))
			fail_msg("encoding 0x%x: %d 0x%llx", cases[i].encoding, ok,
				 (unsigned long long)v);
		if (ok)
			assert_int_equal(b.p - b.data, 3 + cases[i].bytes);
	}
}

static void pointer_encodings_32(void **state)
{
	static const uint8_t bytes[] = {0xf0, 0xff, 0xff, 0xff, 0, 0, 0, 0};
	struct cfi_section sec = {.data = bytes,
				  .size = sizeof bytes,
				  .vaddr = 0x1000,
				  .is_eh = true,
				  .address_bytes = 4};
	struct buf b = buf_make(bytes, sizeof bytes, 0, false);
	uint64_t v;

	(void)state;
	assert_true(cfi_pointer_read(&sec, &b, DW_EH_PE_pcrel | DW_EH_PE_absptr, 0, &v));
	assert_int_equal(v, 0xff0); /* wraps at 32 bits */
	assert_int_equal(b.p - b.data, 4);
	b = buf_make(bytes, sizeof bytes, 0, true);
	assert_true(cfi_pointer_read(&sec, &b, DW_EH_PE_absptr, 0, &v));
	assert_int_equal(v, 0xf0ffffff); /* other byte order */
	/* No base given. */
	b = buf_make(bytes, sizeof bytes, 0, false);
	assert_false(cfi_pointer_read(&sec, &b, DW_EH_PE_datarel | DW_EH_PE_udata4, 0, &v));
}

static void reads_augmentations(void **state)
{
	static const struct {
		const char *augmentation;
		bool ok, signal;
	} cases[] = {
		{"", true, false},
		{"zR", true, false},
		{"zPLR", true, false},
		{"zRS", true, true},
		{"zPLRS", true, true},
		{"zRB", true, false},
		{"zSR", true, true},
		{"zXR", false, false},
		{"R", false, false},
		{"armcc+", false, false},
		{"zRSSSSSSSSSSSSSSSSSS", false, false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *a = cases[i].augmentation;
		const struct cie_spec cie = {true, 1, a, DW_EH_PE_udata8, initial, sizeof initial};
		struct build b = {0};
		struct cfi_section sec;
		struct cfi_fde fde;
		size_t off = put_cie(&b, &cie);

		off = put_fde_head(&b, true, off);
		put(&b, CODE, 8);
		put(&b, SIZE, 8);
		if (a[0] == 'z') {
			put(&b, 2, 1);
			put(&b, 0xffff, 2); /* augmentation data that must be skipped */
		}
		entry_end(&b);
		sec = section_of(&b, true);
		if (cfi_fde_read(&sec, off, &fde) != cases[i].ok)
			fail_msg("augmentation \"%s\"", a);
		if (!cases[i].ok)
			continue;
		assert_int_equal(fde.cie.is_signal_frame, cases[i].signal);
		assert_int_equal(fde.start, CODE);
	}
}

/* As in libraries of CUDA: "register saved; restored" in the CIE. */
static void restores_in_a_cie(void **state)
{
	static const uint8_t insns[] = {
		DW_CFA_def_cfa,	   7, 8, DW_CFA_offset | 16, 1, DW_CFA_offset | 3, 7,
		DW_CFA_restore | 3};
	const struct cie_spec cie = {true, 1, "zR", DW_EH_PE_udata8, insns, sizeof insns};
	struct build b = {0};
	struct cfi_section sec;
	struct cfi_fde fde;
	struct cfi_row row;
	size_t off = put_cie(&b, &cie);

	(void)state;
	off = put_fde_head(&b, true, off);
	put(&b, CODE, 8);
	put(&b, SIZE, 8);
	put(&b, 0, 1);
	entry_end(&b);
	sec = section_of(&b, true);
	assert_true(cfi_fde_read(&sec, off, &fde));
	assert_true(cfi_row_find(&fde, &arch_x86_64, CODE, NULL, &row));
	assert_int_equal(row.regs[3].how, CFI_UNSPECIFIED);
	assert_int_equal(row.regs[16].how, CFI_OFFSET);
}

/* ---- hostile bytes --------------------------------------------------------------------------- */

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* Reads everything there is; must end, and the sanitizers must stay silent. */
static void read_all(const struct cfi_section *sec)
{
	uint64_t off, next;
	struct cfi_fde fde;
	struct cfi_row row;

	for (off = 0; off < sec->size; off = next) {
		(void)cfi_entry_at(sec, off, &next);
		assert_true(next > off);
		if (!cfi_fde_read(sec, off, &fde) || fde.start >= fde.end)
			continue;
		(void)cfi_row_find(&fde, &arch_x86_64, fde.start, NULL, &row);
		(void)cfi_row_find(&fde, &arch_x86_64, fde.start + (fde.end - fde.start) / 2, NULL,
				   &row);
		(void)cfi_row_find(&fde, &arch_x86_64, fde.end - 1, NULL, &row);
	}
}

static void survives_mutations(void **state)
{
	static const uint8_t ops[] = {DW_CFA_advance_loc | 1,
				      DW_CFA_def_cfa_offset,
				      16,
				      DW_CFA_offset | 6,
				      2,
				      DW_CFA_remember_state,
				      DW_CFA_expression,
				      6,
				      2,
				      DW_OP_breg6,
				      0,
				      DW_CFA_advance_loc | 9,
				      DW_CFA_restore_state};
	uint64_t seed = 1;
	struct build b;
	unsigned round, i;

	(void)state;
	for (round = 0; round < 100000; round++) {
		struct cfi_section sec;
		uint8_t *exact;

		build_fde(&b, ops, sizeof ops);
		for (i = 0; i < 1 + round % 4; i++)
			b.bytes[random_next(&seed) % b.n] = (uint8_t)random_next(&seed);
		if (round % 3 == 0)
			b.n = random_next(&seed) % b.n + 1;
		exact = malloc(b.n); /* so that AddressSanitizer sees a byte too many */
		assert_non_null(exact);
		memcpy(exact, b.bytes, b.n);
		sec = section_of(&b, random_next(&seed) & 1);
		sec.data = exact;
		read_all(&sec);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_rules),
		cmocka_unit_test(sets_expressions),
		cmocka_unit_test(sets_cfa),
		cmocka_unit_test(changes_parts_of_a_cfa_that_is_an_expression),
		cmocka_unit_test(advances),
		cmocka_unit_test(clips_rows_to_the_fde),
		cmocka_unit_test(remembers_and_restores),
		cmocka_unit_test(takes_no_more_steps_than_allowed),
		cmocka_unit_test(refuses_unknown_operations),
		cmocka_unit_test(toggles_ra_state_on_aarch64),
		cmocka_unit_test(reads_all_containers),
		cmocka_unit_test(reads_pointer_encodings),
		cmocka_unit_test(pointer_encodings_32),
		cmocka_unit_test(reads_augmentations),
		cmocka_unit_test(restores_in_a_cie),
		cmocka_unit_test(survives_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
