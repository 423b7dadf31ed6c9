/* copied_stub.c - the stubs that CPython generates for its functions, in anonymous memory.
 *
 * Python/asm_trampoline.S: `sub $8, %rsp; call *%rcx; add $8, %rsp; ret`. A perf map has neither
 * their bytes nor their rules. But the bytes are copied from the interpreter, which is the stub's
 * caller, so they must be in that file. Also, the stub has called code of a file. */
#include "reader/reader.h"
#include "unwind/return_check.h"

/* Python/perf_trampoline.c, new_code_arena(): the copies fill regions of 16 pages. Regions that the
 * kernel put side by side are one map. */
#define ARENA_BYTES (16u * 4096)

/* CPython 3.13: the copies are at multiples of this. */
#define COPY_ALIGN 16

/* Offsets in the stub: of the instruction after which the stack pointer is lowered, and of the
 * place to which the call returns. */
enum { LOWERED = 4, RETURN = 6 };

static bool is_jit(const struct map *map)
{
	return map && map->dso->kind == DSO_ANON;
}

/* The template in the file that `ra` returns to; see cfi_module_stub_prefix(). */
static int template_prefix(struct walk *w, uint64_t ra)
{
	const struct map *map = address_space_find(w->s->space, ra - 1);
	struct cfi_module *cm;
	uint64_t vaddr;

	cm = map ? walk_module(w, map, ra - 1, &vaddr) : NULL;
	return cm ? cfi_module_stub_prefix(cm) : -1;
}

/* True if the pc is between the two instructions that change the stack pointer, in a copy of a
 * template with so many bytes before the first one. CPython 3.12 packs the copies. */
static bool is_lowered(const struct walk *w, const struct cursor *c, const struct map *map,
		       unsigned prefix)
{
	const unsigned from = prefix + (c->is_return_address ? RETURN : LOWERED);
	const unsigned to = prefix + RETURN;
	unsigned packed = (c->ip - map->start) % ARENA_BYTES % (prefix + w->arch->stub_bytes);
	unsigned aligned = c->ip % COPY_ALIGN;

	return (packed >= from && packed <= to) || (aligned >= from && aligned <= to);
}

bool copied_stub_step(struct walk *w, struct cursor *c, const struct map *map)
{
	bool called_jit = c->is_return_address && is_jit(w->next[-2].map);
	unsigned word = w->arch->word_bytes;
	uint64_t ra;
	int prefix;

	if (!w->arch->aligns_calls || !is_jit(map) || called_jit || !c->sp_known || c->sp % 16 ||
	    !walk_word(w, c->sp + word, word, &ra) || return_check(w, ra) != RETURN_CALL ||
	    !may_have_called_jit(w, c, c->sp + word, ra))
		return false;
	prefix = template_prefix(w, ra);
	if (prefix < 0 || !is_lowered(w, c, map, (unsigned)prefix))
		return false;
	c->ip = ra;
	c->sp += 2 * word;
	c->how = FRAME_STACK_TOP;
	return true;
}
