/* return_check.h - what says that an address is a return address. Private to unwind/.
 *
 * It is remembered with the rule of the address, which is needed next if it is one. */
#ifndef UNWIND_RETURN_CHECK_H
#define UNWIND_RETURN_CHECK_H

#include "unwind/walk.h"

/* The longest call instruction of any supported processor (x86: FF /2 with SIB and disp32). */
#define CALL_BYTES_MAX 7

/* How large functions are, at most. */
#define FUNCTION_BYTES_MAX (64u << 10)

enum return_check {
	RETURN_UNKNOWN, /* not looked for yet */
	RETURN_NONE,
	RETURN_MAP,  /* executable memory without a file to look into */
	RETURN_CALL, /* the instruction before it is a call, or it is the exit of a context */
};

/* Of the rule's flags: set if something says so. */
#define RULE_MAY_BE_RETURN (RETURN_MAP << RULE_RETURN_SHIFT)
_Static_assert((RETURN_MAP & RETURN_CALL) == RETURN_MAP &&
		       !(RETURN_MAP & (RETURN_UNKNOWN | RETURN_NONE)),
	       "a bit");

/* Looks for it, whatever is remembered. */
enum return_check return_check_find(struct walk *w, uint64_t ra);

static inline enum return_check return_check(struct walk *w, uint64_t ra)
{
	uint64_t key = w->space_key | (ra - 1);
	const struct rule_entry *e = rule_cache_at(&w->worker->cache, key);
	unsigned known = e->rule.flags >> RULE_RETURN_SHIFT;

	if (__builtin_expect(e->key == key && known && !((ra - 1) >> RULE_CACHE_IP_BITS), 1))
		return (enum return_check)known;
	return return_check_find(w, ra);
}

/* The same with what a jitdump has of the code before `ra` at the sample's time: it may be another
 * at other times, so this is not remembered. */
enum return_check return_check_jit(struct walk *w, uint64_t ra);

/* Does nothing speak against that `ra` is a return address: is it behind a call, in code without a
 * file, or where signal handlers return to? */
static inline bool may_be_return(struct walk *w, uint64_t ra)
{
	struct rule_entry own;

	return return_check(w, ra) != RETURN_NONE ||
	       (ra && walk_rule(w, ra - 1, &own)->rule.flags & RULE_SIGNAL);
}

/* The `*n` bytes of code before an address in `map` (may be NULL), or fewer; NULL: none. `vaddr`:
 * of the address. */
const uint8_t *code_before(struct walk *w, const struct map *map, uint64_t ip, size_t *n,
			   uint64_t *vaddr);

/* The function that the call before a return address names; 0: none. */
uint64_t called_function(struct walk *w, uint64_t ra);

/* Does the call before `ra` name a function that the code at ip, in `map`, is no part of? One that
 * jumps on, as V8's builtins do, may have led there all the same: where that code leaves by its
 * frame pointer, the record is its own. */
bool calls_another(struct walk *w, const struct map *map, uint64_t ip, uint64_t ra);

/* Can the return address at `at` on the stack be of the call that led to the code at ip in `map`,
 * of a file? Not if the call names another function, nor where it is not aligned as compilers do.
 */
bool may_have_called_file(struct walk *w, const struct map *map, uint64_t ip, uint64_t at,
			  uint64_t ra);

#endif
