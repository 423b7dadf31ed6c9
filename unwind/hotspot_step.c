/* hotspot_step.c - the step from code of HotSpot, whose own tables the recording holds: the size of
 * frames, which is exact, and of interpreter frames the method and the place in its bytecode.
 *
 * Sources of truth: frame_x86.hpp, frame_x86.inline.hpp (sender_for_compiled_frame(),
 * sender_for_interpreter_frame()), templateInterpreterGenerator_x86.cpp (registers at a method's
 * entry: rbx the method, r13 the caller's stack pointer; later r13 is the place in the bytecode).
 */
#include "unwind/return_check.h"

/* Words of an interpreter frame, as offsets from its record. */
enum { SENDER_SP = -1, METHOD = -3 };
/* The place in the bytecode: since release 9, and before. */
static const int bcp_words[] = {-8, -7};

/* DWARF numbers (psABI AMD64 3.6.2). */
enum { RAX = 0, RBX = 3, R13 = 13 };

/* A frame holds at most 65,535 locals (JVMS 4.11), but rarely this much. */
#define FRAME_BYTES_MAX (64u << 10)

/* The handlers for exceptions and for frames to rebuild are the last code of a method. */
#define HANDLERS_BYTES_MAX 96

bool hotspot_returns_without_call(const struct jit_unwind_info *info, uint64_t ra)
{
	switch ((enum jit_frame_kind)info->frame_kind) {
	case JIT_FRAME_INTERPRETER:
	case JIT_FRAME_INTERPRETER_ENTRY:
		return true;
	case JIT_FRAME_COMPILED:
		return info->end - ra <= HANDLERS_BYTES_MAX;
	default:
		return false;
	}
}

static bool is_leaf(const struct cursor *c)
{
	return !c->is_return_address;
}

static bool word_at(struct walk *w, uint64_t base, int words, uint64_t *ret)
{
	return walk_word(w, base + (uint64_t)((int64_t)words * 8), 8, ret);
}

/* The frame that was pushed last runs the method: names and lines are those of its bytecode. */
static void name_frame(struct walk *w, uint64_t ip)
{
	struct frame *f = &w->next[-1];

	f->ip = ip;
	f->is_return_address = false;
	f->place_id = 0;
}

/* True for a stack address at or not far above `sp`. */
static bool is_near(uint64_t sp, uint64_t at)
{
	return at % 8 == 0 && at >= sp && at - sp <= FRAME_BYTES_MAX;
}

static enum unwind_stop arrive(struct walk *w, struct cursor *c, uint64_t ra, uint64_t sp,
			       uint64_t fp)
{
	if (return_check_jit(w, ra) == RETURN_NONE || sp < c->sp + !is_leaf(c))
		return UNWIND_STOP_NO_CFI;
	c->ip = ra;
	c->sp = sp;
	c->sp_known = true;
	c->fp = fp;
	c->fp_known = true;
	c->how = FRAME_CFI;
	return WALK_ON;
}

/* ---- the interpreter ---------------------------------------------------------------------- */

/* The method that the frame with this record runs. */
static bool runs_method(struct walk *w, uint64_t fp, uint64_t *method, uint64_t *start,
			uint64_t *end)
{
	return word_at(w, fp, METHOD, method) && jit_bytecode_find(w, *method, start, end);
}

/* Where in its bytecode it is: the register, while nothing was called, or the word that it was
 * saved to. */
static uint64_t bytecode_place(struct walk *w, const struct cursor *c, uint64_t start, uint64_t end)
{
	uint64_t at;

	if (is_leaf(c) && arch_reg(w->arch, &w->s->user_regs, R13, &at) && at >= start && at < end)
		return at;
	for (size_t i = 0; i < sizeof bcp_words / sizeof *bcp_words; i++)
		if (word_at(w, c->fp, bcp_words[i], &at) && at >= start && at < end)
			return at;
	return start;
}

static enum unwind_stop interpreter_step(struct walk *w, struct cursor *c)
{
	uint64_t method, start, end, ra, sp, fp;
	const uint64_t record = c->fp;
	bool is_known;
	enum unwind_stop stop;

	if (!c->fp_known || record % 8 || (c->sp_known && record < c->sp))
		return UNWIND_STOP_NO_CFI;
	is_known = runs_method(w, record, &method, &start, &end);
	if (!word_at(w, record, SENDER_SP, &sp) || !word_at(w, record, 0, &fp) ||
	    !word_at(w, record, 1, &ra))
		return is_known ? walk_read_stop(w, record + 8) : UNWIND_STOP_NO_CFI;
	if (sp <= record || sp - record > FRAME_BYTES_MAX || sp % 8) {
		if (!is_known)
			return UNWIND_STOP_NO_CFI;
		sp = record + 16;
	}
	start = is_known ? bytecode_place(w, c, start, end) : 0;
	stop = arrive(w, c, ra, sp, fp);
	if (stop == WALK_ON && is_known)
		name_frame(w, start);
	return stop;
}

/* The record at the frame pointer is that of the method being entered: then it is below the stack
 * pointer that the caller had, which is in r13 or, once that register has its later use, was
 * pushed. */
static bool entry_record(struct walk *w, const struct cursor *c, uint64_t r13, uint64_t *sender)
{
	if (c->fp < c->sp || c->fp % 8)
		return false;
	*sender = r13;
	if (r13 > c->fp && r13 - c->fp <= FRAME_BYTES_MAX && r13 % 8 == 0)
		return true;
	return !is_near(c->sp, r13) && word_at(w, c->fp, SENDER_SP, sender) && *sender > c->fp &&
	       *sender - c->fp <= FRAME_BYTES_MAX && *sender % 8 == 0;
}

/* At a method's entry the frame is not made yet, or is being made: the record may be the caller's.
 */
static enum unwind_stop entry_step(struct walk *w, struct cursor *c)
{
	uint64_t method, running, start, end, r13, sp, ra[3], fp = c->fp;
	const struct perf_regs *regs = &w->s->user_regs;
	size_t n = 0;

	if (!is_leaf(c) || !c->fp_known || !arch_reg(w->arch, regs, R13, &r13) ||
	    !arch_reg(w->arch, regs, RBX, &method) ||
	    (runs_method(w, fp, &running, &start, &end) && r13 >= start && r13 < end))
		return interpreter_step(w, c);
	if (entry_record(w, c, r13, &sp) && word_at(w, c->fp, 1, &ra[0]) &&
	    word_at(w, c->fp, 0, &fp)) {
		n = 1;
	} else if (is_near(c->sp, r13)) {
		sp = r13;
		n += walk_word(w, c->sp, 8, &ra[n]);
		n += walk_word(w, sp - 8, 8, &ra[n]);
		n += arch_reg(w->arch, regs, RAX, &ra[n]);
	}
	for (size_t i = 0; i < n; i++)
		if (arrive(w, c, ra[i], sp, fp) == WALK_ON) {
			if (jit_bytecode_find(w, method, &start, &end))
				name_frame(w, start);
			return WALK_ON;
		}
	return UNWIND_STOP_NO_CFI;
}

/* ---- code between the two ----------------------------------------------------------------- */

/* Adapters take the return address from the stack, move the stack pointer, and put it back. Into
 * compiled code the caller is the interpreter, which goes by its record; out of it r13 is the stack
 * pointer that the compiled caller had. */
static enum unwind_stop adapter_step(struct walk *w, struct cursor *c)
{
	const struct perf_regs *regs = &w->s->user_regs;
	uint64_t ra[2], r13, sp;
	size_t n = 0;

	if (!is_leaf(c) || !c->sp_known)
		return UNWIND_STOP_NO_CFI;
	n += walk_word(w, c->sp, 8, &ra[n]);
	n += arch_reg(w->arch, regs, RAX, &ra[n]);
	for (size_t i = 0; i < n; i++) {
		sp = i ? c->sp : c->sp + 8;
		if (arch_reg(w->arch, regs, R13, &r13) && is_near(sp, r13))
			sp = r13;
		if (return_check_jit(w, ra[i]) != RETURN_NONE)
			return arrive(w, c, ra[i], sp, c->fp);
	}
	return UNWIND_STOP_NO_CFI;
}

/* ---- compiled code and stubs -------------------------------------------------------------- */

/* Frames keep the caller's frame pointer below the return address. */
static enum unwind_stop sized_step(struct walk *w, struct cursor *c,
				   const struct jit_unwind_info *info)
{
	const uint64_t cfa = c->sp + info->frame_bytes;
	uint64_t ra, fp;

	if (!info->frame_bytes || !c->sp_known)
		return UNWIND_STOP_NO_CFI;
	if (info->frame_bytes == 8) /* nothing but the return address */
		return walk_word(w, c->sp, 8, &ra) ? arrive(w, c, ra, cfa, c->fp)
						   : walk_read_stop(w, c->sp);
	if (!walk_word(w, cfa - 8, 8, &ra) || !walk_word(w, cfa - 16, 8, &fp))
		return walk_read_stop(w, cfa - 8);
	return arrive(w, c, ra, cfa, fp);
}

/* A virtual thread that goes on has only its last frames on the stack: the others are in the heap
 * until the last of these returns, to the beginning of a stub (stackChunkOop.hpp;
 * StubRoutines::cont_returnBarrier()). Nothing else returns to where no call is before. */
static bool is_return_barrier(const struct walk *w, const struct cursor *c,
			      const struct jit_unwind_info *info)
{
	const uint64_t before = c->ip - info->start;

	return info->frame_kind == JIT_FRAME_STUB && !info->frame_bytes && info->code &&
	       !w->arch->ends_in_call(info->code + before,
				      before < CALL_BYTES_MAX ? before : CALL_BYTES_MAX);
}

/* Before the frame is complete, and when it is left, the machine code says where it is. */
static enum unwind_stop compiled_step(struct walk *w, struct cursor *c,
				      const struct jit_unwind_info *info)
{
	if (!is_leaf(c) && is_return_barrier(w, c, info))
		w->next[-1] = (struct frame){.how = FRAME_OTHER_STACK};
	if (!is_leaf(c))
		return sized_step(w, c, info);
	if (jit_rows_step(w, c, info) == WALK_ON)
		return WALK_ON;
	return c->ip - info->start >= info->complete_bytes ? sized_step(w, c, info)
							   : UNWIND_STOP_NO_CFI;
}

static enum unwind_stop record_step(struct walk *w, struct cursor *c)
{
	uint64_t ra, fp;

	if (is_leaf(c) || !c->fp_known || c->fp % 8 || !word_at(w, c->fp, 0, &fp) ||
	    !word_at(w, c->fp, 1, &ra))
		return UNWIND_STOP_NO_CFI;
	return arrive(w, c, ra, c->fp + 16, fp);
}

enum unwind_stop hotspot_step(struct walk *w, struct cursor *c, const struct jit_unwind_info *info)
{
	/* Registers and frames are those of x86-64. */
	if (!w->arch->interpreter_sp_off)
		return UNWIND_STOP_NO_CFI;
	switch ((enum jit_frame_kind)info->frame_kind) {
	case JIT_FRAME_COMPILED:
	case JIT_FRAME_STUB:
		return compiled_step(w, c, info);
	case JIT_FRAME_INTERPRETER:
		return interpreter_step(w, c);
	case JIT_FRAME_INTERPRETER_ENTRY:
		return entry_step(w, c);
	case JIT_FRAME_ADAPTER:
		return adapter_step(w, c);
	case JIT_FRAME_RECORD:
		return record_step(w, c);
	default:
		return UNWIND_STOP_NO_CFI;
	}
}
