/* sljit.c - fast calls of sljit's code, as compiled patterns of PCRE2 have many of.
 *
 * Such a function has no frame: it begins with POP disp(%rsp), which moves its return address into
 * the frame of its caller, and leaves by MOV disp(%rsp), %rax; PUSH %rax; RET (sljitLir.h,
 * sljit_emit_op_dst with SLJIT_FAST_ENTER, sljit_emit_op_src with SLJIT_FAST_RETURN). In between
 * the stack pointer is the caller's. */
#include <string.h>

#include "functions/functions.h"
#include "unwind/jit_ahead.h"
#include "unwind/return_check.h"

/* Instructions up to the return, and how far behind its start a function may be left. */
enum { INSNS_MAX = 128, BYTES_MAX = 4096 };

/* sljit has the word at the stack pointer, and the next one, for this. */
enum { SLOT_MAX = 8 };

/* The assumed initial place of the stack pointer. */
#define PLACE (1 << 30)

/* Intel SDM: an instruction with the operand disp8(%rsp), or (%rsp). */
struct slot {
	uint8_t disp;
	unsigned bytes; /* of the instruction; 0: it is another one */
};

/* `op`: n bytes up to the ModRM byte, whose form without a displacement is modrm. */
static struct slot slot_of(const uint8_t *code, size_t left, const char *op, size_t n,
			   uint8_t modrm)
{
	if (left < n + 3 || memcmp(code, op, n) != 0 || code[n + 1] != 0x24)
		return (struct slot){0};
	if (code[n] == modrm)
		return (struct slot){0, (unsigned)n + 2};
	return code[n] == (modrm | 0x40) ? (struct slot){code[n + 2], (unsigned)n + 3}
					 : (struct slot){0};
}

static bool is_there(struct walk *w, struct jit_memory *m, uint64_t at)
{
	return at - m->start < m->n || jit_memory_find(w, at, m);
}

/* True if the code comes to such a return. The address may be in the register already. */
static bool returns_fast(struct walk *w, struct jit_memory m, uint64_t at)
{
	struct code_frame frame = {.sp = PLACE};
	bool is_loaded = true;

	for (int i = 0; i < INSNS_MAX && is_there(w, &m, at); i++) {
		const size_t off = (size_t)(at - m.start), left = m.n - off;
		const uint8_t *code = m.bytes + off;
		struct code_insn in = {0};

		if (is_loaded && left >= 2 && code[0] == 0x50 && code[1] == 0xc3)
			return jit_memory_is_sure(&m, at, 2);
		if (!w->arch->code_step(code, left, &frame, &in) ||
		    !jit_memory_is_sure(&m, at, in.bytes) || frame.sp != PLACE ||
		    (in.way != CODE_ON && in.way != CODE_BRANCH && in.way != CODE_JUMP))
			return false;
		is_loaded |= slot_of(code, left, "\x48\x8b", 2, 0x04).bytes != 0;
		at += in.way == CODE_JUMP ? (uint64_t)in.target : in.bytes;
	}
	return false;
}

/* The function that the call before `ra` leads to, if it begins as a fast one, and not far before
 * `ip`: *disp, where it has put its return address. */
static bool is_fast(struct walk *w, uint64_t ra, uint64_t ip, uint8_t *disp)
{
	uint64_t target;
	struct jit_memory m;
	struct slot pop;

	if (return_check_jit(w, ra) != RETURN_CALL || !jit_memory_find(w, ra - 1, &m) ||
	    ra - m.start < CALL_BYTES_MAX)
		return false;
	target = w->arch->call_target(m.bytes + (ra - m.start), CALL_BYTES_MAX, ra);
	if (!target || ip <= target || ip - target > BYTES_MAX || !jit_memory_find(w, target, &m))
		return false;
	pop = slot_of(m.bytes + (target - m.start), m.n - (size_t)(target - m.start), "\x8f", 1,
		      0x04);
	*disp = pop.disp;
	return pop.bytes && jit_memory_is_sure(&m, target, pop.bytes);
}

bool sljit_fast_caller(struct walk *w, const struct cursor *c, struct cursor *caller)
{
	struct jit_memory m;
	uint64_t ra;
	uint8_t disp;

	if (c->is_return_address || !c->sp_known || w->arch->word_bytes != 8 ||
	    !w->arch->interpreter_sp_off || !jit_memory_find(w, c->ip, &m) ||
	    !returns_fast(w, m, c->ip))
		return false;
	for (unsigned at = 0; at <= SLOT_MAX; at += 8) {
		if (!walk_word(w, c->sp + at, 8, &ra) || !is_fast(w, ra, c->ip, &disp) ||
		    disp != at)
			continue;
		*caller = *c;
		caller->ip = ra;
		caller->how = FRAME_CODE;
		return true;
	}
	return false;
}
