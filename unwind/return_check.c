/* return_check.c - is there a call before an address, and can it have led to some code? */
#include "unwind/return_check.h"

#include <sys/mman.h>

/* How far behind its start a function is known to be entered by a call whose stack is not aligned.
 */
#define GOES_ON_BYTES_MAX 4096

/* endbr64, jmp */
#define STUB_INSNS 2

const uint8_t *code_before(struct walk *w, const struct map *map, uint64_t ip, size_t *n,
			   uint64_t *vaddr)
{
	struct cfi_module *cm = map ? walk_module(w, map, ip - 1, vaddr) : NULL;

	return cm ? cfi_module_code_before(cm, ++*vaddr, n) : NULL;
}

static enum return_check behind_call(struct walk *w, const struct map *map, uint64_t ra)
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
		known = behind_call(w, walk_map(w, e), ra);
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

/* Does another function begin behind `target`, which the code at ip is a part of, and which has the
 * frame pointer of its caller there? */
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

	/* Also where it begins behind ip. */
	return target && target >= map->start && target < map->end &&
	       (ip - target > FUNCTION_BYTES_MAX || begins_between(w, map, target, ip)) &&
	       !leaves_by_fp(w, map, ip);
}

/* Does the function at `target`, in a file, go on up to ip? Another begins behind padding that the
 * code before does not run into. */
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

/* Does what is called jump on at once, as stubs do, to where is not known? */
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
	/* psABI AMD64 3.2.2; assembly calls its own functions as it likes. */
	bool is_aligned = !w->arch->aligns_calls || at % 16 == 8;

	uint64_t target = called_function(w, ra);

	if (!map || !w->arch->code_step)
		return true;
	if (calls_stub(w, map, target)) /* the others of a .plt are near */
		return is_aligned || ip - target + GOES_ON_BYTES_MAX <= 2 * GOES_ON_BYTES_MAX;
	return (is_aligned && !calls_another(w, map, ip, ra)) || goes_on_to(w, map, target, ip);
}
