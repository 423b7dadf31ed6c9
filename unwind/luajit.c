/* luajit.c - the interpreter and the compiled code of LuaJIT.
 *
 * lj_vm_asm has one rule for all of its code: the frame of the interpreter. Compiled code runs in
 * that frame, with two more words on the stack (the registers r12 and r13), which the interpreter
 * pushes before it jumps there, and takes away where it is left (vm_x64.dasc: BC_JLOOP,
 * vm_exit_interp). An exit pushes two constants, which are not counted either. */
#include "base/text.h"
#include "reader/reader.h"
#include "unwind/jit_ahead.h"
#include "unwind/return_check.h"

enum { SAVED_BYTES = 16 };

static bool is_luajit(const struct map *map)
{
	const char *name = map && map->dso->kind == DSO_FILE ? base_name(map->dso->path) : "";

	return !strncmp(name, "luajit", 6) || !strncmp(name, "libluajit", 9);
}

unsigned luajit_untold_bytes(struct walk *w, uint64_t target)
{
	return is_luajit(address_space_find(w->s->space, target)) ? SAVED_BYTES : 0;
}

bool luajit_first_again(struct walk *w, struct cursor *c)
{
	const struct map *map = w->next - w->frames == 2 ? w->frames->map : NULL;
	struct rule_entry own;
	struct cursor first = *c;
	struct rule r;
	uint64_t cfa;

	if (!is_luajit(map))
		return false;
	r = walk_rule(w, w->frames->ip, &own)->rule;
	cfa = w->memory.sp + (uint64_t)(int64_t)r.cfa_off + SAVED_BYTES;
	if (r.kind != RULE_SP || !r.fp_off || !walk_word(w, cfa - 8, 8, &first.ip) ||
	    return_check(w, first.ip) != RETURN_CALL ||
	    !walk_word(w, cfa + (uint64_t)(int64_t)r.fp_off, 8, &first.fp))
		return false;
	first.sp = cfa;
	first.fp_known = true;
	first.how = FRAME_STACK_TOP;
	first.is_return_address = true;
	*c = first;
	walk_pop(w);
	return true;
}
