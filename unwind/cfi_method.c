/* cfi_method.c - the unwinding method on our own tables. */
#include <stdlib.h>

#include "unwind/walk.h"

static void worker_done(void *state)
{
	struct cfi_worker *worker = state;

	if (!worker)
		return;
	rule_cache_done(&worker->cache);
	free(worker);
}

static int worker_init(void **state, struct modules *modules, const struct unwind_options *opt,
		       struct err *err)
{
	struct cfi_worker *worker = calloc(1, sizeof *worker);

	if (!worker || rule_cache_init(&worker->cache)) {
		free(worker);
		return err_nomem(err);
	}
	worker->modules = modules;
	worker->no_guess = opt->no_guess;
	worker->archs[PERF_REGS_ABI_32_] = arch_find(opt->arch, PERF_REGS_ABI_32_);
	worker->archs[PERF_REGS_ABI_64_] = arch_find(opt->arch, PERF_REGS_ABI_64_);
	*state = worker;
	return 0;
}

static void all_registers_get(const struct walk *w, struct regs *regs)
{
	uint64_t mask;
	unsigned bit, i = 0;

	*regs = (struct regs){0};
	for (mask = w->s->user_regs.mask; mask; mask &= mask - 1, i++) {
		bit = (unsigned)__builtin_ctzll(mask);
		if (w->arch->perf_to_dwarf[bit] < 0)
			continue;
		regs->v[w->arch->perf_to_dwarf[bit]] = w->s->user_regs.regs[i];
		regs->known |= 1ull << w->arch->perf_to_dwarf[bit];
	}
}

static enum unwind_stop worker_run(void *state, const struct perf_sample *s,
				   struct frame_sink *sink)
{
	struct cfi_worker *worker = state;
	struct walk w = {.worker = worker, .s = s, .sink = sink, .stack = s->user_stack};
	struct cursor c = {.how = FRAME_SAMPLE};
	size_t n_before = sink->n;
	enum unwind_stop stop;
	struct regs regs;

	w.arch = s->user_regs.abi <= PERF_REGS_ABI_64_ ? worker->archs[s->user_regs.abi] : NULL;
	if (!w.arch)
		return UNWIND_STOP_UNSUPPORTED;
	if (!arch_reg(w.arch, &s->user_regs, w.arch->pc, &c.ip) ||
	    !arch_reg(w.arch, &s->user_regs, w.arch->sp, &c.sp))
		return UNWIND_STOP_NO_REGS;
	c.fp_known = arch_reg(w.arch, &s->user_regs, w.arch->fp, &c.fp);
	w.space_no = rule_cache_space(&worker->cache, address_space_layout(s->space));
	w.memory =
		(struct memory){s, worker->modules, c.sp, s->user_stack_bytes, w.arch->word_bytes};
	w.n_word_starts = s->user_stack_bytes >= 8 ? s->user_stack_bytes - 7u : 0;
	if (w.arch->word_bytes == 8 && w.arch->ra == w.arch->pc) {
		stop = walk_fast(&w, c);
		if (stop != WALK_NEEDS_ALL)
			return stop;
		sink->n = n_before;
	}
	all_registers_get(&w, &regs);
	return walk_full(&w, &regs);
}

const struct unwind_method_ops unwind_cfi_ops = {
	.name = "cfi",
	.init = worker_init,
	.run = worker_run,
	.done = worker_done,
};
