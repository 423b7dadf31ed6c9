/* go_step.c - Go's runtime switches stacks: goroutines have their own, C code and the scheduler run
 * on the thread's, signal handlers on a third (runtime/asm_amd64.s, runtime/HACKING.md).
 *
 * Functions called by systemstack(), mcall() and asmcgocall() have their callers on another stack,
 * which was not copied unless it lies in the copied range, too. In the other direction, from C code
 * back to a goroutine, cgocallback() stores the pc at which the goroutine left its stack as its own
 * return address, so that the callers on that stack follow. */
#include "reader/reader.h"
#include "unwind/return_check.h"

/* By machine code, for a function that has not switched the stack yet, or does not switch because
 * it is already on the thread's stack. */
static bool step_by_code(struct walk *w, struct cursor *c, const struct map *map)
{
	struct cfi_module *cm;
	struct code_frame f;
	struct cursor caller;
	uint64_t vaddr;

	cm = map && w->arch->code_step ? walk_module(w, map, c->ip - c->is_return_address, &vaddr)
				       : NULL;
	if (!cm || !cfi_module_go_frame(cm, vaddr, &f) ||
	    code_caller(w, c, &f, &caller) != WALK_ON || return_check(w, caller.ip) != RETURN_CALL)
		return false;
	*c = caller;
	c->is_return_address = true;
	return true;
}

static enum unwind_stop switch_step(struct walk *w, struct cursor *c, const struct map *map)
{
	struct cursor caller;

	if (w->worker->no_guess)
		return UNWIND_STOP_SWITCHED;
	if (step_by_code(w, c, map))
		return WALK_ON;
	if (fp_owner_find(w, c, map, &caller) != FP_OWNER_CALLER)
		return UNWIND_STOP_SWITCHED;
	*c = caller;
	c->is_return_address = true;
	return WALK_ON;
}

/* True if `ip` is in a Go function. */
static bool is_go(struct walk *w, uint64_t ip)
{
	const struct map *map = address_space_find(w->s->space, ip);
	uint64_t vaddr;
	struct cfi_module *cm = map ? walk_module(w, map, ip, &vaddr) : NULL;

	return cm && cfi_module_has_go(cm, vaddr);
}

/* For the function that a thread starts with. In a thread made by runtime/cgo it is not the
 * outermost: C code has called it. Nor is it in the first thread. */
static enum unwind_stop thread_step(struct walk *w, struct cursor *c)
{
	const unsigned word = w->arch->word_bytes;
	struct rule_entry own;
	uint64_t ra;

	if (w->arch->ra != w->arch->pc || !c->sp_known || !walk_word(w, c->sp, word, &ra) ||
	    return_check(w, ra) != RETURN_CALL ||
	    (is_go(w, ra - 1) && walk_rule(w, ra - 1, &own)->rule.kind != RULE_END))
		return UNWIND_STOP_END;
	c->ip = ra;
	c->sp += word;
	c->is_return_address = true;
	c->how = FRAME_RUNTIME_TABLE;
	return WALK_ON;
}

/* What cgocallback() returns to is where the goroutine had left its stack for C code. The C code
 * that has called back is in between, on the thread's stack. The goroutine of a thread that C code
 * created contains only the call. */
static enum unwind_stop callback_step(struct walk *w, struct cursor *c)
{
	const unsigned word = w->arch->word_bytes;
	struct rule_entry own, *e = walk_rule(w, c->ip - c->is_return_address, &own);
	uint64_t cfa = c->sp + (uint64_t)(int64_t)e->rule.cfa_off, ra, vaddr;
	const struct cursor gap = {.how = FRAME_OTHER_STACK};
	const struct rule_entry none = {0};
	const struct map *map;
	struct cfi_module *cm;

	if (w->arch->ra != w->arch->pc || !c->sp_known)
		return UNWIND_STOP_SWITCHED;
	if (!walk_word(w, cfa - word, word, &ra))
		return walk_read_stop(w, cfa - word);
	map = address_space_find(w->s->space, ra);
	cm = map ? walk_module(w, map, ra, &vaddr) : NULL;
	if (!cm || walk_rule(w, ra - 1, &own)->rule.kind == RULE_END)
		return UNWIND_STOP_SWITCHED;
	if (!walk_push(w, &gap, &none))
		return UNWIND_STOP_DEPTH;
	c->ip = ra;
	c->sp = cfa;
	c->fp_known = false;
	c->is_return_address = !cfi_module_go_starts(cm, vaddr);
	c->how = FRAME_RUNTIME_TABLE;
	return WALK_ON;
}

enum unwind_stop go_step(struct walk *w, struct cursor *c, enum rule_kind kind,
			 const struct map *map)
{
	switch (kind) {
	case RULE_GO_THREAD:
		return thread_step(w, c);
	case RULE_GO_CALLBACK:
		return callback_step(w, c);
	default:
		return switch_step(w, c, map);
	}
}
