/* fp.c - frame pointers in the stack copy: every frame record is {caller's frame pointer, return
 * address} (psABI AMD64 3.2.2, AAPCS64 6.4.6). Correct for code that keeps frame pointers, except
 * that the caller is skipped if a function was interrupted before it had set up its own. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/err.h"
#include "unwind/arch.h"
#include "unwind/memory.h"
#include "unwind/method.h"

struct fp_state {
	struct modules *modules;
	const char *arch_name;
	struct signal_returns signal_returns;
};

static int fp_init(void **state, struct modules *modules, const struct unwind_options *opt,
		   struct err *err)
{
	struct fp_state *st = calloc(1, sizeof *st);

	if (!st)
		return err_nomem(err);
	*st = (struct fp_state){modules, opt->arch, {.modules = modules}};
	*state = st;
	return 0;
}

static void fp_done(void *state)
{
	free(state);
}

static enum unwind_stop fp_run(void *state, const struct perf_sample *s, struct frame_sink *sink)
{
	struct fp_state *st = state;
	const struct arch *arch = arch_find(st->arch_name, s->user_regs.abi);
	struct frame f = {.how = FRAME_SAMPLE};
	uint64_t fp, next, low;
	struct memory mem;

	if (!arch)
		return UNWIND_STOP_UNSUPPORTED;
	mem = memory_of(s, st->modules, arch);
	low = mem.sp;
	if (!arch_reg(arch, &s->user_regs, arch->pc, &f.ip) ||
	    !arch_reg(arch, &s->user_regs, arch->fp, &fp))
		return UNWIND_STOP_NO_REGS;
	for (;;) {
		signal_returns_place(&st->signal_returns, s->space, &f);
		/* The sample's own address is certain. A return address outside of code is not
		 * one. */
		if (f.is_return_address && (!f.map || !(f.map->prot & PROT_EXEC)))
			return UNWIND_STOP_NO_MAP;
		if (sink->n == sink->max)
			return UNWIND_STOP_DEPTH;
		sink->frames[sink->n++] = f;
		if (!fp)
			return UNWIND_STOP_END;
		if (fp < low || fp % arch->word_bytes)
			return UNWIND_STOP_LOOP;
		if (!memory_read_stack(&mem, fp + arch->word_bytes, &f.ip) ||
		    !memory_read_stack(&mem, fp, &next))
			return memory_is_cut_before(&mem, fp + arch->word_bytes)
				       ? UNWIND_STOP_TRUNCATED_STACK
				       : UNWIND_STOP_BAD_MEMORY;
		f.ip &= arch_code_mask(arch, s->space);
		if (!f.ip)
			return UNWIND_STOP_END;
		f.is_return_address = true;
		f.how = FRAME_FRAME_POINTER;
		low = fp + 1;
		fp = next;
	}
}

const struct unwind_method_ops unwind_fp_ops = {
	.init = fp_init,
	.run = fp_run,
	.done = fp_done,
};
