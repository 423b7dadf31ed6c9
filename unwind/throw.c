/* throw.c - the callers of the function that throws.
 *
 * libgcc's _Unwind_RaiseException() and _Unwind_Resume() end with __builtin_eh_return(): they
 * overwrite the registers that their own frame has saved by those of the function that catches,
 * among them their return address, and then jump to the landing pad (gcc, unwind.inc:
 * uw_install_context_1(), which copies registers in the order of their DWARF numbers, so that the
 * return address is last). Their call frame information describes the frame as it was before.
 *
 * The overwritten return address is that of the call which has thrown, in the function that
 * catches: one with a landing pad. Its frame begins where the same address still is further up. The
 * frames in between are over. */
#include "reader/reader.h"
#include "unwind/return_check.h"

/* Maximum number of instructions from the call that overwrites the registers to the function's end,
 * and of calls in them: of _Unwind_DebugHook(). */
#define END_INSNS_MAX 64
#define END_CALLS_MAX 1

/* True if the call before `ip` may be the one that overwrites the registers, or a later one: the
 * function ends soon. */
static bool is_at_end(struct walk *w, uint64_t ip)
{
	const struct map *map = address_space_find(w->s->space, ip);
	struct code_frame f = {0};
	struct code_insn in = {0};
	uint64_t vaddr;
	struct cfi_module *cm = map ? walk_module(w, map, ip, &vaddr) : NULL;
	unsigned i, calls = 0;

	for (i = 0; cm && w->arch->code_step && i < END_INSNS_MAX; i++, vaddr += in.bytes) {
		if (!code_insn_at(cm, vaddr, &f, &in) || in.way > CODE_JUMP)
			return true;
		calls += in.way == CODE_CALL;
		if (calls > END_CALLS_MAX)
			return false;
	}
	return true;
}

/* Whether the function that catches can have this stack pointer: its own return address must follow
 * a call that can have led to it. That is certain of a call of this very function, not of one that
 * may jump to anywhere, as a stub of the PLT does. */
enum fit { FIT_NOT, FIT_MAYBE, FIT_SURE };

static enum fit frame_fits(struct walk *w, uint64_t ra, uint64_t sp)
{
	struct rule_entry own;
	const struct rule r = walk_rule(w, ra - 1, &own)->rule;
	uint64_t caller, callee;

	if (r.kind != RULE_SP || !walk_word(w, sp + (uint64_t)(int64_t)(r.cfa_off + r.ra_off),
					    w->arch->word_bytes, &caller))
		return FIT_MAYBE; /* that is not known here */
	if (return_check(w, caller) != RETURN_CALL)
		return FIT_NOT;
	callee = called_function(w, caller);
	if (!call_may_reach(w, callee, address_space_find(w->s->space, ra - 1), ra - 1))
		return FIT_NOT;
	return call_is_to(w, callee, ra - 1) ? FIT_SURE : FIT_MAYBE;
}

/* Finds the word equal to the return address above the throwing function's frame; in the end, the
 * landing pad takes its place. The frames that are over may have the same word, left over from
 * calls before: where two may be it, neither is. Returns WALK_ON and the stack pointer of the
 * function that catches; UNWIND_STOP_END: there is none. */
static enum unwind_stop catcher_find(struct walk *w, uint64_t ra, uint64_t pad, uint64_t *sp)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t at = *sp, value, found = 0;

	for (; walk_word(w, at, word, &value); at += word) {
		const enum fit fit =
			value == ra || value == pad ? frame_fits(w, ra, at + word) : FIT_NOT;

		if (fit != FIT_NOT && found)
			return UNWIND_STOP_NO_REGISTER;
		if (fit != FIT_NOT)
			found = at + word;
		if (fit == FIT_SURE)
			break;
	}
	if (found) {
		*sp = found;
		return WALK_ON;
	}
	return memory_is_cut_before(&w->memory, at) ? UNWIND_STOP_TRUNCATED_STACK : UNWIND_STOP_END;
}

/* True if `ra` returns to a function that catches what the call before throws. */
static bool returns_to_catcher(struct walk *w, uint64_t ra)
{
	const struct map *map = address_space_find(w->s->space, ra - 1);
	uint64_t vaddr;
	struct cfi_module *cm = map ? walk_module(w, map, ra - 1, &vaddr) : NULL;

	return cm && return_check(w, ra) == RETURN_CALL && cfi_module_pad(cm, vaddr);
}

/* True if the frame pointer is still that of the caller *c, not of the function that catches: that
 * one's callee would have its return address below the record. */
static bool has_own_fp(struct walk *w, const struct cursor *c)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t at, value;

	if (!walk_word(w, c->fp, word, &value))
		return true; /* not a frame pointer */
	for (at = c->sp; at < c->fp; at += word)
		if (!walk_word(w, at, word, &value) || (value && returns_to_catcher(w, value)))
			return false;
	return true;
}

/* Finds the frame record of the caller *c, which keeps one, below the frame pointer of the function
 * that catches: its return address must follow a call that can have led to the caller. Returns
 * false if there is not exactly one. */
static bool own_fp_find(struct walk *w, struct cursor *c)
{
	const unsigned word = w->arch->word_bytes;
	const struct map *map = address_space_find(w->s->space, c->ip - 1);
	struct rule_entry own;
	const struct rule r = walk_rule(w, c->ip - 1, &own)->rule;
	uint64_t at, ra, found = 0;
	unsigned n = 0;

	if (r.kind != RULE_FP || r.cfa_off != 2 * (int32_t)word)
		return false;
	for (at = c->sp; at <= c->fp && walk_word(w, at + word, word, &ra); at += word)
		if (ra && return_check(w, ra) == RETURN_CALL &&
		    call_may_reach(w, called_function(w, ra), map, c->ip - 1)) {
			found = at;
			n++;
		}
	c->fp = found;
	return n == 1;
}

enum unwind_stop throw_step(struct walk *w, struct cursor *c, bool by_fp)
{
	const struct map *map = address_space_find(w->s->space, c->ip);
	bool is_first = w->next - 1 == w->frames;
	uint64_t vaddr, pad;
	struct cfi_module *cm = map ? walk_module(w, map, c->ip, &vaddr) : NULL;
	bool is_pad = cm && cfi_module_is_pad(cm, vaddr);
	enum unwind_stop stop;

	if (!cm)
		return WALK_ON;
	/* Its last instructions: the stack pointer is that of the function that catches. */
	if (is_pad && (!by_fp || return_check(w, c->ip) == RETURN_NONE)) {
		c->is_return_address = false;
		return WALK_ON;
	}
	if (return_check(w, c->ip) == RETURN_NONE)
		return UNWIND_STOP_BAD_CFI;
	if (!is_first && !is_at_end(w, w->next[-1].ip))
		return WALK_ON;
	pad = cfi_module_pad(cm, vaddr - 1);
	if (!pad) {
		/* Not overwritten yet, but registers before it may be. */
		if (!is_first && c->fp_known && !has_own_fp(w, c))
			c->fp_known = fp_by_code(w, c->ip, c->sp, &c->fp) || own_fp_find(w, c);
		return WALK_ON;
	}
	stop = catcher_find(w, c->ip, pad + (c->ip - vaddr), &c->sp);
	return stop == UNWIND_STOP_END ? WALK_ON : stop;
}
