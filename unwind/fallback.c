/* fallback.c - finds the caller of code without call frame information: from the return address at
 * the stack pointer, the link register, or the frame pointer. Each is used only if it passes
 * checks. */
#include <string.h>

#include "modules/modules.h"
#include "reader/reader.h"
#include "unwind/jit_ahead.h"
#include "unwind/return_check.h"

/* How far back return_before() looks. Functions with so much code without a call or a return are
 * rare; most are loops of cryptography, which make no calls. */
#define LOOK_BACK_BYTES 4096

/* How many words above sp are searched for the return address to a root. musl's first functions
 * save up to five registers. */
#define ROOT_WORDS 16

/* Maximum size of these functions. Those of i386 leave words between their callees' frames, where
 * stale return addresses remain. */
#define ROOT_CODE_BYTES 128

/* How far from its start code is recognized by its bytes. */
#define KNOWN_CODE_BYTES 64

/* Where no code can be on x86-64: below the lowest address that may be mapped (vm.mmap_min_addr),
 * and outside of user space. A rule that leads there is wrong. LuaJIT has one: a single row for all
 * of a function with five pushes. */
#define CODE_MIN	     65536
#define CODE_BITS	     47
#define LEADS_NOWHERE_PUSHES 5

/* Bytes that arch.is_return() needs: a prefix and the opcode (x86). */
#define RETURN_BYTES 2

/* The call does not name a compiled function; and if it is in a compiled function, the stack is
 * aligned (psABI AMD64 3.2.2) and that function's frame is not elsewhere. Code without call frame
 * information has no such rules: V8's builtins jump on to code that their callers did not call. */
bool may_have_called_jit(struct walk *w, const struct cursor *c, uint64_t sp, uint64_t ra)
{
	struct rule_entry own;
	const struct rule *r = &walk_rule(w, ra - 1, &own)->rule;
	bool aligns =
		w->arch->aligns_calls && r->kind < RULE_NO_CFI && r->how != FRAME_RUNTIME_TABLE;
	uint64_t target;

	if ((aligns && sp % 16 != 8) ||
	    (r->kind == RULE_FP && c->fp_known && c->fp + (uint64_t)(int64_t)r->cfa_off <= sp))
		return false;
	target = called_function(w, ra);
	return !target || walk_rule(w, target, &own)->rule.kind >= RULE_NO_CFI;
}

/* True for code without a file. */
static bool is_jit(const struct map *map)
{
	return map && map->dso->kind == DSO_ANON;
}

/* By how many bytes sp is lower than on entry, in code that is recognized by its bytes; -1: other
 * code, which is noted in the cached rule. */
static int known_frame_size(struct walk *w, const struct cursor *c, const struct map *map)
{
	size_t n = 2 * KNOWN_CODE_BYTES;
	struct rule_entry own, *e = walk_rule(w, c->ip - c->is_return_address, &own);
	uint64_t vaddr;
	const uint8_t *end;
	int size = -1;

	if (e->rule.flags & RULE_UNKNOWN_CODE)
		return -1;
	end = code_before(w, map, c->ip + KNOWN_CODE_BYTES, &n, &vaddr);
	if (end && n >= KNOWN_CODE_BYTES)
		size = w->arch->known_frame(end - n, n, n - KNOWN_CODE_BYTES);
	if (size < 0)
		e->rule.flags |= RULE_UNKNOWN_CODE;
	return size;
}

static bool known_frame_step(struct walk *w, struct cursor *c, const struct map *map)
{
	uint64_t ra;
	int size;

	if (!w->arch->known_frame || !c->sp_known || is_jit(map))
		return false;
	size = known_frame_size(w, c, map);
	if (size < 0 || !walk_word(w, c->sp + (unsigned)size, w->arch->word_bytes, &ra) ||
	    return_check(w, ra) != RETURN_CALL)
		return false;
	c->ip = ra;
	c->sp += (unsigned)size + w->arch->word_bytes;
	c->how = FRAME_STACK_TOP;
	return true;
}

/* True if the instruction at `ip` is a return. */
static bool is_at_return(struct walk *w, const struct map *map, uint64_t ip)
{
	size_t n = RETURN_BYTES;
	uint64_t vaddr;
	const uint8_t *end = code_before(w, map, ip + n, &n, &vaddr);

	return end && n == RETURN_BYTES && w->arch->is_return && w->arch->is_return(end - n, n);
}

/* For the entry of a function, and for functions that have pushed at most `untold_pushes` words. */
static bool stack_top_step(struct walk *w, struct cursor *c, const struct map *map, uint64_t sp,
			   unsigned untold_pushes)
{
	uint64_t ra;
	unsigned i;

	if (w->arch->ra != w->arch->pc)
		return false;
	for (i = 0; i <= untold_pushes; i++, sp += w->arch->word_bytes) {
		if (!walk_word(w, sp, w->arch->word_bytes, &ra) ||
		    return_check(w, ra) != RETURN_CALL ||
		    !(is_jit(map) ? may_have_called_jit(w, c, sp, ra)
				  : is_at_return(w, map, c->ip) ||
					    may_have_called_file(w, map, c->ip, sp, ra)))
			continue;
		c->ip = ra;
		c->sp = sp + w->arch->word_bytes;
		c->how = FRAME_STACK_TOP;
		c->is_return_address = true;
		return true;
	}
	return false;
}

/* The rule of the sample's own frame led to `ip`, where there is no code. Returns how many words
 * the function may have pushed that its rule does not count; -1: the rule may be right, and only
 * the mapping is not known. */
static int wrong_by_words(struct walk *w, uint64_t ip)
{
	if (is_at_return(w, w->frames->map, w->frames->ip))
		return 0;
	if (!w->arch->untold_pushes && w->arch->is_return && (ip < CODE_MIN || ip >> CODE_BITS))
		return LEADS_NOWHERE_PUSHES;
	return w->arch->untold_pushes ? w->arch->untold_pushes : -1;
}

/* Tries the sample's own frame again after its rule led to an address without code. Removes the
 * frame at that address. */
static bool first_frame_again(struct walk *w, struct cursor *c)
{
	int words = w->next - w->frames == 2 ? wrong_by_words(w, c->ip) : -1;
	struct cursor first = *c;

	first.ip = w->frames->ip;
	if (words < 0 || !stack_top_step(w, &first, w->frames->map, w->memory.sp, (unsigned)words))
		return false;
	*c = first;
	walk_pop(w);
	return true;
}

enum unwind_stop fallback_first_end(struct walk *w, struct cursor *c)
{
	struct cursor caller = *c;

	if (!is_at_return(w, w->frames->map, w->frames->ip) ||
	    !stack_top_step(w, &caller, w->frames->map, w->memory.sp, 0))
		return UNWIND_STOP_END;
	if (w->worker->no_guess)
		return UNWIND_STOP_BAD_CFI;
	*c = caller;
	return WALK_ON;
}

/* What the code before `ip` says about the place of the return address. `ra`: the candidate in the
 * link register. */
static struct arch_return return_place(struct walk *w, const struct map *map, uint64_t ip,
				       uint64_t ra)
{
	struct arch_code code = {.n = LOOK_BACK_BYTES};
	uint64_t start = called_function(w, ra);
	size_t wanted;

	if (start && ip - start <= code.n) {
		code.n = ip - start;
		code.from_start = true;
	}
	wanted = code.n;
	code.end = code_before(w, map, ip, &code.n, &code.vaddr);
	if (!code.end)
		code.n = 0;
	code.from_start &= wanted == code.n;
	return w->arch->return_before(&code);
}

/* For functions that have not made a call, and for the stubs of a .plt. */
static bool link_register_step(struct walk *w, struct cursor *c, const struct map *map)
{
	uint64_t ra = c->lr & w->code_mask, saved;
	struct arch_return place;

	/* No call precedes the sigreturn that a signal handler returns to. */
	if (!c->lr_known || return_check(w, ra) == RETURN_NONE)
		return false;
	place = return_place(w, map, c->ip, ra);
	if (place.at == ARCH_RETURN_IN_FRAME)
		return false;
	/* The link register equals the saved return address: one caller, not two. */
	if (place.at == ARCH_RETURN_ANYWHERE && c->fp_known &&
	    walk_word(w, c->fp + w->arch->word_bytes, w->arch->word_bytes, &saved) &&
	    saved == c->lr)
		return false;
	c->ip = ra;
	c->sp += (uint64_t)place.pushed_bytes;
	c->how = FRAME_LINK_REGISTER;
	return true;
}

/* On aarch64, the first C function of musl's programs is entered by a jump with 0 in the link
 * register and the frame pointer, and saves both at its stack pointer. `fp`: the saved frame
 * pointer. */
static bool is_last_record(const struct walk *w, const struct cursor *c, uint64_t fp)
{
	return w->arch->ra != w->arch->pc && c->is_return_address && c->sp_known &&
	       c->fp == c->sp && !fp;
}

/* {caller's fp, return address} at fp, on all supported processors. */
static enum unwind_stop frame_pointer_step(struct walk *w, struct cursor *c, const struct map *map,
					   enum unwind_stop otherwise)
{
	unsigned word = w->arch->word_bytes;
	uint64_t ra, fp;
	enum unwind_stop stop;

	if (!c->fp_known)
		return otherwise;
	/* A chain of frame pointers ends with 0 (psABI AMD64 3.4.1, AAPCS64 6.4.6). */
	if (!c->fp)
		return c->how == FRAME_FRAME_POINTER ? UNWIND_STOP_END : otherwise;
	if (c->fp % word || c->fp < c->sp)
		return otherwise;
	if (!walk_word(w, c->fp, word, &fp) || !walk_word(w, c->fp + word, word, &ra)) {
		stop = walk_read_stop(w, c->fp + word);
		return stop == UNWIND_STOP_TRUNCATED_STACK ? stop : otherwise;
	}
	ra &= w->code_mask;
	/* The end of a chain of frame pointers, if this is one. */
	if (!ra)
		return c->how == FRAME_FRAME_POINTER || is_last_record(w, c, fp) ? UNWIND_STOP_END
										 : otherwise;
	if (return_check(w, ra) == RETURN_NONE || calls_another(w, map, c->ip, ra))
		return otherwise;
	/* With a link register the place of the frame record in the frame varies: it does not show
	 * where the caller's frame begins. */
	c->sp = is_jit(map) ? jit_caller_sp(w, c, ra) : c->fp + 2 * word;
	c->ip = ra;
	c->sp_known = w->arch->ra == w->arch->pc;
	c->fp = fp;
	c->how = FRAME_FRAME_POINTER;
	return WALK_ON;
}

/* In musl, which distributions build without call frame information, the first C function of a
 * program or thread has none. The return address to the root is not far above its stack pointer. */
static bool near_root_step(struct walk *w, struct cursor *c)
{
	struct rule_entry own;
	enum rule_kind kind;
	uint64_t ra;
	unsigned i;

	if (!c->sp_known)
		return false;
	for (i = 0; i < ROOT_WORDS; i++) {
		uint64_t at = c->sp + i * (uint64_t)w->arch->word_bytes;

		if (!walk_word(w, at, w->arch->word_bytes, &ra))
			return false;
		ra &= w->code_mask;
		if (return_check(w, ra) != RETURN_CALL)
			continue;
		kind = walk_rule(w, ra - 1, &own)->rule.kind;
		if (rule_is_missing(kind) && c->ip - ra <= ROOT_CODE_BYTES)
			continue; /* stale, of an earlier call by this function */
		/* Do not skip another caller. */
		if (kind != RULE_END)
			return false;
		c->ip = ra;
		c->sp = at + w->arch->word_bytes;
		c->how = FRAME_NEAR_ROOT;
		return true;
	}
	return false;
}

/* True if the stub's caller has a frame pointer. Then the frame pointer would lead past this
 * caller, to its own caller. Adding it is safe: its rule says that it is the owner of the frame
 * pointer. */
static bool is_owner(struct walk *w, const struct cursor *c, const struct cursor *caller)
{
	struct rule_entry own;
	const struct rule *r = &walk_rule(w, caller->ip - 1, &own)->rule;

	return c->fp_known && c->fp >= caller->sp && r->kind == RULE_FP &&
	       r->cfa_off == 2 * w->arch->word_bytes;
}

/* By how many bytes sp is lower than on entry, in a stub of a .plt. */
static uint64_t stub_pushed_bytes(struct walk *w, const struct cursor *c, const struct map *map)
{
	uint8_t bytes[2 * ARCH_STUB_BYTES] = {0};
	size_t after = w->arch->stub_pushes && map && !is_jit(map) ? ARCH_STUB_BYTES : 0, n;
	const uint8_t *code;
	uint64_t vaddr;

	/* The code may begin or end a few bytes from here. */
	for (; after; after--) {
		n = ARCH_STUB_BYTES + after;
		code = code_before(w, map, c->ip + after, &n, &vaddr);
		if (code && n >= after) {
			memcpy(bytes + ARCH_STUB_BYTES + after - n, code - n, n);
			return w->arch->stub_pushes(bytes + ARCH_STUB_BYTES) *
			       (uint64_t)w->arch->word_bytes;
		}
	}
	return 0;
}

/* If the code may have a frame of unknown size, a return address at the stack pointer may be
 * stale. */
static bool innermost_step(struct walk *w, struct cursor *c, const struct map *map,
			   enum unwind_stop stop)
{
	if (stop == UNWIND_STOP_NO_CFI && !is_jit(map) && leaves_by_switch(w, map, c))
		return false;
	return stack_top_step(w, c, map, c->sp + stub_pushed_bytes(w, c, map),
			      w->arch->untold_pushes) ||
	       link_register_step(w, c, map);
}

/* True if functions at and before `ip` push the frame pointer, which Erlang's compiled code does
 * with +JPperf true only (beam_asm.hpp: emit_enter_frame()). Else the register says nothing. */
static bool keeps_fp_of_erlang(struct walk *w, uint64_t ip)
{
	static const uint8_t ways[][4] = {{0x55, 0x48, 0x89, 0xe5}, {0x55, 0x48, 0x8b, 0xec}};
	struct jit_memory m;
	uint64_t at;

	if (!jit_memory_find(w, ip, &m))
		return false;
	at = ip - m.start > LOOK_BACK_BYTES ? ip - LOOK_BACK_BYTES : m.start;
	for (; at < ip && m.n - (at - m.start) >= sizeof ways[0]; at++)
		if (!memcmp(m.bytes + (at - m.start), ways[0], sizeof ways[0]) ||
		    !memcmp(m.bytes + (at - m.start), ways[1], sizeof ways[1]))
			return true;
	return false;
}

/* Why a stack of Erlang ends. Its compiled code has stacks of its own, on which the first function
 * of a process has 0 for the frame pointer, and calls C on the thread's: what is copied of one says
 * nothing of the other (beam_asm.hpp, emit_enter_runtime()). */
static enum unwind_stop erlang_stop(struct walk *w, const struct cursor *c, enum unwind_stop stop)
{
	if ((stop != UNWIND_STOP_NO_CFI && stop != UNWIND_STOP_TRUNCATED_STACK) || !c->fp_known ||
	    !runs_erlang(w))
		return stop;
	if (!c->fp)
		return c->how != FRAME_SAMPLE && keeps_fp_of_erlang(w, c->ip) ? UNWIND_STOP_END
									      : stop;
	return c->is_return_address && !is_jit(w->next[-2].map) &&
			       c->fp - w->memory.sp >= w->s->user_stack_bytes
		       ? UNWIND_STOP_SWITCHED
		       : stop;
}

static enum unwind_stop guess(struct walk *w, struct cursor *c, enum unwind_stop stop,
			      const struct map *map)
{
	bool innermost = !c->is_return_address, has_fp = true;
	struct cursor caller = *c;
	struct jit_memory memory;
	enum unwind_stop v8;

	/* Do not guess the caller of a return address that is in no mapping. */
	if (stop == UNWIND_STOP_NO_MAP && !innermost)
		return luajit_first_again(w, c) || first_frame_again(w, c) ? WALK_ON : stop;
	if (stop == UNWIND_STOP_NO_CFI && known_frame_step(w, c, map))
		return WALK_ON;
	if (stop == UNWIND_STOP_NO_CFI)
		stop = is_jit(map) ? jit_code_step(w, c, &has_fp) : code_step(w, c, map);
	/* Behind a call of C Erlang's code loads both pointers from memory, where the paths of its
	 * machine code end. What has called keeps its frame pointer, or none does. */
	if (!has_fp && (innermost || !runs_erlang(w)))
		return stop;
	if (!has_fp && !c->fp)
		return erlang_stop(w, c, stop);
	if (stop == UNWIND_STOP_NO_CFI && is_jit(map)) {
		stop = jit_ahead_step(w, c, &has_fp);
		if (!has_fp)
			return stop;
	}
	if (stop == UNWIND_STOP_NO_CFI && is_jit(map) && !jit_memory_find(w, c->ip, &memory))
		fallback_note_jit(w, c->ip - c->is_return_address);
	if (stop == WALK_ON || stop == UNWIND_STOP_TRUNCATED_STACK)
		return is_jit(map) ? erlang_stop(w, c, stop) : stop;
	if (innermost && stop == UNWIND_STOP_NO_CFI && !is_jit(map) &&
	    (v8 = v8_builtin_step(w, c, map)) != UNWIND_STOP_NO_CFI)
		return v8 == WALK_ON ? v8 : stop;
	if (innermost && innermost_step(w, c, map, stop))
		return WALK_ON;
	if (stop == UNWIND_STOP_NO_CFI && copied_stub_step(w, &caller, map) &&
	    is_owner(w, c, &caller)) {
		*c = caller;
		return WALK_ON;
	}
	switch (fp_owner_find(w, c, map, &caller)) {
	case FP_OWNER_CALLER:
		*c = caller;
		return WALK_ON;
	case FP_OWNER_UNKNOWN:
		return is_jit(map) ? erlang_stop(w, c, stop) : stop;
	case FP_OWNER_SELF:
		if (stop != UNWIND_STOP_NO_CFI || is_jit(map) || !innermost ||
		    !has_callers_fp(w, map, c))
			stop = frame_pointer_step(w, c, map, stop);
	}
	if (stop == UNWIND_STOP_NO_CFI &&
	    (is_jit(map) ? copied_stub_step(w, c, map) : near_root_step(w, c)))
		return WALK_ON;
	return is_jit(map) ? erlang_stop(w, c, stop) : stop;
}

/* True if the system call returned in the new task, not in the one that made it. */
static bool is_new_task(const struct walk *w, const struct cursor *c)
{
	uint64_t result;

	return c->how == FRAME_SAMPLE && arch_reg(w->arch, &w->s->user_regs, 0, &result) && !result;
}

enum unwind_stop fallback_step(struct walk *w, struct cursor *c, enum rule_kind kind,
			       const struct map *map)
{
	static const enum unwind_stop stops[RULE_KINDS] = {
		[RULE_NO_CFI] = UNWIND_STOP_NO_CFI,   [RULE_CODE_SP] = UNWIND_STOP_NO_CFI,
		[RULE_CODE_FP] = UNWIND_STOP_NO_CFI,  [RULE_JIT_FP] = UNWIND_STOP_NO_CFI,
		[RULE_BAD_CFI] = UNWIND_STOP_BAD_CFI, [RULE_NO_BINARY] = UNWIND_STOP_NO_BINARY,
		[RULE_NO_MAP] = UNWIND_STOP_NO_MAP,   [RULE_CLONE] = UNWIND_STOP_NO_CFI,
	};
	enum unwind_stop stop = stops[kind];

	if (kind == RULE_STACK_SWITCH || kind == RULE_GO_THREAD || kind == RULE_GO_CALLBACK)
		return go_step(w, c, kind, map);
	if (kind == RULE_CLONE && is_new_task(w, c))
		return UNWIND_STOP_END;
	if (stop == UNWIND_STOP_NO_CFI && is_jit(map))
		stop = jit_step(w, c);
	if (stop == WALK_NEEDS_ALL)
		return stop;
	if (stop == stops[kind] && !w->worker->no_guess)
		stop = guess(w, c, stop, map);
	if (stop != WALK_ON && stop != UNWIND_STOP_END && walk_is_elsewhere(w))
		return UNWIND_STOP_SWITCHED;
	if (stop != WALK_ON) {
		w->sink->stop_module = map ? modules_get(w->worker->modules, map->dso) : NULL;
		return stop;
	}
	c->is_return_address = true;
	c->lr_known = false;
	return WALK_ON;
}
