/* expr.c - decodes and evaluates DWARF expressions. */
#include "unwind/expr.h"

#include <dwarf.h>

/* Real expressions have at most a dozen operations and no loops. */
#define STEPS_MAX 4096
#define STACK_MAX 64

enum operands {
	REFUSED, /* not an operation, or not one for call frame information */
	NONE,
	ADDRESS,
	U8,
	S8,
	U16,
	S16,
	U32,
	S32,
	U64,
	ULEB,
	SLEB,
	ULEB_SLEB,
};

static const uint8_t operands_of[256] = {
	[DW_OP_addr] = ADDRESS,
	[DW_OP_deref] = NONE,
	[DW_OP_const1u] = U8,
	[DW_OP_const1s] = S8,
	[DW_OP_const2u] = U16,
	[DW_OP_const2s] = S16,
	[DW_OP_const4u] = U32,
	[DW_OP_const4s] = S32,
	[DW_OP_const8u] = U64,
	[DW_OP_const8s] = U64,
	[DW_OP_constu] = ULEB,
	[DW_OP_consts] = SLEB,
	[DW_OP_dup... DW_OP_over] = NONE,
	[DW_OP_pick] = U8,
	[DW_OP_swap... DW_OP_rot] = NONE,
	[DW_OP_abs... DW_OP_plus] = NONE,
	[DW_OP_plus_uconst] = ULEB,
	[DW_OP_shl... DW_OP_xor] = NONE,
	[DW_OP_bra] = S16,
	[DW_OP_eq... DW_OP_ne] = NONE,
	[DW_OP_skip] = S16,
	[DW_OP_lit0... DW_OP_lit31] = NONE,
	[DW_OP_breg0... DW_OP_breg31] = SLEB,
	[DW_OP_bregx] = ULEB_SLEB,
	[DW_OP_deref_size] = U8,
	[DW_OP_nop] = NONE,
};

bool expr_op_read(struct buf *b, unsigned address_bytes, struct expr_op *op)
{
	op->code = buf_u8(b);
	op->a = op->b = 0;
	switch ((enum operands)operands_of[op->code]) {
	case REFUSED:
		return false;
	case NONE:
		break;
	case ADDRESS:
		op->a = address_bytes == 4 ? buf_u32(b) : buf_u64(b);
		break;
	case U8:
		op->a = buf_u8(b);
		break;
	case S8:
		op->a = (uint64_t)(int8_t)buf_u8(b);
		break;
	case U16:
		op->a = buf_u16(b);
		break;
	case S16:
		op->a = (uint64_t)(int16_t)buf_u16(b);
		break;
	case U32:
		op->a = buf_u32(b);
		break;
	case S32:
		op->a = (uint64_t)(int32_t)buf_u32(b);
		break;
	case U64:
		op->a = buf_u64(b);
		break;
	case ULEB:
		op->a = buf_uleb(b);
		break;
	case SLEB:
		op->a = (uint64_t)buf_sleb(b);
		break;
	case ULEB_SLEB:
		op->a = buf_uleb(b);
		op->b = (uint64_t)buf_sleb(b);
		break;
	}
	return buf_ok(b);
}

struct stack {
	uint64_t v[STACK_MAX];
	unsigned n;
};

/* Room for the deepest effect of one operation is checked before it runs, so these cannot fail. */
static void push(struct stack *st, uint64_t v)
{
	st->v[st->n++] = v;
}

static uint64_t pop(struct stack *st)
{
	return st->v[--st->n];
}

/* Values have the width of an address; signed operations see its sign (DWARF5 2.5.1). */
static int64_t as_signed(const struct expr_machine *m, uint64_t v)
{
	return m->address_bytes == 4 ? (int32_t)v : (int64_t)v;
}

/* Operations on the two topmost values: `a` below `b`. */
static bool binary(const struct expr_machine *m, uint8_t code, uint64_t a, uint64_t b,
		   uint64_t *ret)
{
	int64_t sa = as_signed(m, a), sb = as_signed(m, b);
	unsigned bits = m->address_bytes * 8;

	switch (code) {
	case DW_OP_and:
		*ret = a & b;
		return true;
	case DW_OP_or:
		*ret = a | b;
		return true;
	case DW_OP_xor:
		*ret = a ^ b;
		return true;
	case DW_OP_plus:
		*ret = a + b;
		return true;
	case DW_OP_minus:
		*ret = a - b;
		return true;
	case DW_OP_mul:
		*ret = a * b;
		return true;
	case DW_OP_div:
		/* The one quotient that does not fit is its own negation. */
		*ret = sb == -1 ? -a : sb ? (uint64_t)(sa / sb) : 0;
		return sb != 0;
	case DW_OP_mod:
		*ret = b ? a % b : 0;
		return b != 0;
	case DW_OP_shl:
		*ret = b < bits ? a << b : 0;
		return true;
	case DW_OP_shr:
		*ret = b < bits ? a >> b : 0;
		return true;
	case DW_OP_shra:
		*ret = (uint64_t)(sa >> (b < bits ? b : bits - 1));
		return true;
	case DW_OP_eq:
		*ret = sa == sb;
		return true;
	case DW_OP_ne:
		*ret = sa != sb;
		return true;
	case DW_OP_ge:
		*ret = sa >= sb;
		return true;
	case DW_OP_gt:
		*ret = sa > sb;
		return true;
	case DW_OP_le:
		*ret = sa <= sb;
		return true;
	case DW_OP_lt:
		*ret = sa < sb;
		return true;
	}
	return false;
}

/* Values an operation needs on the stack. All that pop two are binary(). */
static unsigned values_needed(const struct expr_op *op)
{
	switch (op->code) {
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_deref:
	case DW_OP_deref_size:
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
	case DW_OP_bra:
		return 1;
	case DW_OP_over:
	case DW_OP_swap:
		return 2;
	case DW_OP_rot:
		return 3;
	case DW_OP_pick:
		return (unsigned)op->a + 1;
	case DW_OP_and:
	case DW_OP_div ... DW_OP_mul:
	case DW_OP_or ... DW_OP_plus:
	case DW_OP_shl ... DW_OP_xor:
	case DW_OP_eq ... DW_OP_ne:
		return 2;
	}
	return 0;
}

static enum expr_status register_push(const struct expr_machine *m, struct stack *st, uint64_t reg,
				      uint64_t off)
{
	if (reg >= m->n_regs || !(m->known >> reg & 1))
		return EXPR_NO_REGISTER;
	push(st, m->regs[reg] + off);
	return EXPR_OK;
}

static enum expr_status memory_push(const struct expr_machine *m, struct stack *st, uint64_t size)
{
	uint64_t v;

	if (!size || size > m->address_bytes)
		return EXPR_BAD;
	if (!m->read(m->arg, pop(st), (unsigned)size, &v))
		return EXPR_NO_MEMORY;
	push(st, v);
	return EXPR_OK;
}

/* Moves the cursor by a signed distance within the expression. */
static void jump(struct buf *b, uint64_t distance)
{
	buf_seek(b, (uint64_t)(b->p - b->data) + distance);
}

static enum expr_status op_run(const struct expr_machine *m, struct stack *st, struct buf *b,
			       const struct expr_op *op)
{
	uint64_t x, y;

	switch (op->code) {
	case DW_OP_addr:
		push(st, op->a + m->bias);
		return EXPR_OK;
	case DW_OP_lit0 ... DW_OP_lit31:
		push(st, op->code - DW_OP_lit0);
		return EXPR_OK;
	case DW_OP_const1u ... DW_OP_consts:
		push(st, op->a);
		return EXPR_OK;
	case DW_OP_breg0 ... DW_OP_breg31:
		return register_push(m, st, op->code - DW_OP_breg0, op->a);
	case DW_OP_bregx:
		return register_push(m, st, op->a, op->b);
	case DW_OP_deref:
		return memory_push(m, st, m->address_bytes);
	case DW_OP_deref_size:
		return memory_push(m, st, op->a);
	case DW_OP_dup:
		push(st, st->v[st->n - 1]);
		return EXPR_OK;
	case DW_OP_drop:
		pop(st);
		return EXPR_OK;
	case DW_OP_over:
		push(st, st->v[st->n - 2]);
		return EXPR_OK;
	case DW_OP_pick:
		push(st, st->v[st->n - 1 - op->a]);
		return EXPR_OK;
	case DW_OP_swap:
		y = pop(st);
		x = pop(st);
		push(st, y);
		push(st, x);
		return EXPR_OK;
	case DW_OP_rot: /* the top goes below the next two */
		x = st->v[st->n - 1];
		st->v[st->n - 1] = st->v[st->n - 2];
		st->v[st->n - 2] = st->v[st->n - 3];
		st->v[st->n - 3] = x;
		return EXPR_OK;
	case DW_OP_abs:
		x = pop(st);
		push(st, as_signed(m, x) < 0 ? -x : x);
		return EXPR_OK;
	case DW_OP_neg:
		push(st, -pop(st));
		return EXPR_OK;
	case DW_OP_not:
		push(st, ~pop(st));
		return EXPR_OK;
	case DW_OP_plus_uconst:
		push(st, pop(st) + op->a);
		return EXPR_OK;
	case DW_OP_skip:
		jump(b, op->a);
		return EXPR_OK;
	case DW_OP_bra:
		if (pop(st))
			jump(b, op->a);
		return EXPR_OK;
	case DW_OP_nop:
		return EXPR_OK;
	}
	y = pop(st);
	x = pop(st);
	if (!binary(m, op->code, x, y, &x))
		return EXPR_BAD;
	push(st, x);
	return EXPR_OK;
}

enum expr_status expr_evaluate(const struct expr_machine *m, const uint8_t *expr, size_t len,
			       const uint64_t *initial, uint64_t *ret)
{
	struct buf b = buf_make(expr, len, 0, m->swap);
	uint64_t mask = m->address_bytes == 4 ? UINT32_MAX : UINT64_MAX;
	struct stack st;
	struct expr_op op;
	enum expr_status status;
	unsigned steps;

	st.n = 0;
	if (initial)
		push(&st, *initial);
	for (steps = 0; buf_left(&b); steps++) {
		if (steps == STEPS_MAX || !expr_op_read(&b, m->address_bytes, &op))
			return EXPR_BAD;
		if (st.n < values_needed(&op) || st.n == STACK_MAX)
			return EXPR_BAD;
		status = op_run(m, &st, &b, &op);
		if (status != EXPR_OK)
			return status;
		if (st.n)
			st.v[st.n - 1] &= mask;
	}
	if (!buf_ok(&b) || !st.n)
		return EXPR_BAD;
	*ret = st.v[st.n - 1];
	return EXPR_OK;
}
