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

/* What kind of place the one is that a parameter has in all of its function. */
enum place {
	OF_CALLER, /* its caller stored it there */
	OF_FRAME,  /* memory to which the function has to store it first */
	OF_REGISTER,
	OF_NONE, /* computed from constants */
};

static enum place place_of(const struct frame_view *f, const struct dwarf_expr *e, uint64_t *reg)
{
	struct buf b = buf_make(e->code, e->n, 0, false);
	const uint8_t op = buf_u8(&b);
	const bool by_cfa =
		f->site->frame_base.n == 1 && f->site->frame_base.code[0] == DW_OP_call_frame_cfa;
	uint64_t sp, fp;

	*reg = UINT64_MAX;
	/* Go's callers only leave room there. */
	if (op == DW_OP_call_frame_cfa || op == DW_OP_fbreg)
		return f->site->is_by_compiler_of_c && by_cfa && op == DW_OP_fbreg &&
				       buf_sleb(&b) >= 0
			       ? OF_CALLER
			       : OF_FRAME;
	if (op == DW_OP_regx || op == DW_OP_bregx)
		return OF_REGISTER;
	if (op >= DW_OP_reg0 && op <= DW_OP_reg31) {
		*reg = e->n == 1 ? (uint64_t)(op - DW_OP_reg0) : *reg;
		return OF_REGISTER;
	}
	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return OF_NONE;
	return view_special_registers(f, &sp, &fp) && ((uint64_t)(op - DW_OP_breg0) == sp ||
						       (uint64_t)(op - DW_OP_breg0) == fp)
		       ? OF_FRAME
		       : OF_REGISTER;
}

/* Where an argument is when the function begins. */
struct abi_place {
	bool in_register;
	uint64_t reg, stack_off; /* stack_off: from the stack pointer */
};

/* Is the parameter, where integers before it take `used` registers, where the ABI has it?
 * Optimizers leave out parameters of functions that are not seen from outside, and pass others in
 * their places. */
static bool is_passed(const struct frame_view *f, const struct dwarf_param *p, uint64_t reg)
{
	uint64_t unused;
	enum place place;

	if (f->site->is_unoptimized)
		return true;
	if (p->is_list)
		return p->has_entry_reg && p->entry_reg == reg;
	if (p->has_value || !p->where.code)
		return false;
	place = place_of(f, &p->where, &unused);
	return place == OF_FRAME || place == OF_REGISTER;
}

/* By the rules of the processor's ABI. Arguments behind one whose place is not known are not known,
 * either. */
static bool abi_place(const struct frame_view *f, const struct dwarf_params_of *params, size_t i,
		      struct abi_place *ret)
{
	const uint8_t *regs = f->machine == EM_X86_64 ? x86_64_args : aarch64_args;
	const size_t n_regs = f->machine == EM_X86_64 ? sizeof x86_64_args : sizeof aarch64_args;
	size_t used = 0, floats = 0, k;

	if (!f->site->is_by_compiler_of_c || params->is_reordered || hidden_argument(f) ||
	    (f->machine != EM_X86_64 && f->machine != EM_AARCH64))
		return false;
	for (k = 0; k < i; k++) {
		const struct dwarf_type *t = params->v[k].type;

		if (!t || (!is_integral(t) && (t->kind != DWARF_TYPE_FLOAT || t->bytes > WORD)))
			return false;
		if (used < n_regs && is_integral(t) && !is_passed(f, &params->v[k], regs[used]))
			return false;
		used += t->kind != DWARF_TYPE_FLOAT;
		floats += t->kind == DWARF_TYPE_FLOAT;
	}
	if (floats > FLOAT_REGISTERS || !params->v[i].type || !is_integral(params->v[i].type) ||
	    (used >= n_regs && (f->machine != EM_X86_64 || !f->site->is_unoptimized)))
		return false;
	*ret = used < n_regs ? (struct abi_place){true, regs[used], 0}
			     : (struct abi_place){false, 0, WORD * (used - n_regs + 1)};
	return true;
}

static void value_by_abi(struct values *v, const struct frame_view *f,
			 const struct dwarf_params_of *params, size_t i, struct value_bytes *ret)
{
	struct abi_place at;
	uint64_t word, sp, fp;

	if (!abi_place(f, params, i, &at))
		return;
	if (at.in_register
		    ? !view_register(f, at.reg, false, &word)
		    : !view_special_registers(f, &sp, &fp) || !view_register(f, sp, false, &sp) ||
			      !view_memory(v, sp + at.stack_off, &word, sizeof word))
		return;
	memcpy(ret->v, &word, sizeof word);
	memset(ret->known, true, ret->n);
}

/* Is the parameter where the place says that it has in all of its function? Not before it was put
 * there, which code that was not optimized has done where its second line begins; in other code
 * it may be done anywhere, and a register may be used for something else later. */
static bool is_in_place(const struct frame_view *f, const struct dwarf_params_of *params, size_t i,
			bool is_inlined)
{
	const struct dwarf_site *site = f->site;
	const bool in_body = site->body && f->vaddr >= site->body;
	struct abi_place at;
	uint64_t reg;

	switch (place_of(f, &params->v[i].where, &reg)) {
	case OF_FRAME:
		return f->frame->is_return_address ||
		       (site->is_unoptimized && in_body && !is_inlined);
	case OF_REGISTER:
		/* Behind its last use the register may be another's, at -O0 too. */
		if (site->is_untracked || site->is_unoptimized)
			return false;
		return is_inlined || f->frame->is_return_address || in_body ||
		       (abi_place(f, params, i, &at) && at.in_register && at.reg == reg);
	default:
		return true;
	}
}

/* Where a compiler follows its variables, one place for all of the function is true from its first
 * instruction on: a register for arguments is the one that it is passed in. */
static bool is_passed_there(const struct frame_view *f, uint64_t reg)
{
	const bool is_x86 = f->machine == EM_X86_64;
	const uint8_t *regs = is_x86 ? x86_64_args : aarch64_args;
	const size_t n = is_x86 ? sizeof x86_64_args : sizeof aarch64_args;

	for (size_t i = 0; i < n; i++)
		if (regs[i] == reg)
			return f->site->is_by_compiler_of_c && !f->site->is_untracked &&
			       !f->site->is_unoptimized;
	return false;
}

static void value_of(struct values *v, size_t view, size_t level, size_t i, struct value_bytes *ret)
{
	const struct frame_view *f = &v->views.v[view];
	const struct dwarf_params_of *params = &f->site->levels[level];
	const bool is_inlined = level + 1 != f->site->n;
	const struct dwarf_param *p = &params->v[i];
	const bool at_entry = p->where.code && !p->is_list && !is_inlined && view_is_at_entry(f);
	uint64_t reg;
	enum place place = at_entry ? place_of(f, &p->where, &reg) : OF_NONE;

	if (p->has_value) {
		memcpy(ret->v, &p->value, sizeof p->value);
		memset(ret->known, ret->n <= sizeof p->value, ret->n);
	} else if (place == OF_REGISTER && is_passed_there(f, reg)) {
		eval_value(v, view, &p->where, p->is_kept, ret->n, ret);
	} else if (place == OF_FRAME || place == OF_REGISTER) {
		value_by_abi(v, f, params, i, ret);
	} else if (p->is_list || !p->where.code || is_in_place(f, params, i, is_inlined)) {
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
	value_of(v, view, level, i, ret);
	for (size_t k = 0; k < ret->n; k++)
		if (ret->known[k])
			return;
	/* A register that a parameter has in all of an unoptimized function is its own. */
	if (level + 1 != f->site->n || !p->has_entry_reg ||
	    (p->where.code && !p->is_list && (f->site->is_unoptimized || f->site->is_untracked)) ||
	    ret->n > sizeof word || !eval_entry_register(v, view, p->entry_reg, &word))
		return;
	memcpy(ret->v, &word, sizeof word);
	memset(ret->known, true, ret->n);
	*is_entry = true;
}
