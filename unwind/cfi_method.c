/* cfi_method.c - the unwinding method on our own tables. */
#include <stdlib.h>

#include "base/err.h"
#include "reader/reader.h"
#include "unwind/walk.h"

static void worker_done(void *state)
{
	struct cfi_worker *worker = state;

	if (!worker)
		return;
	rule_cache_done(&worker->cache);
	jit_code_done(&worker->jit_code);
	jit_ahead_done(&worker->jit_ahead);
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
	worker->jitdumps.codes = opt->jit;
	worker->registers[PERF_REGS_ABI_32_].arch = arch_find(opt->arch, PERF_REGS_ABI_32_);
	worker->registers[PERF_REGS_ABI_64_].arch = arch_find(opt->arch, PERF_REGS_ABI_64_);
	worker->full_only = opt->method == UNWIND_FULL || opt->registers;
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

/* 64-bit programs may run 32-bit code, as Wine does: a rule is valid for one of them only. And
 * rules cached for JIT code without a description are wrong once there is a description. */
static uint64_t cache_layout(const struct walk *w)
{
	return address_space_layout(w->s->space) << 2 | (uint64_t)w->is_described << 1 |
	       (w->arch->word_bytes == 8);
}

/* Sets up the walk of one sample. Returns WALK_ON, or why the sample cannot be walked. */
static enum unwind_stop walk_begin(struct walk *w, struct cfi_worker *worker,
				   const struct perf_sample *s, struct frame_sink *sink)
{
	struct cfi_registers *r = s->user_regs.abi <= PERF_REGS_ABI_64_
					  ? &worker->registers[s->user_regs.abi]
					  : worker->registers;
	const struct arch *arch = r->arch;
	struct cursor *c = &w->c;

	w->sink = sink;
	w->frames = w->next = sink->frames + sink->n;
	w->frames_end = sink->frames + sink->max;
	w->next_place = sink->places ? sink->places + sink->n : NULL;
	if (!arch)
		return UNWIND_STOP_UNSUPPORTED;
	if (r->mask != s->user_regs.mask) {
		r->mask = s->user_regs.mask;
		r->pc = register_index(arch, r->mask, arch->pc);
		r->sp = register_index(arch, r->mask, arch->sp);
		r->fp = register_index(arch, r->mask, arch->fp);
		r->lr = arch->ra == arch->pc ? -1 : register_index(arch, r->mask, arch->ra);
	}
	if (r->pc < 0 || r->sp < 0)
		return UNWIND_STOP_NO_REGS;
	*c = (struct cursor){.sp_known = true,
			     .fp_known = r->fp >= 0,
			     .lr_known = r->lr >= 0,
			     .how = FRAME_SAMPLE};
	c->ip = s->user_regs.regs[r->pc];
	c->sp = s->user_regs.regs[r->sp];
	if (c->fp_known)
		c->fp = s->user_regs.regs[r->fp];
	if (c->lr_known)
		c->lr = s->user_regs.regs[r->lr];
	w->worker = worker;
	w->s = s;
	w->arch = arch;
	w->is_described = worker->jitdumps.codes && jit_codes_describe(worker->jitdumps.codes, s);
	w->space_key = rule_cache_space(&worker->cache, cache_layout(w));
	w->jit.is_known = false;
	w->code_mask = arch_code_mask(arch, s->space);
	w->memory =
		(struct memory){s, worker->modules, c->sp, s->user_stack_bytes, arch->word_bytes};
	w->stack = s->user_stack;
	w->copy_bias = (uintptr_t)s->user_stack - c->sp;
	w->n_word_starts = s->user_stack_bytes >= arch->word_bytes
				   ? s->user_stack_bytes - arch->word_bytes + 1u
				   : 0;
	return WALK_ON;
}

/* Starts again at the first frame, with all registers. */
static enum unwind_stop walk_again(struct walk *w)
{
	struct frame_sink *sink = w->sink;
	struct regs regs;

	w->next = sink->frames + sink->n;
	w->next_place = sink->places ? sink->places + sink->n : NULL;
	all_registers_get(w, &regs);
	sink->all_registers = true;
	return walk_full(w, &regs);
}

static void worker_run_batch(void *state, const struct perf_sample *const *samples, size_t n,
			     struct frame_sink *sinks, enum unwind_stop *stops)
{
	struct cfi_worker *worker = state;
	struct walk *fast[3][UNWIND_BATCH], *w; /* by PERF_REGS_ABI_* */
	size_t n_fast[3] = {0}, i;

	rule_cache_reserve(&worker->cache, n);
	for (i = 0; i < n; i++) {
		w = &worker->walks[i];
		w->stop = walk_begin(w, worker, samples[i], &sinks[i]);
		if (w->stop != WALK_ON)
			continue;
		w->stop = WALK_NEEDS_ALL;
		if (!worker->full_only)
			fast[samples[i]->user_regs.abi][n_fast[samples[i]->user_regs.abi]++] = w;
	}
	for (i = PERF_REGS_ABI_32_; i <= PERF_REGS_ABI_64_; i++)
		if (n_fast[i])
			walk_fast(fast[i], n_fast[i]);
	for (i = 0; i < n; i++) {
		w = &worker->walks[i];
		if (w->stop == WALK_NEEDS_ALL)
			w->stop = walk_again(w);
		if (w->next_place && w->is_described)
			v8_name_frames(w, sinks[i].frames + sinks[i].n,
				       sinks[i].places + sinks[i].n, (size_t)(w->next - w->frames));
		sinks[i].n = (size_t)(w->next - sinks[i].frames);
		sinks[i].bottom = w->memory.sp;
		if (w->stop == UNWIND_STOP_END && w->c.sp_known)
			sinks[i].top = w->c.sp;
		stops[i] = w->stop;
	}
}

const struct unwind_method_ops unwind_cfi_ops = {
	.init = worker_init,
	.run_batch = worker_run_batch,
	.done = worker_done,
};
