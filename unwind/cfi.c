/* cfi.c - runs the instructions of a CIE and an FDE up to one address: the row that is valid there.
 */
#include "unwind/cfi.h"

#include <dwarf.h>
#include <string.h>

#ifndef DW_CFA_MIPS_advance_loc8
#define DW_CFA_MIPS_advance_loc8 0x1d
#endif
/* "DWARF for the Arm 64-bit Architecture", 4.4.1 */
#define DW_CFA_AARCH64_negate_ra_state_with_pc 0x2c

/* Compilers nest DW_CFA_remember_state once or twice. */
#define REMEMBER_MAX 16

/* The cost of copying a row, in steps. */
#define COPY_STEPS 8

struct interp {
	const struct cfi_fde *fde;
	const struct arch *arch;
	uint64_t target; /* stop at the first row that begins after it */
	uint64_t steps;	 /* steps left */
	struct cfi_row *row;
	const struct cfi_row *initial; /* after the CIE's instructions; NULL while they run */
	unsigned n_remembered;
	struct cfi_row remembered[REMEMBER_MAX];
};

/* Copies only the used part of a row. */
static void row_copy(struct cfi_row *to, const struct cfi_row *from)
{
	memcpy(to, from, offsetof(struct cfi_row, regs) + from->n_regs * sizeof *from->regs);
}

/* Ignores registers that unwinding does not track (vector, segment ...). */
static void rule_set(struct interp *in, uint64_t reg, enum cfi_how how, int64_t off)
{
	if (reg < in->row->n_regs)
		in->row->regs[reg] = (struct cfi_reg_rule){.how = (uint8_t)how, .off = off};
}

static void rule_expression(struct interp *in, struct buf *b, enum cfi_how how)
{
	uint64_t reg = buf_uleb(b), len = buf_uleb(b);
	const uint8_t *expr = buf_take(b, len);

	if (len > UINT32_MAX)
		b->bad = true;
	else if (reg < in->row->n_regs)
		in->row->regs[reg] = (struct cfi_reg_rule){
			.how = (uint8_t)how, .expr_len = (uint32_t)len, .expr = expr};
}

/* In a CIE (CUDA's libraries have such) there is no rule to restore. */
static void rule_restore(struct interp *in, uint64_t reg)
{
	const struct cfi_reg_rule none = {.how = CFI_UNSPECIFIED};

	if (reg < in->row->n_regs)
		in->row->regs[reg] = in->initial ? in->initial->regs[reg] : none;
}

static void cfa_set(struct interp *in, uint64_t reg, int64_t off)
{
	in->row->cfa_how = CFI_CFA_REG;
	in->row->cfa_reg = reg < UINT32_MAX ? (uint32_t)reg : UINT32_MAX;
	in->row->cfa_off = off;
}

static void cfa_expression(struct interp *in, struct buf *b)
{
	uint64_t len = buf_uleb(b);

	in->row->cfa_how = CFI_CFA_EXPRESSION;
	in->row->cfa_expr = buf_take(b, len);
	in->row->cfa_expr_len = (uint32_t)len;
	if (len > UINT32_MAX)
		b->bad = true;
}

static void spend(struct interp *in, uint64_t steps)
{
	in->steps -= steps < in->steps ? steps : in->steps;
}

static bool state_remember(struct interp *in)
{
	spend(in, COPY_STEPS);
	if (in->n_remembered == REMEMBER_MAX)
		return false;
	row_copy(&in->remembered[in->n_remembered++], in->row);
	return true;
}

/* Restores the rules, but not the address range of the row. */
static bool state_restore(struct interp *in)
{
	uint64_t start = in->row->start, end = in->row->end;

	spend(in, COPY_STEPS);
	if (!in->n_remembered)
		return false;
	row_copy(in->row, &in->remembered[--in->n_remembered]);
	in->row->start = start;
	in->row->end = end;
	return true;
}

/* Moves on to code address `loc`. Returns false if the wanted row ends there, or if the move is
 * backwards: rows are in rising order (DWARF5 6.4.1). */
static bool location_set(struct interp *in, struct buf *b, uint64_t loc)
{
	if (!in->initial || loc < in->row->start) {
		b->bad = true;
		return false;
	}
	if (loc > in->target) {
		if (loc < in->row->end)
			in->row->end = loc;
		return false;
	}
	in->row->start = loc;
	return true;
}

static bool location_advance(struct interp *in, struct buf *b, uint64_t delta)
{
	uint64_t step;

	if (__builtin_mul_overflow(delta, in->fde->cie.code_align, &step) ||
	    step > UINT64_MAX - in->row->start)
		step = UINT64_MAX - in->row->start;
	return location_set(in, b, in->row->start + step);
}

/* Factored offsets are multiples of the CIE's data alignment. Wrapping is harmless: an absurd
 * offset points outside of the stack copy. */
static int64_t factored(const struct interp *in, uint64_t off)
{
	return (int64_t)(off * (uint64_t)in->fde->cie.data_align);
}

/* ---- instructions whose operands all follow the opcode byte ---------------------------------
 *
 * Each returns false if the wanted row is complete, or if the instruction is damaged (then b is
 * bad). Each operand is read in its own statement: C does not define the order of evaluation of
 * arguments. */

static bool refuse(struct buf *b)
{
	b->bad = true;
	return false;
}

static bool run_nop(struct interp *in, struct buf *b)
{
	(void)in, (void)b;
	return true;
}

static bool run_set_loc(struct interp *in, struct buf *b)
{
	uint64_t loc;

	if (!cfi_pointer_read(in->fde->sec, b, in->fde->cie.pointer_encoding, 0, &loc))
		return refuse(b);
	return location_set(in, b, loc);
}

static bool run_advance_loc1(struct interp *in, struct buf *b)
{
	return location_advance(in, b, buf_u8(b));
}

static bool run_advance_loc2(struct interp *in, struct buf *b)
{
	return location_advance(in, b, buf_u16(b));
}

static bool run_advance_loc4(struct interp *in, struct buf *b)
{
	return location_advance(in, b, buf_u32(b));
}

static bool run_advance_loc8(struct interp *in, struct buf *b)
{
	return location_advance(in, b, buf_u64(b));
}

static bool run_offset(struct interp *in, struct buf *b)
{
	uint64_t reg = buf_uleb(b);

	rule_set(in, reg, CFI_OFFSET, factored(in, buf_uleb(b)));
	return true;
}

static bool run_offset_sf(struct interp *in, struct buf *b)
{
	uint64_t reg = buf_uleb(b);

	rule_set(in, reg, CFI_OFFSET, factored(in, (uint64_t)buf_sleb(b)));
	return true;
}

static bool run_negative_offset(struct interp *in, struct buf *b)
{
	uint64_t reg = buf_uleb(b);

	rule_set(in, reg, CFI_OFFSET, factored(in, -buf_uleb(b)));
	return true;
}

static bool run_val_offset(struct interp *in, struct buf *b)
{
	uint64_t reg = buf_uleb(b);

	rule_set(in, reg, CFI_VAL_OFFSET, factored(in, buf_uleb(b)));
	return true;
}

static bool run_val_offset_sf(struct interp *in, struct buf *b)
{
	uint64_t reg = buf_uleb(b);

	rule_set(in, reg, CFI_VAL_OFFSET, factored(in, (uint64_t)buf_sleb(b)));
	return true;
}

static bool run_restore(struct interp *in, struct buf *b)
{
	rule_restore(in, buf_uleb(b));
	return true;
}

static bool run_undefined(struct interp *in, struct buf *b)
{
	rule_set(in, buf_uleb(b), CFI_UNDEFINED, 0);
	return true;
}

static bool run_same_value(struct interp *in, struct buf *b)
{
	rule_set(in, buf_uleb(b), CFI_SAME_VALUE, 0);
	return true;
}

static bool run_register(struct interp *in, struct buf *b)
{
	uint64_t reg = buf_uleb(b);

	rule_set(in, reg, CFI_REGISTER, (int64_t)buf_uleb(b));
	return true;
}

static bool run_expression(struct interp *in, struct buf *b)
{
	rule_expression(in, b, CFI_EXPRESSION);
	return true;
}

static bool run_val_expression(struct interp *in, struct buf *b)
{
	rule_expression(in, b, CFI_VAL_EXPRESSION);
	return true;
}

static bool run_remember_state(struct interp *in, struct buf *b)
{
	return state_remember(in) || refuse(b);
}

static bool run_restore_state(struct interp *in, struct buf *b)
{
	return state_restore(in) || refuse(b);
}

static bool run_def_cfa(struct interp *in, struct buf *b)
{
	uint64_t reg = buf_uleb(b);

	cfa_set(in, reg, (int64_t)buf_uleb(b));
	return true;
}

static bool run_def_cfa_sf(struct interp *in, struct buf *b)
{
	uint64_t reg = buf_uleb(b);

	cfa_set(in, reg, factored(in, (uint64_t)buf_sleb(b)));
	return true;
}

/* DWARF requires the CFA to be a register and an offset before one of them is changed. In
 * libgcrypt's SHA-512 the CFA is an expression, and the last offset before it is used: libgcc, gdb
 * and LLVM's libunwind agree on that, and it gives the right CFA. */
static bool run_def_cfa_register(struct interp *in, struct buf *b)
{
	if (in->row->cfa_how == CFI_CFA_UNDEFINED)
		return refuse(b);
	cfa_set(in, buf_uleb(b), in->row->cfa_off);
	return true;
}

static bool run_def_cfa_offset(struct interp *in, struct buf *b)
{
	in->row->cfa_off = (int64_t)buf_uleb(b);
	return in->row->cfa_how != CFI_CFA_UNDEFINED || refuse(b);
}

static bool run_def_cfa_offset_sf(struct interp *in, struct buf *b)
{
	in->row->cfa_off = factored(in, (uint64_t)buf_sleb(b));
	return in->row->cfa_how != CFI_CFA_UNDEFINED || refuse(b);
}

static bool run_def_cfa_expression(struct interp *in, struct buf *b)
{
	cfa_expression(in, b);
	return true;
}

/* Only exception handling needs it. */
static bool run_args_size(struct interp *in, struct buf *b)
{
	(void)in;
	buf_uleb(b);
	return true;
}

/* Shares its number with SPARC's window save. */
static bool run_negate_ra_state(struct interp *in, struct buf *b)
{
	in->row->ra_signed = !in->row->ra_signed;
	return in->arch->signs_addresses || refuse(b);
}

/* DWARF5 6.4.2 and the extensions of GNU, MIPS and Arm. */
static bool (*const runs[DW_CFA_high_user + 1])(struct interp *in, struct buf *b) = {
	[DW_CFA_nop] = run_nop,
	[DW_CFA_set_loc] = run_set_loc,
	[DW_CFA_advance_loc1] = run_advance_loc1,
	[DW_CFA_advance_loc2] = run_advance_loc2,
	[DW_CFA_advance_loc4] = run_advance_loc4,
	[DW_CFA_MIPS_advance_loc8] = run_advance_loc8,
	[DW_CFA_offset_extended] = run_offset,
	[DW_CFA_offset_extended_sf] = run_offset_sf,
	[DW_CFA_GNU_negative_offset_extended] = run_negative_offset,
	[DW_CFA_val_offset] = run_val_offset,
	[DW_CFA_val_offset_sf] = run_val_offset_sf,
	[DW_CFA_restore_extended] = run_restore,
	[DW_CFA_undefined] = run_undefined,
	[DW_CFA_same_value] = run_same_value,
	[DW_CFA_register] = run_register,
	[DW_CFA_expression] = run_expression,
	[DW_CFA_val_expression] = run_val_expression,
	[DW_CFA_remember_state] = run_remember_state,
	[DW_CFA_restore_state] = run_restore_state,
	[DW_CFA_def_cfa] = run_def_cfa,
	[DW_CFA_def_cfa_sf] = run_def_cfa_sf,
	[DW_CFA_def_cfa_register] = run_def_cfa_register,
	[DW_CFA_def_cfa_offset] = run_def_cfa_offset,
	[DW_CFA_def_cfa_offset_sf] = run_def_cfa_offset_sf,
	[DW_CFA_def_cfa_expression] = run_def_cfa_expression,
	[DW_CFA_GNU_args_size] = run_args_size,
	[DW_CFA_AARCH64_negate_ra_state] = run_negate_ra_state,
	[DW_CFA_AARCH64_negate_ra_state_with_pc] = run_negate_ra_state,
};

/* Runs instructions until they end or the wanted row is complete. Returns false if they are damaged
 * or too many. */
static bool insns_run(struct interp *in, struct buf b)
{
	while (buf_left(&b)) {
		uint8_t op = buf_u8(&b), low = op & 0x3f;
		bool go_on = true;

		if (!in->steps)
			return false;
		in->steps--;
		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			go_on = location_advance(in, &b, low);
			break;
		case DW_CFA_offset:
			rule_set(in, low, CFI_OFFSET, factored(in, buf_uleb(&b)));
			break;
		case DW_CFA_restore:
			rule_restore(in, low);
			break;
		default:
			go_on = runs[op] ? runs[op](in, &b) : refuse(&b);
		}
		if (!buf_ok(&b))
			return false;
		if (!go_on)
			break;
	}
	return true;
}

bool cfi_row_find(const struct cfi_fde *fde, const struct arch *arch, uint64_t vaddr,
		  uint64_t *steps, struct cfi_row *ret)
{
	struct cfi_row initial;
	struct interp in; /* set by field: clearing `remembered` would cost more than the rest */
	bool found;

	if (vaddr < fde->start || vaddr >= fde->end || fde->cie.ra_reg >= arch->n_regs)
		return false;
	memset(ret, 0, offsetof(struct cfi_row, regs) + arch->n_regs * sizeof *ret->regs);
	ret->start = fde->start;
	ret->end = fde->end;
	ret->ra_reg = (uint8_t)fde->cie.ra_reg;
	ret->is_signal_frame = fde->cie.is_signal_frame;
	ret->n_regs = arch->n_regs;
	in.fde = fde;
	in.arch = arch;
	in.target = vaddr;
	in.steps = steps ? *steps : UINT64_MAX;
	in.row = ret;
	in.initial = NULL;
	in.n_remembered = 0;
	found = insns_run(&in, fde->cie.insns);
	if (found) {
		row_copy(&initial, ret);
		in.initial = &initial;
		found = insns_run(&in, fde->insns);
	}
	if (steps)
		*steps = in.steps;
	return found;
}
