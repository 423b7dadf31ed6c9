/* walk_full.c - the complete walk: all registers, any rule. */
#include "base/arena.h"
#include "base/vec.h"
#include "modules/modules.h"
#include "reader/reader.h"
#include "unwind/expr.h"
#include "unwind/walk.h"

/* Maximum number of expression operations in one walk, in addition to one for each byte of the
 * stack copy. */
#define EXPRESSION_STEPS 4096

/* One step: from the frame's registers to the caller's. */
struct step {
	struct walk *w;
	const struct map *map;
	const struct full_rule *rule;
	const struct regs *in;
	struct regs *out;
	uint64_t cfa;
	uint64_t bias; /* runtime address minus vaddr of the module */
	bool first;
	uint8_t how;	  /* of the caller's frame */
	uint64_t missing; /* the address that could not be read */
	uint64_t *steps;  /* expression operations that the walk has left */
};

static bool expression_read(void *arg, uint64_t addr, unsigned size, uint64_t *ret)
{
	struct step *st = arg;

	st->missing = addr;
	return memory_read_bytes(&st->w->memory, addr, size, ret);
}

static enum unwind_stop expression_stop(const struct step *st, enum expr_status status)
{
	if (status == EXPR_NO_MEMORY)
		return walk_read_stop(st->w, st->missing);
	return status == EXPR_NO_REGISTER ? UNWIND_STOP_NO_REGISTER : UNWIND_STOP_BAD_CFI;
}

static enum expr_status evaluate(struct step *st, const uint8_t *expr, size_t len,
				 const uint64_t *initial, uint64_t *ret)
{
	const struct arch *arch = st->w->arch;
	struct expr_machine m = {
		.regs = st->in->v,
		.known = st->in->known,
		.n_regs = arch->n_regs,
		.address_bytes = arch->word_bytes,
		.bias = st->bias,
		.read = expression_read,
		.arg = st,
		.steps = st->steps,
	};

	return expr_evaluate(&m, expr, len, initial, ret);
}

/* The CFA when sp is not known because the callee's frame was found by its frame pointer, which on
 * processors with a link register does not give the start of the caller's frame. Then the caller's
 * own frame pointer is used: it points to the place where it saved the previous one. */
static bool cfa_by_record(struct step *st)
{
	const struct arch *arch = st->w->arch;
	const struct full_rule *r = st->rule;
	unsigned i;

	if (r->cfa_reg != arch->sp || !(st->in->known >> arch->fp & 1))
		return false;
	st->cfa = st->in->v[arch->fp];
	if (r->how == FRAME_SIGNAL_FRAME) {
		st->cfa -= arch->signal_record_off;
		return true;
	}
	for (i = 0; i < r->n; i++)
		if (r->regs[i].reg == arch->fp && r->regs[i].rule.how == CFI_OFFSET) {
			st->cfa -= (uint64_t)r->regs[i].rule.off;
			return true;
		}
	return false;
}

static enum unwind_stop cfa_find(struct step *st)
{
	const struct full_rule *r = st->rule;
	enum expr_status status;

	if (r->cfa_how == CFI_CFA_EXPRESSION) {
		status = evaluate(st, r->cfa_expr, r->cfa_expr_len, NULL, &st->cfa);
		return status == EXPR_OK ? WALK_ON : expression_stop(st, status);
	}
	if (r->cfa_how != CFI_CFA_REG || r->cfa_reg >= st->w->arch->n_regs)
		return UNWIND_STOP_BAD_CFI;
	if (!(st->in->known >> r->cfa_reg & 1))
		return cfa_by_record(st) ? WALK_ON : UNWIND_STOP_NO_REGISTER;
	st->cfa = st->in->v[r->cfa_reg] + (uint64_t)r->cfa_off;
	if (st->w->arch->word_bytes == 4)
		st->cfa = (uint32_t)st->cfa;
	return WALK_ON;
}

/* In the epilogue of a realigned frame, gcc's rows say that registers are saved relative to the
 * frame pointer after that has been restored to the caller's. The resulting address is above the
 * return address, where the function has saved nothing. The registers have been restored by
 * then. */
static bool is_stale(const struct step *st, unsigned reg, uint64_t at)
{
	const struct arch *arch = st->w->arch;

	return st->first && arch->ra == arch->pc && !st->rule->is_signal_frame && reg != arch->pc &&
	       at >= st->cfa - arch->word_bytes && st->in->known >> reg & 1;
}

/* Finds the caller's value of one register. Returns false if it is unknown; *stop then says why. */
static bool register_find(struct step *st, const struct cfi_reg_rule *r, unsigned reg,
			  uint64_t *ret, enum unwind_stop *stop)
{
	enum expr_status status;
	uint64_t at = st->cfa;

	*stop = UNWIND_STOP_BAD_CFI;
	switch ((enum cfi_how)r->how) {
	case CFI_OFFSET:
		at += (uint64_t)r->off;
		break;
	case CFI_VAL_OFFSET:
		*ret = at + (uint64_t)r->off;
		return true;
	case CFI_REGISTER:
		*stop = UNWIND_STOP_NO_REGISTER;
		*ret = (uint64_t)r->off < st->w->arch->n_regs ? st->in->v[r->off] : 0;
		return (uint64_t)r->off < st->w->arch->n_regs && st->in->known >> r->off & 1;
	case CFI_EXPRESSION:
	case CFI_VAL_EXPRESSION:
		status = evaluate(st, r->expr, r->expr_len, &st->cfa, &at);
		if (status != EXPR_OK) {
			*stop = expression_stop(st, status);
			return false;
		}
		*ret = at;
		if (r->how == CFI_VAL_EXPRESSION)
			return true;
		if (is_stale(st, reg, at)) {
			*ret = st->in->v[reg];
			return true;
		}
		break;
	default:
		return false;
	}
	if (memory_read_stack(&st->w->memory, at, ret))
		return true;
	/* Below the sample's sp: already restored, or not saved yet (see is_given_up() of
	 * walk_fast.c). The caller's pc is never this frame's pc. */
	if (st->first && at < st->w->memory.sp && reg != st->w->arch->pc &&
	    st->in->known >> reg & 1) {
		*ret = st->in->v[reg];
		return true;
	}
	*stop = walk_read_stop(st->w, at);
	return false;
}

/* Applies all rules of the row. Registers without one keep their value. */
static enum unwind_stop registers_find(struct step *st)
{
	const struct arch *arch = st->w->arch;
	bool has_ra = st->rule->ra_reg != arch->pc;
	enum unwind_stop stop;
	unsigned i;

	*st->out = *st->in;
	st->out->v[arch->sp] = st->cfa;
	st->out->known |= 1ull << arch->sp;
	for (i = 0; i < st->rule->n; i++) {
		const struct full_rule_reg *r = &st->rule->regs[i];

		has_ra |= r->reg == st->rule->ra_reg;
		if (register_find(st, &r->rule, r->reg, &st->out->v[r->reg], &stop)) {
			st->out->known |= 1ull << r->reg;
			continue;
		}
		if (r->reg == st->rule->ra_reg || r->reg == arch->sp)
			return stop;
		st->out->known &= ~(1ull << r->reg);
	}
	return has_ra ? WALK_ON : UNWIND_STOP_BAD_CFI;
}

/* True if a call has pushed the return address into this frame. */
static bool has_pushed_return(const struct step *st)
{
	const struct full_rule *r = st->rule;
	unsigned i;

	for (i = 0; i < r->n; i++)
		if (r->regs[i].reg == r->ra_reg)
			return st->w->arch->ra == st->w->arch->pc && !r->is_signal_frame &&
			       (r->regs[i].rule.how == CFI_OFFSET ||
				r->regs[i].rule.how == CFI_EXPRESSION);
	return false;
}

/* The stop after a step that cannot be right if the caller is on this stack. Runtimes with stacks
 * of their own have rows that lead to another one: those of GHC, which keep the stack pointer and
 * have a CFA elsewhere, and OCaml's, which load it from memory. */
static enum unwind_stop switched_or(const struct step *st, enum unwind_stop stop)
{
	const struct full_rule *r = st->rule;
	struct walk *w = st->w;
	uint64_t sp = w->c.sp;
	bool is_elsewhere;

	if (r->is_signal_frame || (r->cfa_how != CFI_CFA_EXPRESSION && !r->has_sp))
		return stop;
	w->c.sp = st->cfa;
	is_elsewhere = walk_is_elsewhere(w);
	w->c.sp = sp;
	return is_elsewhere ? UNWIND_STOP_SWITCHED : stop;
}

static enum unwind_stop full_step(struct step *st)
{
	const struct arch *arch = st->w->arch;
	enum unwind_stop stop = cfa_find(st);
	uint64_t sp = st->in->v[arch->sp], ip;

	if (stop != WALK_ON && st->first && red_zone_find(st->w, &st->w->c, st->map, &st->cfa)) {
		stop = WALK_ON;
		st->how = FRAME_SAVED_SP;
	}
	if (stop != WALK_ON)
		return stop;
	if (has_pushed_return(st) && st->cfa <= sp)
		return switched_or(st, UNWIND_STOP_LOOP);
	stop = registers_find(st);
	if (stop != WALK_ON)
		return switched_or(st, stop);
	if (!(st->out->known >> st->rule->ra_reg & 1))
		return UNWIND_STOP_NO_REGISTER;
	ip = st->out->v[st->rule->ra_reg] & st->w->code_mask;
	/* A call lowers sp, unless the return address is in a register: in functions without a
	 * frame on processors with a link register, or in vfork. Then at least the pc changes. */
	if (!st->rule->is_signal_frame &&
	    (st->cfa < sp || (st->cfa == sp && ip == st->in->v[arch->pc])))
		return UNWIND_STOP_LOOP;
	st->out->v[arch->pc] = ip;
	st->out->known |= 1ull << arch->pc;
	return ip ? WALK_ON : UNWIND_STOP_END;
}

static void cursor_set(struct cursor *c, const struct regs *regs, const struct arch *arch)
{
	c->ip = regs->v[arch->pc];
	c->sp = regs->v[arch->sp];
	c->fp = regs->v[arch->fp];
	c->sp_known = regs->known >> arch->sp & 1;
	c->fp_known = regs->known >> arch->fp & 1;
	c->lr = regs->v[arch->ra];
	c->lr_known = arch->ra != arch->pc && regs->known >> arch->ra & 1;
}

/* After a step of the fallback no other registers are known. */
static void registers_set(struct regs *regs, const struct cursor *c, const struct arch *arch)
{
	regs->v[arch->pc] = c->ip;
	regs->v[arch->sp] = c->sp;
	regs->v[arch->fp] = c->fp;
	regs->known = 1ull << arch->pc | (uint64_t)c->sp_known << arch->sp |
		      (uint64_t)c->fp_known << arch->fp;
}

/* If a signal frame of this kind starts at sp, reads the interrupted registers. */
static bool signal_frame_read(const struct walk *w, const struct arch_trampoline *t, uint64_t sp,
			      struct regs *ret)
{
	uint64_t mark;
	size_t i;

	if (!t->mark_off || !memory_read_bytes(&w->memory, sp + t->mark_off, 4, &mark) ||
	    (mark != t->marks[0] && mark != t->marks[1]))
		return false;
	*ret = (struct regs){0};
	for (i = 0; i < t->n_saved; i++) {
		if (!memory_read_stack(&w->memory, sp + t->saved[i].off, &ret->v[t->saved[i].reg]))
			return false;
		ret->known |= 1ull << t->saved[i].reg;
	}
	return true;
}

/* Reads the signal frame at a vDSO's sigreturn, to which signal handlers return, when the vDSO's
 * code is not available. */
static bool vdso_sigreturn(const struct walk *w, const struct cursor *c, const struct rule_entry *e,
			   struct regs *ret)
{
	const struct arch_trampoline *t = w->arch->trampolines;

	if (!t || e->rule.kind != RULE_NO_BINARY || walk_map(w, e)->dso->kind != DSO_VDSO)
		return false;
	while (t->code && !signal_frame_read(w, t, c->sp, ret))
		t++;
	return t->code;
}

/* The complete rule of a frame; NULL: none, fallback.c is next. */
static const struct full_rule *rule_of(struct walk *w, const struct rule_entry *e,
				       const struct map *map, uint64_t lookup_ip,
				       struct arena *arena, uint64_t *bias)
{
	if (e->rule.kind < RULE_NO_CFI)
		return walk_full_rule(w, map, lookup_ip, bias);
	if (rule_is_missing((enum rule_kind)e->rule.kind) && map->dso->kind == DSO_ANON)
		return jit_full_rule(w, lookup_ip, arena, bias);
	return NULL;
}

/* throw_step() for all registers. */
static enum unwind_stop throw_step_all(struct step *st)
{
	const struct arch *arch = st->w->arch;
	struct cursor *c = &st->w->c;
	enum unwind_stop stop;

	cursor_set(c, st->out, arch);
	stop = throw_step(st->w, c, st->rule->cfa_reg == arch->fp);
	st->out->v[arch->sp] = st->cfa = c->sp;
	st->out->v[arch->fp] = c->fp;
	if (!c->fp_known)
		st->out->known = 1ull << arch->pc | 1ull << arch->sp;
	return stop;
}

/* Steps by the frame's rule. Sets c->how to how the caller was found. */
static enum unwind_stop rule_step(struct step *st)
{
	struct walk *w = st->w;
	struct cursor *c = &w->c;
	enum unwind_stop stop;

	st->how = st->rule->how;
	stop = full_step(st);
	if (stop == UNWIND_STOP_END && st->first) {
		stop = fallback_first_end(w, c);
		if (stop == WALK_ON) {
			registers_set(st->out, c, w->arch);
			return stop;
		}
	}
	if (stop == WALK_ON)
		c->is_return_address = !st->rule->is_signal_frame;
	if (stop == WALK_ON && st->rule->throws)
		stop = throw_step_all(st);
	if (stop == UNWIND_STOP_BAD_CFI)
		w->sink->stop_module = modules_get(w->worker->modules, st->map->dso);
	c->sp = st->cfa;
	if (stop == WALK_ON)
		c->how = st->how;
	return stop;
}

/* Hands out the registers of the frame that was pushed last. */
static void keep_registers(struct walk *w, const struct regs *regs)
{
	struct registers_of_frames *to = w->sink->registers;
	struct frame_registers kept = {.known = regs->known};
	const size_t at = (size_t)(w->next - w->frames) - 1;

	_Static_assert(sizeof kept.v == sizeof regs->v, "as many registers");
	if (!to)
		return;
	memcpy(kept.v, regs->v, sizeof kept.v);
	/* Frames may have been taken back, or added where a stack was switched. */
	if (to->v.n > at)
		to->v.n = at;
	while (to->v.n < at && !to->failed)
		to->failed = vec_push(&to->v, (struct frame_registers){0});
	to->failed |= vec_push(&to->v, kept) != 0;
}

/* `arena`: for rules that are needed as long as the walk. */
static enum unwind_stop walk_on(struct walk *w, const struct regs *regs, struct arena *arena)
{
	/* Signal frames need the most operations of all real frames: 50 for a frame of 600 bytes or
	 * more. */
	uint64_t steps = EXPRESSION_STEPS + w->memory.bytes;
	struct regs buf[2], *in = &buf[0], *out = &buf[1], *swap;
	struct cursor *c = &w->c;
	const struct rule_entry *e;
	const struct map *map;
	struct rule_entry own;
	enum unwind_stop stop;
	bool first, is_sigreturn;

	*in = *regs;
	*c = (struct cursor){.how = FRAME_SAMPLE};
	for (first = true;; first = false) {
		uint64_t lookup_ip = in->v[w->arch->pc] - c->is_return_address;
		struct step st = {.w = w, .in = in, .out = out, .first = first, .steps = &steps};

		cursor_set(c, in, w->arch);
		e = walk_rule(w, lookup_ip, &own);
		map = walk_map(w, e);
		is_sigreturn = vdso_sigreturn(w, c, e, out);
		if (e->rule.flags & RULE_SIGNAL || is_sigreturn)
			c->is_return_address = false;
		if (!walk_push(w, c, e))
			return UNWIND_STOP_DEPTH;
		keep_registers(w, in);
		if (e->rule.kind == RULE_END)
			return UNWIND_STOP_END;
		if (is_sigreturn) {
			c->how = FRAME_SIGNAL_FRAME;
			*in = *out;
			continue;
		}
		st.rule = rule_of(w, e, map, lookup_ip, arena, &st.bias);
		if (!st.rule && e->rule.kind < RULE_NO_CFI)
			return UNWIND_STOP_BAD_CFI;
		if (!st.rule) {
			stop = fallback_step(w, c, (enum rule_kind)e->rule.kind, map);
			if (stop != WALK_ON)
				return stop;
			registers_set(in, c, w->arch);
			continue;
		}
		st.map = map;
		stop = rule_step(&st);
		if (stop != WALK_ON)
			return stop;
		swap = in;
		in = out;
		out = swap;
	}
}

enum unwind_stop walk_full(struct walk *w, const struct regs *regs)
{
	struct arena arena = {0};
	enum unwind_stop stop = walk_on(w, regs, &arena);

	arena_done(&arena);
	return stop;
}
