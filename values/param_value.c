/* param_value.c - the value of one parameter in a frame. */
#include <dwarf.h>
#include <string.h>

#include "base/buf.h"
#include "values/frame_view.h"

/* psABI AMD64 3.2.3, AAPCS64 6.8.2: the registers of integers and pointers, by DWARF number. */
static const uint8_t x86_64_args[] = {5, 4, 1, 2, 8, 9}, aarch64_args[] = {0, 1, 2, 3, 4, 5, 6, 7};

enum { FLOAT_REGISTERS = 8, WORD = 8 };

static bool is_integral(const struct dwarf_type *t)
{
	return t->bytes && t->bytes <= WORD &&
	       (t->kind == DWARF_TYPE_INTEGER || t->kind == DWARF_TYPE_CHARACTER ||
		t->kind == DWARF_TYPE_BOOL || t->kind == DWARF_TYPE_POINTER ||
		t->kind == DWARF_TYPE_REFERENCE || t->kind == DWARF_TYPE_ENUM);
}

/* Is the address of the result a hidden first argument in a register? 1: yes, 0: no, -1: that
 * cannot be known (C++ classes that may not be copied). */
static int hidden_argument(const struct frame_view *f)
{
	const struct dwarf_type *t = f->site->result;

	if (!f->site->has_result || f->machine == EM_AARCH64)
		return 0;
	if (!t)
		return -1;
	return is_integral(t) || t->kind == DWARF_TYPE_FLOAT ? 0 : -1;
}

/* The value of an argument when the function begins, by the rules of the processor's ABI. Arguments
 * behind one whose place is not known are not, either. */
static void value_by_abi(struct values *v, const struct frame_view *f,
			 const struct dwarf_params_of *params, size_t i, struct value_bytes *ret)
{
	const uint8_t *regs = f->machine == EM_X86_64 ? x86_64_args : aarch64_args;
	const size_t n_regs = f->machine == EM_X86_64 ? sizeof x86_64_args : sizeof aarch64_args;
	size_t used = 0, floats = 0, k;
	uint64_t word, sp, fp;

	if (!f->site->is_by_compiler_of_c || hidden_argument(f) ||
	    (f->machine != EM_X86_64 && f->machine != EM_AARCH64))
		return;
	for (k = 0; k < i; k++) {
		const struct dwarf_type *t = params->v[k].type;

		if (!t || (!is_integral(t) && (t->kind != DWARF_TYPE_FLOAT || t->bytes > WORD)))
			return;
		used += t->kind != DWARF_TYPE_FLOAT;
		floats += t->kind == DWARF_TYPE_FLOAT;
	}
	if (floats > FLOAT_REGISTERS || !is_integral(params->v[i].type))
		return;
	if (used < n_regs) {
		if (!view_register(f, regs[used], false, &word))
			return;
	} else if (f->machine != EM_X86_64 || !view_special_registers(f, &sp, &fp) ||
		   !view_register(f, sp, false, &sp) ||
		   !view_memory(v, sp + WORD * (used - n_regs + 1), &word, sizeof word)) {
		return;
	}
	memcpy(ret->v, &word, sizeof word);
	memset(ret->known, true, ret->n);
}

/* Is the place of a parameter one in the frame, to which the function has to store it first? */
static bool is_in_frame(const struct frame_view *f, const struct dwarf_expr *e)
{
	struct buf b = buf_make(e->code, e->n, 0, false);
	const uint8_t op = buf_u8(&b);
	const bool by_cfa =
		f->site->frame_base.n == 1 && f->site->frame_base.code[0] == DW_OP_call_frame_cfa;

	if (op == DW_OP_fbreg)
		return !by_cfa || buf_sleb(&b) < 0; /* else its caller has stored it */
	return op >= DW_OP_breg0 && op <= DW_OP_breg31;
}

static void value_of(struct values *v, size_t view, const struct dwarf_params_of *params, size_t i,
		     struct value_bytes *ret)
{
	const struct frame_view *f = &v->views.v[view];
	const struct dwarf_param *p = &params->v[i];
	const bool in_frame = p->where.code && !p->is_list && is_in_frame(f, &p->where);

	if (p->has_value) {
		memcpy(ret->v, &p->value, sizeof p->value);
		memset(ret->known, ret->n <= sizeof p->value, ret->n);
	} else if (in_frame && view_is_at_entry(f)) {
		value_by_abi(v, f, params, i, ret);
	} else if (!in_frame || f->frame->is_return_address || !f->site->body ||
		   f->vaddr >= f->site->body) {
		eval_value(v, view, &p->where, p->is_kept, ret->n, ret);
	}
}

void param_value(struct values *v, size_t view, size_t level, size_t i, struct value_bytes *ret,
		 bool *is_entry)
{
	const struct frame_view *f = &v->views.v[view];
	const struct dwarf_params_of *params = &f->site->levels[level];
	const struct dwarf_param *p = &params->v[i];
	uint64_t word;

	*is_entry = false;
	memset(ret->known, 0, sizeof ret->known);
	ret->address = 0;
	ret->n = p->type && p->type->bytes <= VALUE_BYTES_MAX ? (size_t)p->type->bytes : 0;
	if (!ret->n)
		return;
	value_of(v, view, params, i, ret);
	for (size_t k = 0; k < ret->n; k++)
		if (ret->known[k])
			return;
	if (level + 1 != f->site->n || !p->has_entry_reg || ret->n > sizeof word ||
	    !eval_entry_register(v, view, p->entry_reg, &word))
		return;
	memcpy(ret->v, &word, sizeof word);
	memset(ret->known, true, ret->n);
	*is_entry = true;
}
