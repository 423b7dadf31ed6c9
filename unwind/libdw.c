/* libdw.c - plain libdwfl over the recorded bytes: the oracle for our own tables.
 *
 * Intentionally simple: the frames are those that libdw finds. Only its reasons for stopping are
 * not used (it reports success for stacks that ran past the end of the copy): why a stack ended is
 * decided here from what libdw tried to read. Known defects of elfutils 0.188 that are visible in
 * the result: in epilogues it reads a saved register below the stack pointer, fails, and loses the
 * next frame; in the default rules of x86-64 it takes register 0 for %rbx. It gets help in one
 * point: authentication codes are removed from return addresses before it sees them. It would need
 * the kernel's masks (NT_ARM_PAC_MASK of core files, which elfutils reads since 0.192), and these
 * are not recorded. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/err.h"
#include "modules/modules.h"
#include "reader/reader.h"
#include "unwind/libdw_space.h"
#include "unwind/method.h"

#define SPACES_MAX 32

struct libdw_state {
	struct modules *modules;
	const char *arch_name;
	bool no_guess;
	uint64_t clock;
	struct libdw_space spaces[SPACES_MAX];
};

struct libdw_walk {
	struct libdw_space *space;
	const struct perf_sample *sample;
	struct memory memory;
	uint64_t code_mask;
	struct frame_sink *sink;
	size_t first; /* index of the first user frame */
	bool no_guess;
	enum unwind_stop stop; /* NONE while it goes on */
	/* The last frame. */
	unsigned flags;
	uint64_t pc, sp;
	/* Memory reads since the last frame. */
	bool any_failed, zero_read;
	uint64_t failed_addr; /* the highest failed address */
};

/* ---- callbacks of libdwfl ----------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl, (void)tid;
	*thread_arg = arg;
	return true;
}

static bool is_code(const struct map *map)
{
	return map && map->prot & PROT_EXEC;
}

/* Returns the word without authentication code if that makes it an address of code, else
 * unchanged. */
static uint64_t without_code(const struct libdw_walk *w, uint64_t v)
{
	uint64_t address = v & w->code_mask;

	return address != v && is_code(address_space_find(w->sample->space, address)) ? address : v;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	struct libdw_walk *w = *(struct libdw_walk **)arg;
	uint64_t v;

	(void)dwfl;
	if (!memory_read_word(&w->memory, addr, &v)) {
		if (!w->any_failed || addr > w->failed_addr)
			w->failed_addr = addr;
		w->any_failed = true;
		return false;
	}
	w->zero_read |= !v;
	*result = without_code(w, v);
	return true;
}

static bool set_initial_registers(Dwfl_Thread *thread, void *arg)
{
	const struct libdw_walk *w = *(struct libdw_walk **)arg;
	const struct arch *arch = w->space->arch;
	unsigned bit;
	uint64_t v;

	for (bit = 0; bit < 64; bit++) {
		int reg = arch->perf_to_dwarf[bit];
		Dwarf_Word word;

		if (reg < 0 || !perf_regs_get(&w->sample->user_regs, bit, &v))
			continue;
		word = without_code(w, v);
		if (reg == arch->pc)
			dwfl_thread_state_register_pc(thread, word);
		if (reg != arch->pc || arch->pc == arch->ra)
			if (!dwfl_thread_state_registers(thread, reg, 1, &word))
				return false;
	}
	return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_initial_registers,
};

/* ---- frames ------------------------------------------------------------------------------- */

static uint64_t sp_of(Dwfl_Frame *state, const struct arch *arch)
{
	Dwarf_Word sp;

	return dwfl_frame_reg(state, arch->sp, &sp) ? 0 : sp;
}

/* Called by libdwfl for every frame. An exact address is looked up as it is: the sample's own, the
 * one that a signal interrupted, and the trampoline of a signal, which was not called. Other
 * addresses are return addresses. */
static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct libdw_walk *w = arg;
	struct frame_sink *sink = w->sink;
	bool initial = sink->n == w->first;
	bool exact = initial || w->flags & PC_IS_SIGNAL;
	bool guessed = !initial && !(w->flags & PC_HAS_CFI);
	struct frame f = {.how = initial   ? FRAME_SAMPLE
				 : guessed ? FRAME_FRAME_POINTER
					   : FRAME_CFI};
	uint64_t sp = sp_of(state, w->space->arch), lookup;
	unsigned flags;

	if (!dwfl_frame_pc(state, &f.ip, NULL))
		return DWARF_CB_ABORT;
	lookup = f.ip - !exact;
	flags = libdw_space_pc(w->space, dwfl_addrmodule(w->space->dwfl, lookup), lookup);
	f.is_return_address = !exact && !(flags & PC_IS_SIGNAL);
	f.map = address_space_find(w->sample->space, lookup);
	if (guessed && (w->no_guess || !is_code(f.map)))
		return DWARF_CB_ABORT;
	if (!initial && f.ip == w->pc && sp == w->sp)
		w->stop = UNWIND_STOP_LOOP;
	else if (sink->n == sink->max)
		w->stop = UNWIND_STOP_DEPTH;
	if (w->stop)
		return DWARF_CB_ABORT;
	sink->frames[sink->n++] = f;
	w->flags = flags;
	w->pc = f.ip;
	w->sp = sp;
	w->any_failed = w->zero_read = false;
	if (flags & (PC_IS_ROOT | PC_IS_ELF_ENTRY))
		w->stop = UNWIND_STOP_END;
	else if (!f.map)
		w->stop = UNWIND_STOP_NO_MAP;
	return w->stop ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* The reason why the last frame has no call frame information. */
static enum unwind_stop why_no_cfi(const struct libdw_state *st, struct frame_sink *sink)
{
	const struct map *map = sink->frames[sink->n - 1].map;
	const struct module *m;

	if (!map)
		return UNWIND_STOP_NO_MAP;
	m = modules_get(st->modules, map->dso);
	sink->stop_module = m;
	if (m && !m->image && (map->dso->kind == DSO_FILE || map->dso->kind == DSO_VDSO))
		return UNWIND_STOP_NO_BINARY;
	return UNWIND_STOP_NO_CFI;
}

/* The reason why libdwfl could not continue from the last frame. */
static enum unwind_stop why_stopped(const struct libdw_state *st, const struct libdw_walk *w)
{
	if (w->stop)
		return w->stop;
	if (!(w->flags & PC_HAS_CFI))
		return why_no_cfi(st, w->sink);
	if (w->any_failed)
		return memory_is_cut_before(&w->memory, w->failed_addr)
			       ? UNWIND_STOP_TRUNCATED_STACK
			       : UNWIND_STOP_BAD_MEMORY;
	/* A return address of zero ends a stack. If a register was lost in an earlier frame,
	 * nothing is read. */
	return w->zero_read ? UNWIND_STOP_END : UNWIND_STOP_BAD_MEMORY;
}

/* ---- the method --------------------------------------------------------------------------- */

static struct libdw_space *space_for(struct libdw_state *st, const struct perf_sample *s,
				     const struct arch *arch)
{
	uint64_t layout = address_space_layout(s->space);
	struct libdw_space *oldest = st->spaces, *sp;

	for (sp = st->spaces; sp < st->spaces + SPACES_MAX; sp++) {
		if (sp->dwfl && sp->pid == s->pid && sp->layout == layout && sp->arch == arch)
			goto found;
		if (sp->last_used < oldest->last_used)
			oldest = sp;
	}
	sp = oldest;
	libdw_space_done(sp);
	sp->modules = st->modules;
	sp->pid = s->pid;
	sp->layout = layout;
	sp->arch = arch;
found:
	sp->last_used = ++st->clock;
	if (!libdw_space_update(sp, s->space)) {
		libdw_space_done(sp);
		return NULL;
	}
	/* Only after modules were reported: libdwfl gets the processor from them. */
	if (!sp->attached)
		sp->attached = dwfl_attach_state(sp->dwfl, NULL, s->pid ? (pid_t)s->pid : 1,
						 &thread_callbacks, &sp->walk);
	return sp->attached ? sp : NULL;
}

static enum unwind_stop libdw_run(void *state, const struct perf_sample *s, struct frame_sink *sink)
{
	struct libdw_state *st = state;
	const struct arch *arch = arch_find(st->arch_name, s->user_regs.abi);
	struct libdw_walk w = {
		.sample = s, .sink = sink, .first = sink->n, .no_guess = st->no_guess};
	struct frame leaf = {.how = FRAME_SAMPLE};

	if (!arch)
		return UNWIND_STOP_UNSUPPORTED;
	if (!arch_reg(arch, &s->user_regs, arch->pc, &leaf.ip))
		return UNWIND_STOP_NO_REGS;
	w.memory = memory_of(s, st->modules, arch);
	w.code_mask = arch_code_mask(arch, s->space);
	w.space = space_for(st, s, arch);
	if (w.space) {
		w.space->walk = &w;
		dwfl_getthread_frames(w.space->dwfl, s->tid ? (pid_t)s->tid : 1, on_frame, &w);
		w.space->walk = NULL;
	}
	if (sink->n == w.first) { /* libdwfl did not even start */
		leaf.map = address_space_find(s->space, leaf.ip);
		sink->frames[sink->n++] = leaf;
		return why_no_cfi(st, sink);
	}
	return why_stopped(st, &w);
}

static int libdw_init(void **state, struct modules *modules, const struct unwind_options *opt,
		      struct err *err)
{
	struct libdw_state *st = calloc(1, sizeof *st);

	if (!st)
		return err_nomem(err);
	st->modules = modules;
	st->arch_name = opt->arch;
	st->no_guess = opt->no_guess;
	*state = st;
	return 0;
}

static void libdw_done(void *state)
{
	struct libdw_state *st = state;
	size_t i;

	for (i = 0; i < SPACES_MAX; i++)
		libdw_space_done(&st->spaces[i]);
	free(st);
}

const struct unwind_method_ops unwind_libdw_ops = {
	.init = libdw_init,
	.run = libdw_run,
	.done = libdw_done,
};
