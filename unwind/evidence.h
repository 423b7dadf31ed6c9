/* evidence.h - what says that an address is a return address. Private to unwind/.
 *
 * It is remembered with the rule of the address, which is needed next if it is one. */
#ifndef UNWIND_EVIDENCE_H
#define UNWIND_EVIDENCE_H

#include "unwind/walk.h"

/* The longest call instruction of any supported processor (x86: FF /2 with SIB and disp32). */
#define CALL_BYTES_MAX 7

/* How large functions are, at most. */
#define FUNCTION_BYTES_MAX (64u << 10)

enum evidence {
	EVIDENCE_UNKNOWN, /* not looked for yet */
	EVIDENCE_NONE,
	EVIDENCE_MAP,  /* executable memory without a file to look into */
	EVIDENCE_CALL, /* the instruction before it is a call, or it is the exit of a context */
};

/* Of the rule's flags: set if something says so. */
#define RULE_MAY_BE_RETURN (EVIDENCE_MAP << RULE_EVIDENCE_SHIFT)
_Static_assert((EVIDENCE_MAP & EVIDENCE_CALL) == EVIDENCE_MAP &&
		       !(EVIDENCE_MAP & (EVIDENCE_UNKNOWN | EVIDENCE_NONE)),
	       "a bit");

/* Looks for it, whatever is remembered. */
enum evidence evidence_find(struct walk *w, uint64_t ra);

static inline enum evidence evidence_of(struct walk *w, uint64_t ra)
{
	uint64_t key = w->space_key | (ra - 1);
	const struct rule_entry *e = rule_cache_at(&w->worker->cache, key);
	unsigned known = e->rule.flags >> RULE_EVIDENCE_SHIFT;

	if (__builtin_expect(e->key == key && known && !((ra - 1) >> RULE_CACHE_IP_BITS), 1))
		return (enum evidence)known;
	return evidence_find(w, ra);
}

/* The same with what a jitdump has of the code before `ra` at the sample's time: it may be another
 * at other times, so this is not remembered. */
enum evidence jit_evidence(struct walk *w, uint64_t ra);

/* Does nothing speak against that `ra` is a return address: is it behind a call, in code without a
 * file, or where signal handlers return to? */
static inline bool may_be_return(struct walk *w, uint64_t ra)
{
	struct rule_entry own;

	return evidence_of(w, ra) != EVIDENCE_NONE ||
	       (ra && walk_rule(w, ra - 1, &own)->rule.flags & RULE_SIGNAL);
}

/* The `*n` bytes of code before an address in `map` (may be NULL), or fewer; NULL: none. `vaddr`:
 * of the address. */
const uint8_t *code_before(struct walk *w, const struct map *map, uint64_t ip, size_t *n,
			   uint64_t *vaddr);

/* The function that the call before a return address names; 0: none. */
uint64_t called_function(struct walk *w, uint64_t ra);

#endif
