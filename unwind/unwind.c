/* unwind.c - from one sample to one stack: the kernel part, then the user part by the best method
 * that the sample allows. */
#include "unwind/unwind.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/memory.h"
#include "unwind/method.h"

static const struct unwind_method_ops *const methods[] = {
	[UNWIND_AUTO] = &unwind_cfi_ops,
	[UNWIND_LIBDW] = &unwind_libdw_ops,
	[UNWIND_FP] = &unwind_fp_ops,
	[UNWIND_FULL] = &unwind_cfi_ops,
};

/* Kernel chains have at most kernel.perf_event_max_stack entries, 127 unless raised. If the size of
 * a row were a power of two, all rows would start in the same cache set. */
enum { FRAMES_ROW = 2 * UNWIND_FRAMES_MAX + 32 };

enum { PAGE_BYTES_MIN = 4096 };

struct unwinder {
	const struct unwind_method_ops *ops;
	void *state; /* of the method */
	struct modules *modules;
	const char *arch_name;
	struct registers_of_frames *registers; /* [UNWIND_BATCH], or NULL */
	unsigned max_user_frames;
	struct unwind_stats stats;
	struct signal_returns signal_returns;
	struct frame frames[UNWIND_BATCH][FRAMES_ROW];
	struct frame_place (*places)[FRAMES_ROW]; /* [UNWIND_BATCH], or NULL */
};

const char *frame_how_text(enum frame_how how)
{
#define X(name, mark, text) [FRAME_##name] = text,
	static const char *const texts[] = {FRAME_HOWS(X)};
#undef X
	return (unsigned)how < FRAME_HOW_N ? texts[how] : "unknown";
}

bool frame_how_is_guess(enum frame_how how)
{
#define X(name, mark, text) [FRAME_##name] = mark,
	static const char marks[] = {FRAME_HOWS(X)};
#undef X
	return (unsigned)how < FRAME_HOW_N && marks[how] == '?';
}

const char *unwind_stop_text(enum unwind_stop stop)
{
#define X(name, text) [UNWIND_STOP_##name] = text,
	static const char *const texts[] = {UNWIND_STOPS(X)};
#undef X
	return (unsigned)stop < UNWIND_STOP_N ? texts[stop] : "unknown";
}

const char *unwind_stop_name(enum unwind_stop stop)
{
#define X(name, text) [UNWIND_STOP_##name] = #name,
	static const char *const names[] = {UNWIND_STOPS(X)};
#undef X
	return (unsigned)stop < UNWIND_STOP_N ? names[stop] : "UNKNOWN";
}

int unwinder_new(struct unwinder **ret, struct modules *modules, const struct unwind_options *opt,
		 struct err *err)
{
	static const struct unwind_options defaults;
	struct unwinder *u = calloc(1, sizeof *u);
	int rc;

	if (!u)
		return err_nomem(err);
	opt = opt ? opt : &defaults;
	u->arch_name = opt->arch;
	u->modules = u->signal_returns.modules = modules;
	u->max_user_frames = opt->max_frames && opt->max_frames < UNWIND_FRAMES_MAX
				     ? opt->max_frames
				     : UNWIND_FRAMES_MAX;
	u->ops = methods[opt->method];
	if (opt->places && u->ops->run_batch)
		u->places = calloc(UNWIND_BATCH, sizeof *u->places);
	if (opt->registers && u->ops->run_batch)
		u->registers = calloc(UNWIND_BATCH, sizeof *u->registers);
	if ((opt->places && u->ops->run_batch && !u->places) ||
	    (opt->registers && u->ops->run_batch && !u->registers))
		rc = err_nomem(err);
	else
		rc = u->ops->init(&u->state, modules, opt, err);
	if (rc) {
		free(u->registers);
		free(u->places);
		free(u);
		return rc;
	}
	*ret = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	u->ops->done(u->state);
	for (size_t i = 0; u->registers && i < UNWIND_BATCH; i++)
		vec_done(&u->registers[i].v);
	free(u->registers);
	free(u->places);
	free(u);
}

static bool has_dump(const struct perf_sample *s)
{
	return s->user_regs.abi && s->user_regs.mask && s->user_stack_asked;
}

/* Without chain and stack copy only the sample's own address is known. */
static void add_sample_ip(const struct perf_sample *s, struct frame_sink *sink, bool kernel)
{
	sink->frames[sink->n++] = (struct frame){
		.ip = s->ip,
		.map = address_space_find(kernel ? s->kernel : s->space, s->ip),
		.is_kernel = kernel && s->cpumode != PERF_CPUMODE_GUEST_USER,
		.how = FRAME_SAMPLE,
	};
}

/* Fast for the usual case: all frames but the first were found in the same way. */
static void count(struct unwind_stats *stats, const struct stack_trace *t)
{
	const struct frame *f = t->frames, *end = f + t->n;
	uint8_t how = f[t->n > 1].how, all = how, any = how;

	stats->frames += t->n;
	stats->frames_by_how[f->how]++;
	for (f++; f + 4 <= end; f += 4) {
		all &= f[0].how & f[1].how & f[2].how & f[3].how;
		any |= f[0].how | f[1].how | f[2].how | f[3].how;
	}
	for (; f < end; f++) {
		all &= f->how;
		any |= f->how;
	}
	if (all == any) {
		stats->frames_by_how[how] += t->n - 1;
		return;
	}
	for (f = t->frames + 1; f < end; f++)
		stats->frames_by_how[f->how]++;
}

/* Adds the kernel part and prepares the sink for the user part. */
static void begin(struct unwinder *u, const struct perf_sample *s, struct frame_sink *sink,
		  struct stack_trace *trace)
{
	bool in_user = s->cpumode == PERF_CPUMODE_USER;

	*trace = (struct stack_trace){.frames = sink->frames, .stop = UNWIND_STOP_NONE};
	chain_kernel_frames(s, &u->signal_returns, sink);
	if (!sink->n && !in_user)
		add_sample_ip(s, sink, true);
	trace->n_kernel = sink->n;
	sink->max = sink->n + u->max_user_frames;
}

/* The kernel copies up to the first page that is not in memory. The rest is missing, however much
 * was requested: of a stack that was deeper before, or of an array on it that has not been written
 * to. */
static bool ends_at_missing_page(const struct unwinder *u, const struct perf_sample *s)
{
	const struct arch *arch = arch_find(u->arch_name, s->user_regs.abi);
	uint64_t sp;

	return s->user_stack_bytes < s->user_stack_asked && arch &&
	       arch_reg(arch, &s->user_regs, arch->sp, &sp) &&
	       (sp + s->user_stack_bytes) % PAGE_BYTES_MIN == 0;
}

/* Removes a last return address that is in no mapping: it is the reason why the stack ends, not a
 * frame. */
static void drop_stray_frame(const struct stack_trace *trace, struct frame_sink *sink)
{
	const struct frame *last =
		sink->n > trace->n_kernel + 1 ? &sink->frames[sink->n - 1] : NULL;

	if (trace->stop == UNWIND_STOP_NO_MAP && last && last->is_return_address && !last->map)
		sink->n--;
}

/* Of samples that have registers without a stack copy those of the first frame are known. */
static void give_own_registers(struct unwinder *u, const struct perf_sample *s,
			       struct frame_sink *sink, struct stack_trace *trace)
{
	const struct arch *arch = arch_find(u->arch_name, s->user_regs.abi);
	struct frame_registers own = {0};
	unsigned i = 0;
	uint64_t pc;

	if (!sink->registers || !arch || !s->user_regs.abi || sink->n == trace->n_kernel ||
	    !arch_reg(arch, &s->user_regs, arch->pc, &pc) || sink->frames[trace->n_kernel].ip != pc)
		return;
	for (uint64_t mask = s->user_regs.mask; mask; mask &= mask - 1, i++) {
		const int reg = arch->perf_to_dwarf[__builtin_ctzll(mask)];

		if (reg < 0)
			continue;
		own.v[reg] = s->user_regs.regs[i];
		own.known |= 1ull << reg;
	}
	sink->registers->failed |= vec_push(&sink->registers->v, own) != 0;
	if (sink->registers->failed)
		return;
	trace->registers = sink->registers->v.v;
	trace->n_registers = 1;
}

static void end(struct unwinder *u, const struct perf_sample *s, struct frame_sink *sink,
		struct stack_trace *trace)
{
	if (trace->stop == UNWIND_STOP_TRUNCATED_STACK && has_dump(s) && ends_at_missing_page(u, s))
		trace->stop = UNWIND_STOP_MISSING_PAGE;
	if (has_dump(s)) {
		drop_stray_frame(trace, sink);
		trace->stop_module = sink->stop_module;
		trace->places = sink->places ? sink->places + trace->n_kernel : NULL;
		if (sink->registers && !sink->registers->failed) {
			trace->registers = sink->registers->v.v;
			trace->n_registers = sink->registers->v.n;
		}
		u->stats.user_stacks++;
		u->stats.all_registers += sink->all_registers;
		u->stats.stops[trace->stop]++;
		if (unwind_stop_is_cut(trace->stop))
			trace->edge = sink->bottom;
		else
			trace->edge = sink->top;
	} else {
		chain_user_frames(s, &u->signal_returns, sink);
	}
	if (!sink->n)
		add_sample_ip(s, sink, false);
	if (!has_dump(s))
		give_own_registers(u, s, sink, trace);
	trace->n = sink->n;
	count(&u->stats, trace);
}

/* Unwinds the user parts of the samples whose indices are in `dumps`. */
static void run_batch(struct unwinder *u, const struct perf_sample *const *samples,
		      const size_t *dumps, size_t n_dumps, struct frame_sink *sinks,
		      struct stack_trace *traces)
{
	const struct perf_sample *chosen[UNWIND_BATCH];
	struct frame_sink chosen_sinks[UNWIND_BATCH];
	enum unwind_stop stops[UNWIND_BATCH];
	size_t i;

	for (i = 0; i < n_dumps; i++) {
		chosen[i] = samples[dumps[i]];
		chosen_sinks[i] = sinks[dumps[i]];
	}
	u->ops->run_batch(u->state, chosen, n_dumps, chosen_sinks, stops);
	for (i = 0; i < n_dumps; i++) {
		sinks[dumps[i]] = chosen_sinks[i];
		traces[dumps[i]].stop = stops[i];
	}
}

void unwind_samples(struct unwinder *u, const struct perf_sample *const *samples, size_t n,
		    struct stack_trace *traces)
{
	struct frame_sink sinks[UNWIND_BATCH];
	size_t dumps[UNWIND_BATCH], n_dumps = 0, i;

	assert(n <= UNWIND_BATCH);
	for (i = 0; i < n; i++) {
		sinks[i] = (struct frame_sink){.frames = u->frames[i],
					       .places = u->places ? u->places[i] : NULL,
					       .registers = u->registers ? &u->registers[i] : NULL,
					       .max = UNWIND_FRAMES_MAX};
		if (u->registers)
			u->registers[i].v.n = 0;
		begin(u, samples[i], &sinks[i], &traces[i]);
		if (has_dump(samples[i]))
			dumps[n_dumps++] = i;
	}
	if (u->ops->run_batch)
		run_batch(u, samples, dumps, n_dumps, sinks, traces);
	for (i = 0; i < n_dumps && u->ops->run; i++)
		traces[dumps[i]].stop = u->ops->run(u->state, samples[dumps[i]], &sinks[dumps[i]]);
	for (i = 0; i < n; i++)
		end(u, samples[i], &sinks[i], &traces[i]);
}

void unwind_sample(struct unwinder *u, const struct perf_sample *s, struct stack_trace *trace)
{
	unwind_samples(u, &s, 1, trace);
}

const uint8_t *unwind_memory(const struct unwinder *u, const struct perf_sample *s, uint64_t addr,
			     unsigned n)
{
	const struct arch *arch = arch_find(u->arch_name, s->user_regs.abi);
	struct memory m;

	if (!arch)
		return NULL;
	m = memory_of(s, u->modules, arch);
	return memory_bytes(&m, addr, n);
}

int stack_traces_keep(struct stack_trace *traces, size_t n, struct scratch *room)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct stack_trace *t = &traces[i];
		size_t frames = t->n * sizeof *t->frames;
		size_t places = t->places ? (t->n - t->n_kernel) * sizeof *t->places : 0;
		char *to = scratch_alloc(room, frames + places + t->values_len + t->labels_len);

		if (!to)
			return -ERR_NOMEM;
		t->frames = memcpy(to, t->frames, frames);
		if (t->places)
			t->places = memcpy(to + frames, t->places, places);
		to += frames + places;
		if (t->values)
			t->values = memcpy(to, t->values, t->values_len);
		if (t->labels)
			t->labels = memcpy(to + t->values_len, t->labels, t->labels_len);
		t->registers = NULL;
		t->n_registers = 0;
	}
	return 0;
}

const struct unwind_stats *unwinder_stats(const struct unwinder *u)
{
	return &u->stats;
}

void unwind_stats_add(struct unwind_stats *to, const struct unwind_stats *from)
{
	size_t i;

	for (i = 0; i < UNWIND_STOP_N; i++)
		to->stops[i] += from->stops[i];
	for (i = 0; i < FRAME_HOW_N; i++)
		to->frames_by_how[i] += from->frames_by_how[i];
	to->frames += from->frames;
	to->user_stacks += from->user_stacks;
	to->all_registers += from->all_registers;
}
