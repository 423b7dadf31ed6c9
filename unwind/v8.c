/* v8.c - where code of V8 has no frame of its own yet, or not any more.
 *
 * All of its functions keep frame pointers, so that bytes of code tell nothing else. Functions
 * begin with PUSH %rbp; MOV %rsp, %rbp, some behind checks that leave by a branch, and end with POP
 * %rbp; RET. Between these the record at the frame pointer is the caller's. A call of compiled code
 * by compiled code leaves no other trace of that (jit_owner.c has what a register may show). */
#include <string.h>

#include "functions/functions.h"
#include "unwind/jit_ahead.h"
#include "unwind/return_check.h"

/* Instructions before a frame is made, and between its end and the return. */
enum { EDGE_INSNS_MAX = 8 };

/* The assumed initial place of the stack pointer. */
#define PLACE (1 << 30)

/* Intel SDM: PUSH %rbp, and both forms of MOV %rsp, %rbp. */
enum { PUSH_RBP = 0x55, PUSH_BYTES = 1, MOV_BYTES = 3 };

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

enum unwind_stop v8_edge_step(struct walk *w, struct cursor *c)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t taken = 0, fp = c->fp, ra;
	struct jit_memory m;

	if (c->is_return_address || !c->sp_known || !w->arch->interpreter_sp_off ||
	    !jit_memory_find(w, c->ip, &m))
		return UNWIND_STOP_NO_CFI;
	if (c->ip > m.start && is_push(&m, c->ip - PUSH_BYTES) && is_mov(&m, c->ip)) {
		taken = word;
		if (!walk_word(w, c->sp, word, &fp))
			return UNWIND_STOP_NO_CFI;
	} else if (!ends_without_frame(w, m, c->ip, &taken)) {
		return UNWIND_STOP_NO_CFI;
	}
	if (!walk_word(w, c->sp + taken, word, &ra) || return_check_jit(w, ra) == RETURN_NONE)
		return UNWIND_STOP_NO_CFI;
	c->ip = ra;
	c->sp += taken + word;
	c->fp = fp;
	c->how = FRAME_CODE;
	return WALK_ON;
}
