/* return_check.c - looks at the code before an address for a call. */
#include "unwind/return_check.h"

#include <sys/mman.h>

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
