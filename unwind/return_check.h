/* return_check.h - whether an address is a return address. Private to unwind/.
 *
 * The result is cached with the rule of the address, which is needed next if it is one. */
#ifndef UNWIND_RETURN_CHECK_H
#define UNWIND_RETURN_CHECK_H

#include "unwind/walk.h"

/* The longest call instruction of any supported processor (x86: FF /2 with SIB and disp32). */
#define CALL_BYTES_MAX 7

/* Assumed maximum size of a function. */
#define FUNCTION_BYTES_MAX (64u << 10)

enum return_check {
	RETURN_UNKNOWN, /* not determined yet */
	RETURN_NONE,
	RETURN_MAP,  /* in executable memory without a file: its code cannot be read */
	RETURN_CALL, /* the instruction before it is a call, or it is an exit of arch.h */
};

/* Bit of rule.flags: set for RETURN_MAP and RETURN_CALL. */
#define RULE_MAY_BE_RETURN (RETURN_MAP << RULE_RETURN_SHIFT)
_Static_assert((RETURN_MAP & RETURN_CALL) == RETURN_MAP &&
		       !(RETURN_MAP & (RETURN_UNKNOWN | RETURN_NONE)),
	       "a bit");

/* Like return_check(), also for addresses that are not in the cache. */
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

/* Like return_check(), but also uses the code before `ra` that a jitdump recorded. That code may
 * change over time, so the result is not cached. */
enum return_check return_check_jit(struct walk *w, uint64_t ra);

/* True if `ra` may be a return address: it follows a call, is in code without a file, or is where
 * signal handlers return to. */
static inline bool may_be_return(struct walk *w, uint64_t ra)
{
	struct rule_entry own;

	return return_check(w, ra) != RETURN_NONE ||
	       (ra && walk_rule(w, ra - 1, &own)->rule.flags & RULE_SIGNAL);
}

/* fallback.c: code of a JIT compiler leaves stale return addresses in its frames. Returns true if
 * `ra` at `sp` can be of the call that led to such code. */
bool may_have_called_jit(struct walk *w, const struct cursor *c, uint64_t sp, uint64_t ra);

/* The code before an address in `map` (may be NULL): up to `*n` bytes, *n is set to how many. The
 * result points to their end. NULL: none. `vaddr`: of the address. */
const uint8_t *code_before(struct walk *w, const struct map *map, uint64_t ip, size_t *n,
			   uint64_t *vaddr);

/* The target of the direct call before a return address; 0: none. */
uint64_t called_function(struct walk *w, uint64_t ra);

/* call_reach.c: false if a call of the function at `target` cannot have led to the code at `ip`, in
 * `map` (NULL, or without a file: to any such code), neither by itself nor by jumps out of it. True
 * if it can, or if that is not known. */
bool call_may_reach(struct walk *w, uint64_t target, const struct map *map, uint64_t ip);

/* call_reach.c: true if the code at `ip` is in the function at `target`. */
bool call_is_to(struct walk *w, uint64_t target, uint64_t ip);

/* True if the call before `ra` names a function that does not contain the code at `ip`, in `map`.
 * Such a function may still have led there by a jump, as V8's builtins do: so false if the code at
 * `ip` leaves by its frame pointer, since then the record is its own. */
bool calls_another(struct walk *w, const struct map *map, uint64_t ip, uint64_t ra);

/* True if `ra`, at stack address `at`, can be the return address of the call that led to the code
 * at `ip` in `map`, which is of a file. Not so if the call names another function, or if `at` is
 * not aligned as compilers align it. */
bool may_have_called_file(struct walk *w, const struct map *map, uint64_t ip, uint64_t at,
			  uint64_t ra);

#endif
