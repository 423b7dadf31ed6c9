/* rule.c - packs rows: evaluates expressions symbolically, as far as possible without register
 * values. */
#include "unwind/rule.h"

#include <dwarf.h>

#include "unwind/expr.h"

/* ---- symbolic values --------------------------------------------------------------------- */

/* The symbolic result of an expression, in terms of the frame's registers. */
struct symbol {
	enum { SYM_CONST, SYM_REG, SYM_MEMORY } kind;
	uint64_t reg;
	int64_t off; /* CONST: off; REG: reg + off; MEMORY: memory at (reg + off), plus `add` */
	int64_t add;
};

/* Real expressions use at most three values. */
#define SYMBOLS_MAX 8

/* Maximum length in bytes. Those of PLTs have 11. */
#define EXPRESSION_MAX 64

struct symbol_stack {
	struct symbol v[SYMBOLS_MAX];
	unsigned n;
};

/* The low bits of the pc are the same in the file and in memory, because maps are page-aligned. */
#define PC_BITS 0xfff

static bool add_constant(struct symbol *s, int64_t k)
{
	int64_t *to = s->kind == SYM_MEMORY ? &s->add : &s->off;

	return !__builtin_add_overflow(*to, k, to);
}

/* Applies an operation to two operands; the lower one is in *a, which also gets the result. Returns
 * false if it is too complex for a packed rule. */
static bool symbol_binary(uint8_t code, struct symbol *a, const struct symbol *b, uint64_t pc_reg,
			  uint64_t vaddr, bool *pc_used)
{
	if (code == DW_OP_and && a->kind == SYM_REG && a->reg == pc_reg && b->kind == SYM_CONST &&
	    !(b->off & ~(int64_t)PC_BITS)) {
		*a = (struct symbol){
			.off = (int64_t)((vaddr + (uint64_t)a->off) & (uint64_t)b->off)};
		*pc_used = true;
		return true;
	}
	if (code == DW_OP_plus && b->kind == SYM_CONST)
		return add_constant(a, b->off);
	if (code == DW_OP_minus && b->kind == SYM_CONST && b->off != INT64_MIN)
		return add_constant(a, -b->off);
	if (a->kind != SYM_CONST || b->kind != SYM_CONST)
		return false;
	switch (code) {
	case DW_OP_ge:
		a->off = a->off >= b->off;
		return true;
	case DW_OP_shl:
		if (a->off < 0 || a->off > INT32_MAX || b->off < 0 || b->off > 31)
			return false;
		a->off <<= b->off;
		return true;
	}
	return false;
}

/* Applies one operation. Returns false if it is too complex for a packed rule. */
static bool symbol_step(struct symbol_stack *st, const struct expr_op *op, const struct arch *arch,
			uint64_t vaddr, bool *pc_used)
{
	if (st->n == SYMBOLS_MAX)
		return false;
	if (op->code >= DW_OP_breg0 && op->code <= DW_OP_breg31) {
		st->v[st->n++] =
			(struct symbol){SYM_REG, op->code - DW_OP_breg0, (int64_t)op->a, 0};
		return true;
	}
	if (op->code >= DW_OP_lit0 && op->code <= DW_OP_lit31) {
		st->v[st->n++] = (struct symbol){.off = op->code - DW_OP_lit0};
		return true;
	}
	if (op->code >= DW_OP_const1u && op->code <= DW_OP_consts) {
		st->v[st->n++] = (struct symbol){.off = (int64_t)op->a};
		return true;
	}
	if (!st->n)
		return false;
	if (op->code == DW_OP_plus_uconst)
		return add_constant(&st->v[st->n - 1], (int64_t)op->a);
	if (op->code == DW_OP_deref && st->v[st->n - 1].kind == SYM_REG) {
		st->v[st->n - 1].kind = SYM_MEMORY;
		return true;
	}
	if (st->n < 2)
		return false;
	st->n--;
	return symbol_binary(op->code, &st->v[st->n - 1], &st->v[st->n], arch->pc, vaddr, pc_used);
}

struct packing {
	const struct cfi_row *row;
	const struct arch *arch;
	uint64_t vaddr;
	struct symbol cfa; /* the caller's sp, also if that is not the row's CFA */
	bool cfa_is_base;  /* the row's CFA is base_off away from the base register */
	int64_t base_off;
	struct rule *ret;
};

static bool expression_follow(struct packing *p, const uint8_t *expr, size_t len,
			      struct symbol *ret)
{
	struct buf b = buf_make(expr, len, 0, false);
	struct symbol_stack st = {.n = 0};
	struct expr_op op;
	bool pc_used = false;

	if (len > EXPRESSION_MAX)
		return false;
	while (buf_left(&b))
		if (!expr_op_read(&b, p->arch->word_bytes, &op) ||
		    !symbol_step(&st, &op, p->arch, p->vaddr, &pc_used))
			return false;
	if (!st.n)
		return false;
	*ret = st.v[st.n - 1];
	if (pc_used)
		p->ret->flags |= RULE_PC_IN_CFA;
	return true;
}

/* ---- packing ----------------------------------------------------------------------------- */

static bool cfa_follow(struct packing *p)
{
	const struct cfi_row *row = p->row;

	if (row->cfa_how == CFI_CFA_REG)
		p->cfa = (struct symbol){SYM_REG, row->cfa_reg, row->cfa_off, 0};
	else if (!expression_follow(p, row->cfa_expr, row->cfa_expr_len, &p->cfa))
		return false;
	return p->cfa.kind != SYM_CONST && p->cfa.reg < p->arch->n_regs;
}

/* The caller's sp is the CFA unless the row has a rule for it (psABIs). Signal frames have one: in
 * libraries it loads sp from the address from which the CFA is loaded, too; in the rows that we
 * make it is the only source. */
static bool sp_follow(struct packing *p)
{
	const struct cfi_reg_rule *r = &p->row->regs[p->arch->sp];
	struct symbol at;

	switch ((enum cfi_how)r->how) {
	case CFI_UNSPECIFIED:
		return true;
	case CFI_VAL_OFFSET:
		return r->off == 0;
	case CFI_EXPRESSION:
		return expression_follow(p, r->expr, r->expr_len, &at) && at.kind == SYM_REG &&
		       p->cfa.kind == SYM_MEMORY && p->cfa.reg == at.reg && p->cfa.off == at.off &&
		       p->cfa.add == 0;
	case CFI_OFFSET:
		if (!p->row->is_signal_frame || p->cfa.kind != SYM_REG)
			return false;
		p->cfa_is_base = true;
		p->base_off = p->cfa.off;
		p->cfa.kind = SYM_MEMORY;
		return !__builtin_add_overflow(p->cfa.off, r->off, &p->cfa.off);
	default:
		return false;
	}
}

static bool cfa_pack(struct packing *p)
{
	if (!cfa_follow(p) || !sp_follow(p))
		return false;
	p->ret->reg = (uint8_t)p->cfa.reg;
	p->ret->cfa_off = (int32_t)p->cfa.off;
	p->ret->cfa_add = (int16_t)p->cfa.add;
	if (p->cfa.kind == SYM_MEMORY)
		p->ret->flags |= RULE_DEREF;
	return p->ret->cfa_off == p->cfa.off && p->ret->cfa_add == p->cfa.add;
}

/* The place where a register is saved, as an offset from the CFA or (*at_base) from the CFA's base
 * register. */
static bool saved_at(struct packing *p, const struct cfi_reg_rule *r, int64_t *off, bool *at_base)
{
	struct symbol at;

	*at_base = p->cfa_is_base || r->how == CFI_EXPRESSION;
	if (r->how == CFI_OFFSET)
		return !__builtin_add_overflow(r->off, p->base_off, off);
	if (r->how != CFI_EXPRESSION || !expression_follow(p, r->expr, r->expr_len, &at))
		return false;
	*off = at.off;
	return at.kind == SYM_REG && at.reg == p->cfa.reg;
}

static bool fp_pack(struct packing *p)
{
	const struct cfi_reg_rule *r = &p->row->regs[p->arch->fp];
	bool at_base;
	int64_t off;

	if (r->how == CFI_UNSPECIFIED || r->how == CFI_SAME_VALUE)
		return true;
	if (r->how == CFI_UNDEFINED) {
		p->ret->flags |= RULE_FP_LOST;
		return true;
	}
	if (!saved_at(p, r, &off, &at_base) || (!off && !at_base))
		return false;
	p->ret->fp_off = (int32_t)off;
	if (at_base)
		p->ret->flags |= RULE_FP_AT_BASE;
	return p->ret->fp_off == off;
}

/* True if the row fits a packed rule on a processor with a link register: the return address column
 * is the link register; in signal frames it is the pc, and the link register is saved in the word
 * after fp. */
static bool link_register_fits(const struct packing *p)
{
	const struct arch *arch = p->arch;
	const struct cfi_reg_rule *fp = &p->row->regs[arch->fp], *lr = &p->row->regs[arch->ra];

	if (!p->row->is_signal_frame)
		return p->row->ra_reg == arch->ra;
	return p->row->ra_reg == arch->pc && fp->how == CFI_OFFSET && lr->how == CFI_OFFSET &&
	       lr->off - fp->off == arch->word_bytes;
}

static bool ra_pack(struct packing *p)
{
	const struct cfi_reg_rule *r = &p->row->regs[p->row->ra_reg];
	bool has_link_register = p->arch->ra != p->arch->pc, at_base;
	int64_t off;

	if (!has_link_register && p->row->ra_reg != p->arch->pc)
		return false;
	if (has_link_register && !link_register_fits(p))
		return false;
	if (has_link_register && (r->how == CFI_UNSPECIFIED || r->how == CFI_SAME_VALUE))
		return true;
	if (!saved_at(p, r, &off, &at_base) || (has_link_register && !off && !at_base))
		return false;
	p->ret->ra_off = (int16_t)off;
	if (at_base)
		p->ret->flags |= RULE_RA_AT_BASE;
	return p->ret->ra_off == off;
}

/* True if the row is of a function that ends with __builtin_eh_return(). */
static bool row_throws(const struct cfi_row *row, const struct arch *arch)
{
	const uint8_t *regs = arch->throw_regs;

	return regs[0] != regs[1] && !row->is_signal_frame &&
	       row->regs[regs[0]].how == CFI_OFFSET && row->regs[regs[1]].how == CFI_OFFSET;
}

void rule_pack(const struct cfi_row *row, const struct arch *arch, uint64_t vaddr, struct rule *ret)
{
	struct packing p = {.row = row, .arch = arch, .vaddr = vaddr, .ret = ret};

	*ret = (struct rule){.kind = RULE_FULL, .how = FRAME_CFI};
	if (row->regs[row->ra_reg].how == CFI_UNDEFINED) {
		ret->kind = RULE_END;
		return;
	}
	if (row->cfa_how == CFI_CFA_UNDEFINED) {
		ret->kind = RULE_BAD_CFI;
		return;
	}
	if (row->is_signal_frame)
		ret->flags |= RULE_SIGNAL;
	if (!cfa_pack(&p) || !fp_pack(&p) || !ra_pack(&p))
		return;
	if (ret->flags || (ret->reg != arch->sp && ret->reg != arch->fp) ||
	    (arch->ra == arch->pc && ret->ra_off != -arch->word_bytes) || row_throws(row, arch)) {
		ret->kind = RULE_SHAPED;
		if (!(ret->flags & RULE_DEREF) && row_throws(row, arch))
			ret->cfa_add = RULE_THROWS;
		return;
	}
	ret->kind = ret->reg == arch->sp ? RULE_SP : RULE_FP;
	ret->reg = 0;
}

const struct full_rule *rule_full(const struct cfi_row *row, const struct arch *arch,
				  enum frame_how how, struct arena *arena)
{
	struct full_rule *full;
	unsigned i, n = 0;

	for (i = 0; i < row->n_regs; i++)
		n += row->regs[i].how != CFI_UNSPECIFIED && row->regs[i].how != CFI_SAME_VALUE;
	full = arena_alloc(arena, sizeof *full + n * sizeof *full->regs);
	if (!full)
		return NULL;
	full->cfa_how = row->cfa_how;
	full->ra_reg = row->ra_reg;
	full->how = (uint8_t)how;
	full->is_signal_frame = row->is_signal_frame;
	full->throws = row_throws(row, arch);
	full->has_sp = row->regs[arch->sp].how != CFI_UNSPECIFIED;
	full->cfa_reg = row->cfa_reg;
	full->cfa_expr_len = row->cfa_expr_len;
	full->cfa_off = row->cfa_off;
	if (row->cfa_how == CFI_CFA_EXPRESSION)
		full->cfa_expr = row->cfa_expr;
	for (i = 0; i < row->n_regs; i++)
		if (row->regs[i].how != CFI_UNSPECIFIED && row->regs[i].how != CFI_SAME_VALUE)
			full->regs[full->n++] = (struct full_rule_reg){(uint8_t)i, row->regs[i]};
	return full;
}
