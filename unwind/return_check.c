/* return_check.c - whether a call precedes an address, and whether it can have led to given
 * code. */
#include "unwind/return_check.h"

#include <sys/mman.h>

#include "reader/reader.h"

/* Code at most this far from the start of the called function is checked to be part of it. */
#define GOES_ON_BYTES_MAX 4096

/* instructions of a stub: endbr64, jmp */
#define STUB_INSNS 2

const uint8_t *code_before(struct walk *w, const struct map *map, uint64_t ip, size_t *n,
			   uint64_t *vaddr)
{
	struct cfi_module *cm = map ? walk_module(w, map, ip - 1, vaddr) : NULL;

	return cm ? cfi_module_code_before(cm, ++*vaddr, n) : NULL;
}

static enum return_check check_before(struct walk *w, const struct map *map, uint64_t ra)
{
	struct cfi_module *cm;
	const uint8_t *code;
	size_t n = CALL_BYTES_MAX;
	uint64_t vaddr;

	if (!map || !(map->prot & PROT_EXEC))
		return RETURN_NONE;
	cm = walk_module(w, map, ra - 1, &vaddr);
	if (!cm)
		return RETURN_MAP;
	code = cfi_module_code_before(cm, vaddr + 1, &n);
	return (code && w->arch->ends_in_call(code, n)) || cfi_module_is_before_exit(cm, vaddr)
		       ? RETURN_CALL
		       : RETURN_NONE;
}

enum return_check return_check_find(struct walk *w, uint64_t ra)
{
	struct rule_entry own, *e;
	enum return_check known;

	if (!ra)
		return RETURN_NONE;
	e = walk_rule(w, ra - 1, &own);
	known = (enum return_check)(e->rule.flags >> RULE_RETURN_SHIFT);
	if (known == RETURN_UNKNOWN) {
		known = check_before(w, walk_map(w, e), ra);
		e->rule.flags |= (uint8_t)(known << RULE_RETURN_SHIFT);
	}
	return known;
}

uint64_t called_function(struct walk *w, uint64_t ra)
{
	const struct map *map = address_space_find(w->s->space, ra - 1);
	size_t n = CALL_BYTES_MAX;
	uint64_t vaddr;
	const uint8_t *code = code_before(w, map, ra, &n, &vaddr);

	return code ? w->arch->call_target(code, n, ra) : 0;
}

/* True if another function begins after `target`, contains the code at `ip`, and still has its
 * caller's frame pointer there. */
static bool begins_between(struct walk *w, const struct map *map, uint64_t target, uint64_t ip)
{
	struct code_function fn = {0};
	struct code_frame f;
	struct cfi_module *cm;
	uint64_t vaddr;

	cm = walk_module(w, map, ip, &vaddr);
	return cm && cfi_module_code_frame(cm, vaddr, &fn, &f) && f.fp_holds == CODE_FP_CALLER &&
	       fn.start > target - (ip - vaddr);
}

bool calls_another(struct walk *w, const struct map *map, uint64_t ip, uint64_t ra)
{
	uint64_t target = map && map->dso->kind != DSO_ANON ? called_function(w, ra) : 0;

	/* If target > ip, ip - target wraps: it is another function, too. */
	return target && target >= map->start && target < map->end &&
	       (ip - target > FUNCTION_BYTES_MAX || begins_between(w, map, target, ip)) &&
	       !leaves_by_fp(w, map, ip);
}

/* True if the function at `target`, in a file, extends to `ip`. Another function would begin after
 * padding that is not reached by the code before it. */
static bool goes_on_to(struct walk *w, const struct map *map, uint64_t target, uint64_t ip)
{
	struct code_frame f = {0};
	struct code_insn in = {0};
	struct cfi_module *cm;
	uint64_t vaddr, at;
	bool is_over = false;

	cm = target && ip - target <= GOES_ON_BYTES_MAX ? walk_module(w, map, ip, &vaddr) : NULL;
	if (!cm)
		return false;
	for (at = vaddr - (ip - target); at < vaddr; at += in.bytes) {
		if (!code_insn_at(cm, at, &f, &in) || (is_over && in.is_filler))
			return false;
		is_over = in.way >= CODE_JUMP;
	}
	return at == vaddr;
}

/* True if the called code at once jumps to an unknown target, as stubs do. */
static bool calls_stub(struct walk *w, const struct map *map, uint64_t target)
{
	uint64_t vaddr;
	struct cfi_module *cm = target ? walk_module(w, map, target, &vaddr) : NULL;
	struct code_insn in = {0};
	unsigned i;

	for (i = 0; cm && w->arch->code_step && i < STUB_INSNS; i++, vaddr += in.bytes) {
		struct code_frame f = {0};

		if (!code_insn_at(cm, vaddr, &f, &in))
			return false;
		if (in.way == CODE_SWITCH)
			return true;
	}
	return false;
}

bool may_have_called_file(struct walk *w, const struct map *map, uint64_t ip, uint64_t at,
			  uint64_t ra)
{
	/* psABI AMD64 3.2.2; calls within assembly code need not be aligned. */
	bool is_aligned = !w->arch->aligns_calls || at % 16 == 8;

	uint64_t target = called_function(w, ra);

	if (!map || !w->arch->code_step)
		return true;
	if (calls_stub(w, map, target)) /* the other stubs of the .plt are near */
		return is_aligned || ip - target + GOES_ON_BYTES_MAX <= 2 * GOES_ON_BYTES_MAX;
	return (is_aligned && !calls_another(w, map, ip, ra)) || goes_on_to(w, map, target, ip);
}
