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

/* The class of an operation, see op_run(). */
enum sort { OTHER, PUSH, REGISTER, MEMORY, SHUFFLE, UNARY, BINARY, COMPARE };

static const struct {
	uint8_t operands;
	uint8_t sort;
	uint8_t needs; /* number of values it needs on the stack */
} ops[256] = {
	[DW_OP_addr] = {ADDRESS, PUSH, 0},
	[DW_OP_deref] = {NONE, MEMORY, 1},
	[DW_OP_const1u] = {U8, PUSH, 0},
	[DW_OP_const1s] = {S8, PUSH, 0},
	[DW_OP_const2u] = {U16, PUSH, 0},
	[DW_OP_const2s] = {S16, PUSH, 0},
	[DW_OP_const4u] = {U32, PUSH, 0},
	[DW_OP_const4s] = {S32, PUSH, 0},
	[DW_OP_const8u] = {U64, PUSH, 0},
	[DW_OP_const8s] = {U64, PUSH, 0},
	[DW_OP_constu] = {ULEB, PUSH, 0},
	[DW_OP_consts] = {SLEB, PUSH, 0},
	[DW_OP_dup] = {NONE, SHUFFLE, 1},
	[DW_OP_drop] = {NONE, SHUFFLE, 1},
	[DW_OP_over] = {NONE, SHUFFLE, 2},
	[DW_OP_pick] = {U8, SHUFFLE, 1}, /* plus the number in the operand */
	[DW_OP_swap] = {NONE, SHUFFLE, 2},
	[DW_OP_rot] = {NONE, SHUFFLE, 3},
	[DW_OP_abs] = {NONE, UNARY, 1},
	[DW_OP_and... DW_OP_mul] = {NONE, BINARY, 2},
	[DW_OP_neg... DW_OP_not] = {NONE, UNARY, 1},
	[DW_OP_or... DW_OP_plus] = {NONE, BINARY, 2},
	[DW_OP_plus_uconst] = {ULEB, UNARY, 1},
	[DW_OP_shl... DW_OP_xor] = {NONE, BINARY, 2},
	[DW_OP_bra] = {S16, OTHER, 1},
	[DW_OP_eq... DW_OP_ne] = {NONE, COMPARE, 2},
	[DW_OP_skip] = {S16, OTHER, 0},
	[DW_OP_lit0... DW_OP_lit31] = {NONE, PUSH, 0},
	[DW_OP_breg0... DW_OP_breg31] = {SLEB, REGISTER, 0},
	[DW_OP_bregx] = {ULEB_SLEB, REGISTER, 0},
	[DW_OP_deref_size] = {U8, MEMORY, 1},
	[DW_OP_nop] = {NONE, OTHER, 0},
};

bool expr_op_read(struct buf *b, unsigned address_bytes, struct expr_op *op)
{
	op->code = buf_u8(b);
	op->a = op->b = 0;
	switch ((enum operands)ops[op->code].operands) {
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

/* Before an operation runs, the room that it may need on the stack is checked, so these cannot
 * fail. */
static void push(struct stack *st, uint64_t v)
{
	st->v[st->n++] = v;
}

static uint64_t pop(struct stack *st)
{
	return st->v[--st->n];
}

/* Values are as wide as an address; signed operations use the sign bit of that width (DWARF5
 * 2.5.1). */
static int64_t as_signed(const struct expr_machine *m, uint64_t v)
{
	return m->address_bytes == 4 ? (int32_t)v : (int64_t)v;
}

/* `a` is below `b` on the stack. Returns false for a division by zero. */
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
		/* Dividing INT64_MIN by -1 would overflow; -a is the wrapped result. */
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
	default: /* DW_OP_shra */
		*ret = (uint64_t)(sa >> (b < bits ? b : bits - 1));
		return true;
	}
}

static bool compared(uint8_t code, int64_t a, int64_t b)
{
	switch (code) {
	case DW_OP_eq:
		return a == b;
	case DW_OP_ne:
		return a != b;
	case DW_OP_ge:
		return a >= b;
	case DW_OP_gt:
		return a > b;
	case DW_OP_le:
		return a <= b;
	default: /* DW_OP_lt */
		return a < b;
	}
}

static uint64_t unary(const struct expr_machine *m, const struct expr_op *op, uint64_t v)
{
	switch (op->code) {
	case DW_OP_abs:
		return as_signed(m, v) < 0 ? -v : v;
	case DW_OP_neg:
		return -v;
	case DW_OP_not:
		return ~v;
	default: /* DW_OP_plus_uconst */
		return v + op->a;
	}
}

static uint64_t constant(const struct expr_machine *m, const struct expr_op *op)
{
	if (op->code == DW_OP_addr)
		return op->a + m->bias;
	if (op->code >= DW_OP_lit0 && op->code <= DW_OP_lit31)
		return op->code - DW_OP_lit0;
	return op->a;
}

static void shuffle(struct stack *st, const struct expr_op *op)
{
	uint64_t *top = &st->v[st->n - 1], x = *top;

	switch (op->code) {
	case DW_OP_dup:
		push(st, x);
		break;
	case DW_OP_drop:
		pop(st);
		break;
	case DW_OP_over:
		push(st, top[-1]);
		break;
	case DW_OP_pick:
		push(st, top[-(int64_t)op->a]);
		break;
	case DW_OP_swap:
		*top = top[-1];
		top[-1] = x;
		break;
	default: /* DW_OP_rot: the top goes below the next two */
		*top = top[-1];
		top[-1] = top[-2];
		top[-2] = x;
	}
}

static enum expr_status register_push(const struct expr_machine *m, struct stack *st,
				      const struct expr_op *op)
{
	bool named = op->code != DW_OP_bregx;
	uint64_t reg = named ? op->code - (uint64_t)DW_OP_breg0 : op->a;

	if (reg >= m->n_regs || !(m->known >> reg & 1))
		return EXPR_NO_REGISTER;
	push(st, m->regs[reg] + (named ? op->a : op->b));
	return EXPR_OK;
}

static enum expr_status memory_push(const struct expr_machine *m, struct stack *st,
				    const struct expr_op *op)
{
	uint64_t size = op->code == DW_OP_deref ? m->address_bytes : op->a, v;

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

	switch ((enum sort)ops[op->code].sort) {
	case PUSH:
		push(st, constant(m, op));
		break;
	case REGISTER:
		return register_push(m, st, op);
	case MEMORY:
		return memory_push(m, st, op);
	case SHUFFLE:
		shuffle(st, op);
		break;
	case UNARY:
		push(st, unary(m, op, pop(st)));
		break;
	case BINARY:
		y = pop(st);
		x = pop(st);
		if (!binary(m, op->code, x, y, &x))
			return EXPR_BAD;
		push(st, x);
		break;
	case COMPARE:
		y = pop(st);
		x = pop(st);
		push(st, compared(op->code, as_signed(m, x), as_signed(m, y)));
		break;
	case OTHER: /* nop; jumps */
		if (op->code == DW_OP_skip || (op->code == DW_OP_bra && pop(st)))
			jump(b, op->a);
	}
	return EXPR_OK;
}

/* True if the stack has the values that the operation needs, and room for its result. */
static bool op_fits(const struct stack *st, const struct expr_op *op)
{
	uint64_t needs = ops[op->code].needs + (op->code == DW_OP_pick ? op->a : 0);

	return st->n >= needs && st->n < STACK_MAX;
}

enum expr_status expr_evaluate(const struct expr_machine *m, const uint8_t *expr, size_t len,
			       const uint64_t *initial, uint64_t *ret)
{
	struct buf b = buf_make(expr, len, 0, m->swap);
	uint64_t mask = m->address_bytes == 4 ? UINT32_MAX : UINT64_MAX;
	struct stack st;
	struct expr_op op;
	enum expr_status status;
	uint64_t all = STEPS_MAX, *steps = m->steps ? m->steps : &all, last;

	st.n = 0;
	last = *steps > STEPS_MAX ? *steps - STEPS_MAX : 0;
	if (initial)
		push(&st, *initial);
	for (; buf_left(&b); --*steps) {
		if (*steps == last || !expr_op_read(&b, m->address_bytes, &op))
			return EXPR_BAD;
		if (!op_fits(&st, &op))
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
