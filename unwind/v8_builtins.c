/* v8_builtins.c - builtins of V8, in its file, whose paths do not agree about the frame.
 *
 * They jump on to one another, pop arguments of any number, and one makes the frame of its caller:
 * that pops its return address, makes the frame, and pushes it again (builtins-x64.cc:
 * Generate_BaselineOutOfLinePrologue). Which of these is the case, the instructions from a place to
 * the end show. All code of V8 keeps frame pointers. */
#include <string.h>

#include "modules/modules.h"
#include "reader/reader.h"
#include "unwind/jit_ahead.h"
#include "unwind/return_check.h"

/* Instructions that are followed. */
enum { STEPS_MAX = 48 };

/* The assumed initial place of the stack pointer. */
#define PLACE (1 << 30)

/* Intel SDM. */
#define MAKE_FRAME   "\x55\x48\x89\xe5" /* PUSH %rbp; MOV %rsp, %rbp */
#define LEAVE_FRAME  "\x48\x89\xec\x5d" /* MOV %rbp, %rsp; POP %rbp; and its other form */
#define LEAVE_FRAME2 "\x48\x8b\xe5\x5d"
#define TAIL_CALL    "\xff\xe1" /* JMP *%rcx: register-x64.h, kJavaScriptCallCodeStartRegister */
enum { PUSH = 0x50, POP = 0x58, REX_B = 0x41, RBP = 5, RSP = 4, MAKE_BYTES = 4 };

enum end {
	END_UNKNOWN,
	END_TOP,      /* the return address is `taken` bytes above the stack pointer */
	END_REGISTER, /* in a register */
	END_RECORD,   /* in the frame record at the frame pointer */
};

struct path {
	struct cfi_module *cm;
	const struct arch *arch;
	uint64_t start, at;
	struct code_frame frame;
	unsigned pushed; /* DWARF number plus 1 of the register that was pushed last; 0: none */
	enum end end;
	int32_t taken;
	bool makes_callers_frame;
};

static bool is_at(const struct path *p, uint64_t at, const char *code, size_t n)
{
	size_t there = n;
	const uint8_t *bytes = cfi_module_code(p->cm, at, &there);

	return bytes && there == n && !memcmp(bytes, code, n);
}

/* The DWARF number plus 1 of the register that a PUSH or POP at `at` is of; 0: no such, or of the
 * stack's own registers (psABI AMD64, figure 3.36). */
static unsigned operand(const struct path *p, uint64_t at, uint8_t op, unsigned *bytes)
{
	static const uint8_t dwarf[8] = {0, 2, 1, 3, 7, 6, 4, 5};
	size_t n = 2;
	const uint8_t *code = cfi_module_code(p->cm, at, &n);
	const bool high = code && n == 2 && code[0] == REX_B;
	unsigned reg;

	if (!code || n < 2 || (code[high] & 0xf8) != op)
		return 0;
	*bytes = 1u + high;
	reg = code[high] & 7;
	if (high)
		return reg + 8 + 1;
	return reg == RSP || reg == RBP ? 0 : dwarf[reg] + 1u;
}

/* True if the jump leads to the start of another function. */
static bool leaves(const struct path *p, uint64_t target)
{
	struct code_function from = {0}, to = {0};
	struct code_frame f;

	(void)cfi_module_code_frame(p->cm, p->at, &from, &f);
	(void)cfi_module_code_frame(p->cm, target, &to, &f);
	return to.is_named && to.start == target && from.start != to.start;
}

/* True if the register (DWARF number plus 1) holds the return address from a place on: nothing else
 * is written to it until it is pushed for the return. */
static bool keeps_return(const struct path *from, uint64_t at, unsigned reg)
{
	struct code_frame frame = {.sp = -1, .ra_reg = (uint8_t)reg};
	struct code_insn in = {0};

	for (int i = 0; reg && i < STEPS_MAX && code_insn_at(from->cm, at, &frame, &in); i++) {
		if (in.way == CODE_RETURN)
			return !frame.ra_reg && frame.sp == from->arch->word_bytes;
		if (in.way != CODE_ON && in.way != CODE_BRANCH && in.way != CODE_JUMP)
			return false;
		at += in.way == CODE_JUMP ? (uint64_t)in.target : in.bytes;
	}
	return false;
}

static bool ended(struct path *p, enum end end)
{
	p->end = end;
	p->taken = PLACE - p->frame.sp;
	return true;
}

/* Returns true if what is at the place ends the path. */
static bool ends_here(struct path *p)
{
	unsigned bytes, reg;

	if (p->frame.fp_holds != CODE_FP_CALLER || p->frame.sp < 0)
		return false;
	if (is_at(p, p->at, LEAVE_FRAME, sizeof LEAVE_FRAME - 1) ||
	    is_at(p, p->at, LEAVE_FRAME2, sizeof LEAVE_FRAME2 - 1))
		return ended(p, END_RECORD);
	if (p->frame.sp > PLACE)
		return false;
	if (is_at(p, p->at, TAIL_CALL, sizeof TAIL_CALL - 1))
		return ended(p, END_TOP);
	if (p->frame.sp != PLACE)
		return false;
	reg = operand(p, p->at, POP, &bytes);
	p->makes_callers_frame = reg && is_at(p, p->at + bytes, MAKE_FRAME, MAKE_BYTES);
	return reg && (p->makes_callers_frame || keeps_return(p, p->at + bytes, reg)) &&
	       ended(p, END_TOP);
}

/* The path has come to a return, with the stack pointer at `sp`. */
static void end_by_return(struct path *p, int32_t sp)
{
	p->frame.sp = sp;
	if (sp >= 0 && sp <= PLACE && p->frame.fp_holds == CODE_FP_CALLER)
		(void)ended(p, END_TOP);
	else if (keeps_return(p, p->start, p->pushed))
		(void)ended(p, END_REGISTER);
}

/* Follows the code to its end. *p has the place and the frame. */
static void follow(struct path *p)
{
	for (int i = 0; i < STEPS_MAX; i++) {
		const int32_t sp = p->frame.sp;
		struct code_insn in = {0};
		unsigned bytes, reg;

		if (ends_here(p))
			return;
		reg = operand(p, p->at, PUSH, &bytes);
		p->pushed = reg ? reg : p->pushed;
		if (!code_insn_at(p->cm, p->at, &p->frame, &in))
			return;
		if (in.way == CODE_RETURN) {
			end_by_return(p, sp);
			return;
		}
		if (in.way == CODE_JUMP && sp >= 0 && sp <= PLACE &&
		    p->frame.fp_holds == CODE_FP_CALLER && leaves(p, p->at + (uint64_t)in.target)) {
			(void)ended(p, END_TOP);
			return;
		}
		if (in.way != CODE_ON && in.way != CODE_BRANCH && in.way != CODE_JUMP)
			return;
		p->at += in.way == CODE_JUMP ? (uint64_t)in.target : in.bytes;
	}
}

/* Returns false if nothing is known of the code. */
static bool path_find(struct walk *w, const struct map *map, uint64_t ip, struct path *ret)
{
	*ret = (struct path){.arch = w->arch, .frame.sp = PLACE};
	if (!map || map->dso->kind == DSO_ANON || !has_v8(w, map) || !w->arch->interpreter_sp_off)
		return false;
	ret->cm = walk_module(w, map, ip, &ret->start);
	ret->at = ret->start;
	if (ret->cm)
		follow(ret);
	return ret->end != END_UNKNOWN;
}

/* Reads the return address and what follows from its place. */
static bool caller_find(struct walk *w, const struct cursor *c, const struct path *p,
			struct cursor *ret)
{
	const unsigned word = w->arch->word_bytes;
	const uint64_t at = p->end == END_RECORD ? c->fp + word : c->sp + (uint64_t)p->taken;

	*ret = *c;
	ret->how = FRAME_CODE;
	ret->is_return_address = true;
	/* A function is also entered so: PUSH, RET. */
	if (p->end == END_REGISTER)
		return arch_reg(w->arch, &w->s->user_regs, (uint8_t)(p->pushed - 1), &ret->ip) &&
		       return_check_jit(w, ret->ip) == RETURN_CALL;
	ret->sp = at + word;
	return walk_word(w, at, word, &ret->ip) &&
	       (p->end != END_RECORD || walk_word(w, c->fp, word, &ret->fp)) &&
	       return_check_jit(w, ret->ip) != RETURN_NONE;
}

enum unwind_stop v8_builtin_step(struct walk *w, struct cursor *c, const struct map *map)
{
	struct cursor caller;
	struct path p;

	if (c->is_return_address || !c->sp_known || !c->fp_known || !path_find(w, map, c->ip, &p))
		return UNWIND_STOP_NO_CFI;
	if (!caller_find(w, c, &p, &caller))
		return UNWIND_STOP_BAD_CFI;
	*c = caller;
	return WALK_ON;
}

enum unwind_stop v8_unmade_step(struct walk *w, struct cursor *c)
{
	const unsigned word = w->arch->word_bytes;
	const struct frame *first = w->frames;
	uint64_t ra, fp = c->fp, sp = c->sp;
	struct path p;

	if (w->next - w->frames != 2 || !c->sp_known || !path_find(w, first->map, first->ip, &p))
		return UNWIND_STOP_NO_CFI;
	if (p.end == END_REGISTER && is_at(&p, p.start - 1, MAKE_FRAME, MAKE_BYTES)) {
		if (!walk_word(w, sp, word, &fp))
			return UNWIND_STOP_BAD_CFI;
		sp += word;
	} else if (!p.makes_callers_frame &&
		   !(p.end == END_REGISTER && is_at(&p, p.start, MAKE_FRAME, MAKE_BYTES))) {
		return UNWIND_STOP_NO_CFI;
	}
	/* The builtin's file says what this word is. Memory at it may be of a later time, and then
	 * shows no call. */
	if (!walk_word(w, sp, word, &ra) || return_check(w, ra) == RETURN_NONE)
		return UNWIND_STOP_BAD_CFI;
	c->ip = ra;
	c->sp = sp + word;
	c->fp = fp;
	c->how = FRAME_CODE;
	return WALK_ON;
}
