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
	worker->registers[PERF_REGS_ABI_32_].arch = arch_find(opt->arch, PERF_REGS_ABI_32_);
	worker->registers[PERF_REGS_ABI_64_].arch = arch_find(opt->arch, PERF_REGS_ABI_64_);
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

static int8_t register_index(const struct arch *arch, uint64_t mask, unsigned dwarf_reg)
{
	int bit = arch->dwarf_to_perf[dwarf_reg];

	if (!(mask >> bit & 1))
		return -1;
	return (int8_t)__builtin_popcountll(mask & ((1ull << bit) - 1));
}

/* Sets up the walk of one sample. WALK_ON, or why it cannot be walked. */
static enum unwind_stop walk_begin(struct walk *w, struct cfi_worker *worker,
				   const struct perf_sample *s, struct frame_sink *sink)
{
	struct cfi_registers *r = s->user_regs.abi <= PERF_REGS_ABI_64_
					  ? &worker->registers[s->user_regs.abi]
					  : worker->registers;
	const struct arch *arch = r->arch;
	struct cursor *c = &w->c;

	if (!arch)
		return UNWIND_STOP_UNSUPPORTED;
	if (r->mask != s->user_regs.mask) {
		r->mask = s->user_regs.mask;
		r->pc = register_index(arch, r->mask, arch->pc);
		r->sp = register_index(arch, r->mask, arch->sp);
		r->fp = register_index(arch, r->mask, arch->fp);
	}
	if (r->pc < 0 || r->sp < 0)
		return UNWIND_STOP_NO_REGS;
	*c = (struct cursor){.how = FRAME_SAMPLE, .fp_known = r->fp >= 0};
	c->ip = s->user_regs.regs[r->pc];
	c->sp = s->user_regs.regs[r->sp];
	if (c->fp_known)
		c->fp = s->user_regs.regs[r->fp];
	w->worker = worker;
	w->s = s;
	w->arch = arch;
	w->sink = sink;
	w->n_before = sink->n;
	w->space_key = rule_cache_space(&worker->cache, address_space_layout(s->space));
	w->code_mask = arch_code_mask(arch, s->space);
	w->memory =
		(struct memory){s, worker->modules, c->sp, s->user_stack_bytes, arch->word_bytes};
	w->stack = s->user_stack;
	w->n_word_starts = s->user_stack_bytes >= 8 ? s->user_stack_bytes - 7u : 0;
	return WALK_ON;
}

static void worker_run_batch(void *state, const struct perf_sample *const *samples, size_t n,
			     struct frame_sink *sinks, enum unwind_stop *stops)
{
	struct cfi_worker *worker = state;
	struct walk *fast[UNWIND_BATCH], *w;
	size_t n_fast = 0, i;
	struct regs regs;

	rule_cache_reserve(&worker->cache, n);
	for (i = 0; i < n; i++) {
		w = &worker->walks[i];
		w->stop = walk_begin(w, worker, samples[i], &sinks[i]);
		if (w->stop != WALK_ON)
			continue;
		/* The fast walk has words of 8 bytes and return addresses on the stack. */
		if (w->arch->word_bytes == 8 && w->arch->ra == w->arch->pc)
			fast[n_fast++] = w;
		else
			w->stop = WALK_NEEDS_ALL;
	}
	walk_fast(fast, n_fast);
	for (i = 0; i < n; i++) {
		w = &worker->walks[i];
		if (w->stop == WALK_NEEDS_ALL) {
			sinks[i].n = w->n_before;
			all_registers_get(w, &regs);
			w->stop = walk_full(w, &regs);
		}
		stops[i] = w->stop;
	}
}

const struct unwind_method_ops unwind_cfi_ops = {
	.name = "cfi",
	.init = worker_init,
	.run_batch = worker_run_batch,
	.done = worker_done,
};
