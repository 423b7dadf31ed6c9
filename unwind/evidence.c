/* evidence.c - looks at the code before an address for a call. */
#include "unwind/evidence.h"

#include <sys/mman.h>

const uint8_t *code_before(struct walk *w, const struct map *map, uint64_t ip, size_t *n,
			   uint64_t *vaddr)
{
	struct cfi_module *cm = map ? walk_module(w, map, ip - 1, vaddr) : NULL;

	return cm ? cfi_module_code_before(cm, ++*vaddr, n) : NULL;
}

static enum evidence evidence_in(struct walk *w, const struct map *map, uint64_t ra)
{
	struct cfi_module *cm;
	const uint8_t *code;
	size_t n = CALL_BYTES_MAX;
	uint64_t vaddr;

	if (!map || !(map->prot & PROT_EXEC))
		return EVIDENCE_NONE;
	cm = walk_module(w, map, ra - 1, &vaddr);
	if (!cm)
		return EVIDENCE_MAP;
	code = cfi_module_code_before(cm, vaddr + 1, &n);
	return (code && w->arch->ends_in_call(code, n)) || cfi_module_is_before_exit(cm, vaddr)
		       ? EVIDENCE_CALL
		       : EVIDENCE_NONE;
}

enum evidence evidence_find(struct walk *w, uint64_t ra)
{
	struct rule_entry own, *e;
	enum evidence evidence;

	if (!ra)
		return EVIDENCE_NONE;
	e = walk_rule(w, ra - 1, &own);
	evidence = (enum evidence)(e->rule.flags >> RULE_EVIDENCE_SHIFT);
	if (evidence == EVIDENCE_UNKNOWN) {
		evidence = evidence_in(w, walk_map(w, e), ra);
		e->rule.flags |= (uint8_t)(evidence << RULE_EVIDENCE_SHIFT);
	}
	return evidence;
}

uint64_t called_function(struct walk *w, uint64_t ra)
{
	const struct map *map = address_space_find(w->s->space, ra - 1);
	size_t n = CALL_BYTES_MAX;
	uint64_t vaddr;
	const uint8_t *code = code_before(w, map, ra, &n, &vaddr);

	return code ? w->arch->call_target(code, n, ra) : 0;
}
