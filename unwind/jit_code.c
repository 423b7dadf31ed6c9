/* jit_code.c - the step by the machine code of a function without a file, whose bytes a jitdump
 * has.
 *
 * HotSpot's compilers keep no frame pointers and write no call frame information, but every place
 * of a method has one frame. Other code of JIT compilers is different (interpreters, stubs with
 * many entries): so only code that direct jumps from the start reach is used, and a return address
 * only after a call. */

#include "base/hash.h"
#include "base/vec.h"
#include "unwind/jit_ahead.h"
#include "unwind/return_check.h"
#include "unwind/walk.h"

/* Arguments of a Java method take at most 255 words (JVMS 4.3.3), twice that when passed on the
 * stack. */
#define ARGUMENT_BYTES_MAX (2 * 255 * 8 + 16)

/* Maximum number of rows of all functions together: one row per byte of code would take 28 times
 * the memory of the jitdump. HotSpot's methods have about ten rows. */
#define ROWS_MAX (2u << 20)

void jit_code_done(struct jit_code *j)
{
	size_t i;

	for (i = 0; i < j->rows.n; i++)
		code_rows_done(&j->rows.v[i]);
	vec_done(&j->rows);
	hash_done(&j->by_code);
}

/* The rows of a function. NULL: out of memory, or ROWS_MAX reached. Valid until the next call; the
 * frames in it as long as the worker. */
static const struct code_rows *rows_of(struct jit_code *j, const struct arch *arch,
				       const struct jit_unwind_info *info)
{
	const struct code_of of = {info->code, info->end - info->start, CODE_OF_JIT, NULL, 0};
	const struct code_frame entry = arch_entry_frame(arch);
	uint32_t i = hash_get(&j->by_code, (uintptr_t)info->code);
	uint64_t steps = UINT64_MAX; /* not limited: functions do not overlap */
	struct code_rows rows;

	if (i != HASH_NONE)
		return &j->rows.v[i];
	if (j->n_rows >= ROWS_MAX || code_rows_find(arch->code_step, &of, &entry, &steps, &rows))
		return NULL;
	if (vec_push(&j->rows, rows)) {
		code_rows_done(&rows);
		return NULL;
	}
	j->n_rows += rows.n;
	/* On failure the function will be analyzed again. */
	(void)hash_put(&j->by_code, (uintptr_t)info->code, (uint32_t)j->rows.n - 1);
	return &j->rows.v[j->rows.n - 1];
}

/* The frame before the instruction at `ip`; NULL: not known. */
static const struct code_frame *frame_at(struct walk *w, const struct jit_unwind_info *info,
					 uint64_t ip)
{
	const struct code_rows *rows = w->arch->code_step && info->code && !info->swap
					       ? rows_of(&w->worker->jit_code, w->arch, info)
					       : NULL;

	return rows ? code_rows_at(rows, ip - info->start) : NULL;
}

/* Interpreters push a return address themselves and jump to a method. But code that is reached from
 * the start of a function is left by calls only. */
enum return_check return_check_jit(struct walk *w, uint64_t ra)
{
	enum return_check known = return_check(w, ra);
	struct jit_unwind_info info;
	struct jit_memory m;
	size_t n;

	if (known != RETURN_MAP)
		return known;
	if (!jit_info_find(w, ra - 1, &info)) {
		if (!jit_memory_find(w, ra - 1, &m))
			return known;
		n = ra - m.start < CALL_BYTES_MAX ? ra - m.start : CALL_BYTES_MAX;
		if (!jit_memory_is_sure(&m, ra - n, n))
			return known;
		return w->arch->ends_in_call(m.bytes + (ra - m.start), n) ? RETURN_CALL
									  : RETURN_NONE;
	}
	if (!info.code)
		return known;
	n = ra - info.start < CALL_BYTES_MAX ? ra - info.start : CALL_BYTES_MAX;
	if (w->arch->ends_in_call(info.code + (ra - info.start), n))
		return RETURN_CALL;
	if (hotspot_returns_without_call(&info, ra))
		return RETURN_MAP;
	return frame_at(w, &info, ra) ? RETURN_NONE : RETURN_MAP;
}

/* True if the frame at `sp` holds a return address at the place that its code shows. */
static bool holds_return(struct walk *w, const struct code_frame *f, uint64_t sp)
{
	uint64_t ra;

	return walk_word(w, sp + (uint32_t)f->sp - (uint32_t)f->saved_ra, w->arch->word_bytes,
			 &ra) &&
	       return_check_jit(w, ra) != RETURN_NONE;
}

/* HotSpot's adapters lower the stack pointer of a compiled method when it calls an interpreted one.
 * The interpreter saves the value from before in the word below its frame record (frame_x86.hpp:
 * interpreter_frame_sender_sp_offset). */
uint64_t jit_caller_sp(struct walk *w, const struct cursor *c, uint64_t ra)
{
	uint64_t above = c->fp + 2 * (uint64_t)w->arch->word_bytes, sp;
	const struct code_frame *f = NULL;
	struct jit_unwind_info info;

	if (jit_info_find(w, c->ip - c->is_return_address, &info) && info.code &&
	    jit_info_find(w, ra - 1, &info))
		f = frame_at(w, &info, ra - 1);
	if (!f)
		return jit_sender_sp(w, c->fp);
	if (!w->arch->interpreter_sp_off ||
	    !walk_word(w, c->fp + (uint64_t)(int64_t)w->arch->interpreter_sp_off, 8, &sp) ||
	    sp <= above || sp - above > ARGUMENT_BYTES_MAX || sp % 8)
		return above;
	return f->sp >= 0 && holds_return(w, f, sp) ? sp : above;
}

bool jit_goes_by_fp(struct walk *w, uint64_t ip)
{
	const struct code_frame *f;
	struct jit_unwind_info info;
	struct rule rule;

	if (!jit_info_find(w, ip, &info))
		return true;
	if (jit_rule(&info, w->arch, ip, &rule))
		return rule.kind == RULE_FP;
	f = frame_at(w, &info, ip);
	return !f || f->fp_holds == CODE_FP_FRAME;
}

enum unwind_stop jit_rows_step(struct walk *w, struct cursor *c, const struct jit_unwind_info *info)
{
	const struct code_frame *f = frame_at(w, info, c->ip - c->is_return_address);
	struct cursor caller;

	if (!f || code_caller(w, c, f, &caller) != WALK_ON ||
	    return_check_jit(w, caller.ip) == RETURN_NONE)
		return UNWIND_STOP_NO_CFI;
	*c = caller;
	return WALK_ON;
}

enum unwind_stop jit_code_step(struct walk *w, struct cursor *c, bool *has_fp)
{
	uint64_t ip = c->ip - c->is_return_address;
	const struct code_frame *f;
	struct jit_unwind_info info;
	struct cursor caller;
	enum unwind_stop stop;

	f = jit_info_find(w, ip, &info) ? frame_at(w, &info, ip) : NULL;
	*has_fp = !f || f->fp_holds == CODE_FP_FRAME;
	if (!f)
		return UNWIND_STOP_NO_CFI;
	stop = code_caller(w, c, f, &caller);
	if (stop != WALK_ON)
		return stop;
	if (return_check_jit(w, caller.ip) == RETURN_NONE)
		return UNWIND_STOP_NO_CFI;
	*c = caller;
	return WALK_ON;
}
