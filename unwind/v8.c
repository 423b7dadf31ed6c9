/* v8.c - where code of V8 has no frame of its own yet, or not any more.
 *
 * All of its functions keep frame pointers, so that bytes of code tell nothing else. Functions
 * begin with PUSH %rbp; MOV %rsp, %rbp, some behind checks that leave by a branch, and end with POP
 * %rbp; RET. Between these the record at the frame pointer is the caller's. A call of compiled code
 * by compiled code leaves no other trace of that (jit_owner.c has what a register may show).
 *
 * Functions whose number of arguments varies take these from the stack: POP reg; ADD or LEA to
 * %rsp; PUSH reg; RET. Meanwhile the return address is in that register alone
 * (macro-assembler-x64.cc: DropArguments). */
#include <string.h>

#include "functions/functions.h"
#include "unwind/jit_ahead.h"
#include "unwind/return_check.h"

/* Instructions before a frame is made, and between its end and the return. The entry of interpreted
 * functions (builtins-x64.cc: Generate_InterpreterEntryTrampoline) has 27 before its frame. */
enum { EDGE_INSNS_MAX = 40 };

/* The same from where arguments are taken from the stack. */
enum { DROP_INSNS_MAX = 4 };

/* The assumed initial place of the stack pointer. */
#define PLACE (1 << 30)

/* Intel SDM: PUSH %rbp, and both forms of MOV %rsp, %rbp. */
enum { PUSH_RBP = 0x55, PUSH_BYTES = 1, MOV_BYTES = 3 };

/* Numbers of DWARF (psABI AMD64, figure 3.36). */
enum { REGISTERS = 16, DWARF_RBP = 6, DWARF_RSP = 7 };

static bool is_mov(const struct jit_memory *m, uint64_t at)
{
	const uint8_t *code = m->bytes + (at - m->start);

	return jit_memory_is_sure(m, at, MOV_BYTES) && (!memcmp(code, "\x48\x89\xe5", MOV_BYTES) ||
							!memcmp(code, "\x48\x8b\xec", MOV_BYTES));
}

static bool is_push(const struct jit_memory *m, uint64_t at)
{
	return jit_memory_is_sure(m, at, PUSH_BYTES) && m->bytes[at - m->start] == PUSH_RBP;
}

/* The memory of a place is looked up again where it is another's. */
static bool is_there(struct walk *w, struct jit_memory *m, uint64_t at)
{
	return at - m->start < m->n || jit_memory_find(w, at, m);
}

/* True if the code comes, without a call, to where a frame is made, or to a return that leaves the
 * frame pointer alone; *taken: bytes on the stack below the return address. Calls of WebAssembly
 * lead to tables of jumps. */
static bool ends_without_frame(struct walk *w, struct jit_memory m, uint64_t at, uint64_t *taken)
{
	struct code_frame frame = {.sp = PLACE};

	for (int i = 0; i < EDGE_INSNS_MAX && is_there(w, &m, at); i++) {
		const size_t off = (size_t)(at - m.start);
		const int32_t sp = frame.sp;
		struct code_insn in = {0};

		if (sp == PLACE && is_push(&m, at) && is_mov(&m, at + PUSH_BYTES)) {
			*taken = 0;
			return true;
		}
		if (!w->arch->code_step(m.bytes + off, m.n - off, &frame, &in) ||
		    !jit_memory_is_sure(&m, at, in.bytes))
			return false;
		if (in.way == CODE_RETURN) {
			*taken = (uint64_t)(PLACE - sp);
			return sp >= 0 && sp <= PLACE;
		}
		if ((in.way != CODE_ON && in.way != CODE_BRANCH && in.way != CODE_JUMP) ||
		    frame.fp_holds != CODE_FP_CALLER)
			return false;
		at += in.way == CODE_JUMP ? (uint64_t)in.target : in.bytes;
	}
	return false;
}

/* True if the code from `at` on takes arguments from the stack and returns, with the return address
 * in the register of this DWARF number. */
static bool returns_by(struct walk *w, struct jit_memory m, uint64_t at, unsigned reg)
{
	struct code_frame frame = {.sp = -1, .ra_reg = (uint8_t)(reg + 1)};

	for (int i = 0; i < DROP_INSNS_MAX && is_there(w, &m, at); i++) {
		const size_t off = (size_t)(at - m.start);
		struct code_insn in = {0};

		if (!w->arch->code_step(m.bytes + off, m.n - off, &frame, &in) ||
		    !jit_memory_is_sure(&m, at, in.bytes) || frame.fp_holds != CODE_FP_CALLER)
			return false;
		if (in.way == CODE_RETURN)
			return !frame.ra_reg && frame.sp == w->arch->word_bytes;
		if (in.way != CODE_ON)
			return false;
		at += in.bytes;
	}
	return false;
}

/* Where the return address is while a function has no frame. */
struct edge {
	uint64_t ra, fp; /* the caller's */
	uint64_t sp;	 /* of the caller, or of arguments that are still to be taken */
	bool is_known;	 /* false: it cannot be read */
};

/* Finds the return address while arguments are taken from the stack. It is in a register, or will
 * be after the next instruction. */
static bool returns_by_register(struct walk *w, const struct jit_memory *m, const struct cursor *c,
				struct edge *ret)
{
	const unsigned word = w->arch->word_bytes;
	struct code_frame frame = {.sp = (int32_t)word, .saved_ra = (int32_t)word};
	const size_t off = (size_t)(c->ip - m->start);
	struct code_insn in = {0};
	unsigned reg;

	ret->sp = c->sp;
	if (w->arch->code_step(m->bytes + off, m->n - off, &frame, &in) && frame.ra_reg) {
		if (!returns_by(w, *m, c->ip + in.bytes, frame.ra_reg - 1u))
			return false;
		ret->sp += word;
		ret->is_known = walk_word(w, c->sp, word, &ret->ra);
		return true;
	}
	for (reg = 0; reg < REGISTERS; reg++)
		if (reg != DWARF_RBP && reg != DWARF_RSP && returns_by(w, *m, c->ip, reg)) {
			ret->is_known = arch_reg(w->arch, &w->s->user_regs, (uint8_t)reg, &ret->ra);
			return true;
		}
	return false;
}

/* Returns false if the code does not show that there is no frame. */
static bool edge_find(struct walk *w, const struct cursor *c, struct edge *ret)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t taken = 0;
	struct jit_memory m;

	*ret = (struct edge){.fp = c->fp, .is_known = true};
	if (c->is_return_address || !c->sp_known || !w->arch->interpreter_sp_off ||
	    !jit_memory_find(w, c->ip, &m))
		return false;
	if (returns_by_register(w, &m, c, ret))
		return true;
	if (c->ip > m.start && is_push(&m, c->ip - PUSH_BYTES) && is_mov(&m, c->ip)) {
		taken = word;
		ret->is_known = walk_word(w, c->sp, word, &ret->fp);
	} else if (!ends_without_frame(w, m, c->ip, &taken)) {
		return false;
	}
	ret->is_known &= walk_word(w, c->sp + taken, word, &ret->ra);
	ret->sp = c->sp + taken + word;
	return true;
}

bool v8_has_no_frame(struct walk *w, const struct cursor *c)
{
	struct edge edge;

	return edge_find(w, c, &edge);
}

enum unwind_stop v8_edge_step(struct walk *w, struct cursor *c)
{
	struct edge edge;

	if (!edge_find(w, c, &edge) || !edge.is_known ||
	    return_check_jit(w, edge.ra) == RETURN_NONE)
		return UNWIND_STOP_NO_CFI;
	c->ip = edge.ra;
	c->sp = edge.sp;
	c->fp = edge.fp;
	c->how = FRAME_CODE;
	return WALK_ON;
}
