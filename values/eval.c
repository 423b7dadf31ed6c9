/* eval.c - DWARF expressions that say where values are (DWARF5 2.5 and 2.6). */
#include <dwarf.h>
#include <string.h>

#include "base/buf.h"
#include "values/arithmetic.h"
#include "values/frame_view.h"

enum {
	STACK_MAX = 64,
	DEPTH_MAX = 32, /* values on entry that are computed from others */
	/* The names that GNU had for these before DWARF 5. */
	GNU_uninit = 0xf0,
	GNU_entry_value = 0xf3,
	GNU_const_type = 0xf4,
	GNU_regval_type = 0xf5,
	GNU_deref_type = 0xf6,
	GNU_convert = 0xf7,
	GNU_reinterpret = 0xf9,
	GNU_addr_index = 0xfb,
};

struct eval {
	struct values *v;
	size_t view;
	bool is_kept; /* registers that calls overwrite were kept by this one */
	struct buf b;
	struct item stack[STACK_MAX];
	size_t n;
	struct item_use use;
	/* How the value is told: in a register, as itself, as bytes; else `top` is its address. */
	enum { AT_ADDRESS, IN_REGISTER, IS_VALUE, IS_BYTES } how;
	uint64_t reg;
	const uint8_t *bytes;
	uint64_t n_bytes;
};

static const struct frame_view *view_of(const struct eval *e)
{
	return &e->v->views.v[e->view];
}

static void push_item(struct eval *e, struct item i)
{
	if (e->n == STACK_MAX)
		e->use.is_unknown = true;
	else
		e->stack[e->n++] = i;
}

static void push(struct eval *e, uint64_t v)
{
	push_item(e, (struct item){.v = v, .bytes = 8});
}

static struct item pop(struct eval *e)
{
	if (!e->n) {
		e->use.is_unknown = true;
		return (struct item){.bytes = 8};
	}
	return e->stack[--e->n];
}

static void push_register(struct eval *e, uint64_t reg, uint64_t off)
{
	uint64_t v = 0;

	e->use.is_unknown |= !view_register(view_of(e), reg, e->is_kept, &v);
	push_item(e, (struct item){.v = v + off, .bytes = 8, .is_loose = true});
}

/* A value becomes one of a base type as integers have it; 0: generic. */
static struct item typed(struct eval *e, uint64_t off, struct item from)
{
	struct item i = {.v = from.v, .bytes = 8, .is_loose = from.is_loose};
	const struct dwarf_type *t;

	if (!off)
		return i;
	t = dwarf_params_base_type(view_of(e)->params, view_of(e)->site, off);
	if (!t || !t->bytes || t->bytes > 8 || t->kind == DWARF_TYPE_FLOAT ||
	    t->kind == DWARF_TYPE_OTHER) {
		e->use.is_unknown = true;
		return i;
	}
	i.bytes = (uint8_t)t->bytes;
	i.is_typed = true;
	i.is_signed = t->is_signed;
	i.is_loose &= t->bytes == 8;
	return item_narrowed(i);
}

static void dereference(struct eval *e, uint64_t addr, uint64_t n, uint64_t type)
{
	uint64_t v = 0;

	if (!n || n > sizeof v || !view_memory(e->v, addr, &v, (size_t)n))
		e->use.is_unknown = true;
	push_item(e, typed(e, type, (struct item){.v = v, .is_loose = n < sizeof v}));
}

static void frame_base(struct eval *e, int64_t off)
{
	const struct frame_view *f = view_of(e);
	const struct dwarf_expr *base = &f->site->frame_base;
	uint64_t sp, fp, v = 0;

	if (base->n == 1 && base->code[0] == DW_OP_call_frame_cfa) {
		e->use.is_unknown |= !f->has_cfa;
		push(e, f->cfa + (uint64_t)off);
		return;
	}
	/* A register. The one of the frame record is the function's own, and not still its
	 * caller's, where the caller's frame begins behind that record. */
	if (base->n != 1 || base->code[0] < DW_OP_reg0 || base->code[0] > DW_OP_reg31 ||
	    !view_special_registers(f, &sp, &fp) ||
	    !view_register(f, (uint64_t)(base->code[0] - DW_OP_reg0), false, &v) ||
	    ((uint64_t)(base->code[0] - DW_OP_reg0) == fp && f->machine == EM_X86_64 &&
	     (!f->has_cfa || f->cfa != v + 16)))
		e->use.is_unknown = true;
	push(e, v + (uint64_t)off);
}

static void shuffle(struct eval *e, uint8_t op)
{
	const size_t pick = op == DW_OP_pick ? buf_u8(&e->b) : op == DW_OP_over;
	struct item a, b, c;

	switch (op) {
	case DW_OP_drop:
		pop(e);
		break;
	case DW_OP_swap:
		a = pop(e);
		b = pop(e);
		push_item(e, a);
		push_item(e, b);
		break;
	case DW_OP_rot:
		a = pop(e);
		b = pop(e);
		c = pop(e);
		push_item(e, a);
		push_item(e, c);
		push_item(e, b);
		break;
	default: /* dup, over, pick */
		if (pick >= e->n)
			e->use.is_unknown = true;
		else
			push_item(e, e->stack[e->n - 1 - pick]);
	}
}

static void jump(struct eval *e, bool taken)
{
	const int16_t by = (int16_t)buf_u16(&e->b);
	const int64_t to = e->b.p - e->b.data + by;

	if (!taken || !buf_ok(&e->b))
		return;
	if (to < 0)
		e->use.is_unknown = true;
	else
		buf_seek(&e->b, (uint64_t)to);
}

/* DW_OP_entry_value: only of registers. */
static void entry_value(struct eval *e)
{
	struct buf inner = buf_sub(&e->b, buf_uleb(&e->b));
	const uint8_t op = buf_u8(&inner);
	uint64_t reg = op == DW_OP_regx ? buf_uleb(&inner) : (uint64_t)(op - DW_OP_reg0), v = 0;

	if (!buf_ok(&inner) || buf_left(&inner) ||
	    (op != DW_OP_regx && (op < DW_OP_reg0 || op > DW_OP_reg31)) ||
	    !eval_entry_register(e->v, e->view, reg, &v))
		e->use.is_unknown = true;
	push_item(e, (struct item){.v = v, .bytes = 8, .is_loose = true});
}

/* Operations with a constant or a register. Returns false for others. */
static bool operand(struct eval *e, uint8_t op)
{
	struct buf *b = &e->b;
	struct item top;
	uint64_t x, y;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push(e, (uint64_t)(op - DW_OP_lit0));
		return true;
	}
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_register(e, (uint64_t)(op - DW_OP_breg0), (uint64_t)buf_sleb(b));
		return true;
	}
	switch (op) {
	case DW_OP_const1u:
		push(e, buf_u8(b));
		return true;
	case DW_OP_const1s:
		push(e, (uint64_t)(int8_t)buf_u8(b));
		return true;
	case DW_OP_const2u:
		push(e, buf_u16(b));
		return true;
	case DW_OP_const2s:
		push(e, (uint64_t)(int16_t)buf_u16(b));
		return true;
	case DW_OP_const4u:
		push(e, buf_u32(b));
		return true;
	case DW_OP_const4s:
		push(e, (uint64_t)(int32_t)buf_u32(b));
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(e, buf_u64(b));
		return true;
	case DW_OP_constu:
		push(e, buf_uleb(b));
		return true;
	case DW_OP_consts:
		push(e, (uint64_t)buf_sleb(b));
		return true;
	case DW_OP_bregx:
		x = buf_uleb(b);
		push_register(e, x, (uint64_t)buf_sleb(b));
		return true;
	case DW_OP_fbreg:
		frame_base(e, buf_sleb(b));
		return true;
	case DW_OP_call_frame_cfa:
		e->use.is_unknown |= !view_of(e)->has_cfa;
		push(e, view_of(e)->cfa);
		return true;
	case DW_OP_addr:
		x = view_of(e)->site->address_bytes == 8 ? buf_u64(b) : buf_u32(b);
		push(e, x + view_of(e)->bias);
		return true;
	case DW_OP_addrx:
	case GNU_addr_index:
		y = 0;
		e->use.is_unknown |= !dwarf_params_address(view_of(e)->site, buf_uleb(b), &y);
		push(e, y + view_of(e)->bias);
		return true;
	case DW_OP_plus_uconst:
		top = pop(e);
		top.v += buf_uleb(b);
		push_item(e, item_narrowed(top));
		return true;
	}
	return false;
}

/* Operations with types. Returns false for others. */
static bool with_type(struct eval *e, uint8_t op)
{
	struct buf *b = &e->b, bytes;
	uint64_t x, y = 0, v = 0;

	switch (op) {
	case DW_OP_convert:
	case GNU_convert:
	case DW_OP_reinterpret:
	case GNU_reinterpret:
		push_item(e, typed(e, buf_uleb(b), pop(e)));
		return true;
	case DW_OP_regval_type:
	case GNU_regval_type:
		x = buf_uleb(b);
		e->use.is_unknown |= !view_register(view_of(e), x, e->is_kept, &v);
		push_item(e, typed(e, buf_uleb(b), (struct item){.v = v}));
		return true;
	case DW_OP_deref_type:
	case GNU_deref_type:
		x = buf_u8(b);
		y = buf_uleb(b);
		dereference(e, pop(e).v, x, y);
		return true;
	case DW_OP_const_type:
	case GNU_const_type:
		x = buf_uleb(b);
		bytes = buf_sub(b, buf_u8(b));
		if (!buf_ok(&bytes) || buf_left(&bytes) > sizeof v)
			e->use.is_unknown = true;
		else
			memcpy(&v, bytes.p, buf_left(&bytes));
		push_item(e, typed(e, x, (struct item){.v = v}));
		return true;
	}
	return false;
}

static void run_op(struct eval *e, uint8_t op)
{
	struct item top;

	if (operand(e, op) || with_type(e, op))
		return;
	switch (op) {
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_pick:
	case DW_OP_swap:
	case DW_OP_rot:
		shuffle(e, op);
		break;
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
		push_item(e, item_unary(&e->use, op, pop(e)));
		break;
	case DW_OP_and:
	case DW_OP_div ... DW_OP_mul:
	case DW_OP_or:
	case DW_OP_plus:
	case DW_OP_shl ... DW_OP_xor:
		top = pop(e);
		push_item(e, item_binary(&e->use, op, pop(e), top));
		break;
	case DW_OP_eq ... DW_OP_ne:
		top = pop(e);
		push(e, item_compare(&e->use, op, pop(e), top));
		break;
	case DW_OP_skip:
		jump(e, true);
		break;
	case DW_OP_bra:
		top = pop(e);
		item_need_all_bits(&e->use, top);
		jump(e, top.v);
		break;
	case DW_OP_deref:
		dereference(e, pop(e).v, view_of(e)->site->address_bytes, 0);
		break;
	case DW_OP_deref_size:
		dereference(e, pop(e).v, buf_u8(&e->b), 0);
		break;
	case DW_OP_entry_value:
	case GNU_entry_value:
		entry_value(e);
		break;
	case DW_OP_nop:
	case GNU_uninit:
		break;
	default:
		e->use.is_unknown = true;
	}
}

/* Runs up to the end of a piece, whose length is *piece, or of the expression: *piece is then
 * UINT64_MAX. */
static void run(struct eval *e, uint64_t *piece)
{
	*piece = UINT64_MAX;
	e->how = AT_ADDRESS;
	while (buf_left(&e->b) && !e->use.is_unknown && e->v->steps) {
		const uint8_t op = buf_u8(&e->b);

		e->v->steps--;
		if (op == DW_OP_piece) {
			*piece = buf_uleb(&e->b);
			return;
		}
		if ((op >= DW_OP_reg0 && op <= DW_OP_reg31) || op == DW_OP_regx) {
			e->reg = op == DW_OP_regx ? buf_uleb(&e->b) : (uint64_t)(op - DW_OP_reg0);
			e->how = IN_REGISTER;
		} else if (op == DW_OP_stack_value) {
			e->how = IS_VALUE;
		} else if (op == DW_OP_implicit_value) {
			struct buf bytes = buf_sub(&e->b, buf_uleb(&e->b));

			e->how = IS_BYTES;
			e->bytes = bytes.p;
			e->n_bytes = buf_left(&bytes);
			e->use.is_unknown |= !buf_ok(&bytes);
		} else {
			run_op(e, op);
		}
	}
	e->use.is_unknown |= !e->v->steps || !buf_ok(&e->b);
}

/* Stores what was found as bytes [off, off + n) of the value. */
static void store(struct eval *e, struct value_bytes *ret, size_t off, size_t n)
{
	uint64_t word = 0;
	const void *from = &word;

	if (e->use.is_unknown || !n || off + n > ret->n)
		return;
	if (e->how == IN_REGISTER) {
		if (n > sizeof word || !view_register(view_of(e), e->reg, e->is_kept, &word))
			return;
	} else if (e->how == IS_VALUE) {
		word = pop(e).v;
		if (n > sizeof word || e->use.is_unknown)
			return;
	} else if (e->how == IS_BYTES) {
		if (e->n_bytes < n)
			return;
		from = e->bytes;
	} else {
		word = pop(e).v;
		if (e->use.is_unknown || !view_memory(e->v, word, ret->v + off, n))
			return;
		ret->address = off ? 0 : word;
		from = NULL;
	}
	if (from)
		memcpy(ret->v + off, from, n);
	memset(ret->known + off, true, n);
}

void eval_value(struct values *v, size_t view, const struct dwarf_expr *expr, bool is_kept,
		size_t n, struct value_bytes *ret)
{
	struct eval e = {.v = v,
			 .view = view,
			 .is_kept = is_kept,
			 .use.wanted = n,
			 .b = buf_make(expr->code, expr->n, 0, false)};
	uint64_t piece;
	size_t off = 0;

	memset(ret->known, 0, sizeof ret->known);
	ret->address = 0;
	ret->n = n < VALUE_BYTES_MAX ? n : VALUE_BYTES_MAX;
	if (!expr->code || n > VALUE_BYTES_MAX)
		return;
	do {
		const uint8_t *start = e.b.p;

		run(&e, &piece);
		/* A piece without a place before it is not known. */
		if (piece == UINT64_MAX)
			store(&e, ret, off, off ? 0 : ret->n);
		else if (e.b.p - start > 2 || e.how != AT_ADDRESS || e.n)
			store(&e, ret, off, piece < ret->n ? (size_t)piece : 0);
		/* What one piece lacks, the others may have. */
		if (e.use.is_unknown)
			return;
		off += piece < ret->n ? (size_t)piece : ret->n;
	} while (piece != UINT64_MAX && buf_left(&e.b) && off < ret->n);
}

/* The call that the caller of a frame made: was it of this frame's function? */
static bool is_call_of(struct values *v, size_t caller, const struct dwarf_call *call,
		       const struct frame_view *f)
{
	struct eval e = {.v = v,
			 .view = caller,
			 .is_kept = true,
			 .b = buf_make(call->to.code, call->to.n, 0, false)};
	uint64_t piece;

	if (call->to_entry)
		return v->views.v[caller].params == f->params && call->to_entry == f->site->entry;
	if (call->to_name)
		return f->site->name && !strcmp(call->to_name, f->site->name);
	if (!call->to.code)
		return false;
	run(&e, &piece);
	if (e.how == IN_REGISTER)
		push_register(&e, e.reg, 0);
	return pop(&e).v == f->site->entry + f->bias && !e.use.is_unknown;
}

static bool passed_value(struct values *v, size_t caller, const struct dwarf_expr *value,
			 uint64_t *ret)
{
	struct eval e = {.v = v,
			 .view = caller,
			 .is_kept = true,
			 .b = buf_make(value->code, value->n, 0, false)};
	uint64_t piece;

	run(&e, &piece);
	if (e.how == IN_REGISTER || e.how == IS_BYTES || piece != UINT64_MAX)
		return false;
	*ret = pop(&e).v;
	return !e.use.is_unknown;
}

bool eval_entry_register(struct values *v, size_t view, uint64_t reg, uint64_t *ret)
{
	const struct frame_view *f = &v->views.v[view], *caller = f + 1;
	const struct dwarf_call *call;
	bool found = false;

	if (view_is_at_entry(f))
		return view_register(f, reg, false, ret);
	if (view + 1 >= v->views.n || !caller->site || !caller->site->call ||
	    !caller->frame->is_return_address || v->depth == DEPTH_MAX)
		return false;
	call = caller->site->call;
	v->depth++;
	if (is_call_of(v, view + 1, call, f) && !dwarf_params_calls_itself_last(f->params, f->site))
		for (size_t i = 0; i < call->n && !found; i++)
			if (call->passed[i].reg == reg)
				found = passed_value(v, view + 1, &call->passed[i].value, ret);
	v->depth--;
	return found;
}
