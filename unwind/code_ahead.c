/* code_ahead.c - the frame of code whose function's start is not known, from the path to its
 * return.
 *
 * This is for functions that only pointers lead to, in files without symbols. On every path from a
 * place to the return the code removes from the stack as much as the frame has at that place. */
#include "unwind/code.h"

#include "unwind/return_check.h"

/* Maximum number of instructions that are followed. */
#define AHEAD_STEPS_MAX 1024

/* Maximum number of calls whose functions are followed. */
#define AHEAD_CALLS_MAX 8

/* The assumed initial place of the register. No frame is so large. */
#define AHEAD_PLACE (1 << 30)

struct way {
	struct code_frame frame;
	uint64_t vaddr;
	int32_t saved_fp; /* where the caller's frame pointer was loaded from; 0: not loaded */
	bool fp_lost;	  /* it was overwritten in another way since */
	bool has_called;  /* has called a function that may not return */
	bool switches;	  /* ended in an indirect jump */
	uint8_t calls;	  /* calls that may still be followed */
	uint8_t sp_from;  /* see code_insn */
};

static bool find_return(struct way *way, const struct cfi_module *cm);

/* Follows the function at `vaddr`. Returns true if a path through it returns. *kept: set to 0 if it
 * may have changed that register. */
static bool follow_call(const struct cfi_module *cm, uint64_t vaddr, uint8_t *kept)
{
	struct way way = {.frame = {.sp = AHEAD_PLACE, .kept = AHEAD_PLACE, .kept_reg = *kept},
			  .vaddr = vaddr};

	if (!find_return(&way, cm) || way.frame.sp != AHEAD_PLACE || way.has_called)
		return false;
	*kept = way.frame.kept_reg;
	return true;
}

/* Continues after a call. `from`: the state before it. */
static void go_on_after_call(struct way *way, const struct way *from, const struct cfi_module *cm,
			     const struct code_insn *in)
{
	uint8_t kept = from->frame.kept_reg;

	if (in->target == in->bytes || !way->calls ||
	    !follow_call(cm, from->vaddr + (uint64_t)in->target, &kept)) {
		way->has_called = true;
		kept = 0;
	}
	way->calls -= way->calls > 0;
	way->frame.kept_reg = kept;
}

/* The contents of the stack are not known. So the place that the frame pointer is loaded from is
 * taken as where the caller's is saved. */
static void follow_fp(struct way *to, const struct way *from, int32_t word)
{
	if (to->frame.fp_holds != CODE_FP_OTHER)
		return;
	to->fp_lost = to->frame.sp == from->frame.sp;
	to->saved_fp = to->fp_lost ? 0 : to->frame.sp + word;
	to->frame.fp_holds = CODE_FP_CALLER;
	to->frame.saved_fp = 0;
}

/* Follows one instruction. Returns false if it is not understood, or its target is not known. */
static bool go_on(struct way *way, const struct cfi_module *cm, struct code_insn *in)
{
	const struct way from = *way;

	if (!code_insn_at(cm, way->vaddr, &way->frame, in))
		return false;
	follow_fp(way, &from, cfi_module_arch(cm)->word_bytes);
	if (in->way == CODE_CALL)
		go_on_after_call(way, &from, cm, in);
	if (in->sp_from)
		way->sp_from = in->sp_from;
	way->vaddr += in->way == CODE_JUMP ? (uint64_t)in->target : in->bytes;
	return in->way <= CODE_JUMP || in->way == CODE_RETURN;
}

/* Follows the code to a return. Where it cannot continue, the last branch is taken instead. */
static bool find_return(struct way *way, const struct cfi_module *cm)
{
	struct code_insn in = {0};
	struct way branch = {0};
	unsigned i;

	for (i = 0; i < AHEAD_STEPS_MAX; i++) {
		uint64_t at = way->vaddr;

		if (!go_on(way, cm, &in)) {
			branch.switches |= in.way == CODE_SWITCH && !in.is_by_word;
			branch.calls = way->calls; /* a limit for all paths */
			*way = branch;
			if (!branch.vaddr)
				return false;
			branch.vaddr = 0;
		} else if (in.way == CODE_RETURN) {
			return way->frame.sp >= 0;
		} else if (in.way == CODE_BRANCH) {
			branch = *way;
			branch.vaddr = at + (uint64_t)in.target;
		}
	}
	return false;
}

/* Completes the frame, where the place of one register is known. */
static void fp_set(struct code_frame *f, const struct way *way, int32_t word)
{
	f->saved_ra = word;
	if (way->saved_fp)
		f->saved_fp = way->saved_fp - way->frame.sp + word;
	if (f->fp_holds == CODE_FP_CALLER && (way->saved_fp || way->fp_lost))
		code_fp_set_other(f);
}

/* True if the call before `vaddr` is of a function that returns. */
static bool called_returns(const struct cfi_module *cm, uint64_t vaddr)
{
	size_t n = CALL_BYTES_MAX;
	const uint8_t *code = cfi_module_code_before(cm, vaddr, &n);
	uint64_t target = code ? cfi_module_arch(cm)->call_target(code, n, vaddr) : 0;
	uint8_t kept = 0;

	return target && follow_call(cm, target, &kept);
}

static enum code_ahead ahead_by_sp(const struct cfi_module *cm, uint64_t vaddr, bool is_called,
				   uint8_t *sp_from, struct code_frame *ret)
{
	struct way way = {.frame.sp = AHEAD_PLACE, .vaddr = vaddr, .calls = AHEAD_CALLS_MAX};
	int32_t word = cfi_module_arch(cm)->word_bytes, taken;
	bool returns = find_return(&way, cm);

	*sp_from = way.sp_from;
	if (!returns)
		return way.switches ? CODE_AHEAD_SWITCH : CODE_AHEAD_UNKNOWN;
	taken = AHEAD_PLACE - way.frame.sp;
	/* After a call that does not return another function begins, at whose start nothing has
	 * been pushed. */
	if (taken < 0 || (!taken && (way.has_called || (is_called && !called_returns(cm, vaddr)))))
		return CODE_AHEAD_UNKNOWN;
	*ret = (struct code_frame){.sp = taken + word};
	fp_set(ret, &way, word);
	return CODE_AHEAD_KNOWN;
}

/* For code that sets the stack pointer from the frame pointer: after alloca(). */
static bool ahead_by_fp(const struct cfi_module *cm, uint64_t vaddr, struct code_frame *ret)
{
	struct way way = {.frame = {.sp = -1, .fp = AHEAD_PLACE, .fp_holds = CODE_FP_FRAME},
			  .vaddr = vaddr};
	int32_t word = cfi_module_arch(cm)->word_bytes;

	if (!find_return(&way, cm) || way.frame.sp > AHEAD_PLACE)
		return false;
	*ret = (struct code_frame){
		.sp = -1, .fp = AHEAD_PLACE - way.frame.sp + word, .fp_holds = CODE_FP_FRAME};
	fp_set(ret, &way, word);
	return true;
}

/* For code that has aligned the stack pointer and keeps the previous value in a register. */
static bool ahead_by_register(const struct cfi_module *cm, uint64_t vaddr, uint8_t reg,
			      struct code_frame *ret)
{
	struct way way = {.frame = {.sp = -1, .kept = AHEAD_PLACE, .kept_reg = reg},
			  .vaddr = vaddr,
			  .calls = AHEAD_CALLS_MAX};
	int32_t word = cfi_module_arch(cm)->word_bytes;

	if (!reg || !find_return(&way, cm) || way.frame.sp > AHEAD_PLACE)
		return false;
	*ret = (struct code_frame){
		.sp = -1, .kept = AHEAD_PLACE - way.frame.sp + word, .kept_reg = reg};
	fp_set(ret, &way, word);
	return true;
}

bool code_keeps(const struct cfi_module *cm, uint64_t vaddr, uint8_t reg)
{
	return cfi_module_arch(cm)->code_step && follow_call(cm, vaddr, &reg) && reg;
}

enum code_ahead code_ahead(const struct cfi_module *cm, uint64_t vaddr, bool is_called,
			   struct code_frame *ret)
{
	const struct arch *arch = cfi_module_arch(cm);
	enum code_ahead ahead;
	uint8_t sp_from;

	if (!arch->code_step || arch->ra != arch->pc)
		return CODE_AHEAD_UNKNOWN;
	ahead = ahead_by_sp(cm, vaddr, is_called, &sp_from, ret);
	if (ahead == CODE_AHEAD_KNOWN || ahead_by_fp(cm, vaddr, ret) ||
	    ahead_by_register(cm, vaddr, sp_from, ret))
		return CODE_AHEAD_KNOWN;
	return ahead;
}
