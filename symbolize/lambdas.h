/* lambdas.h - gives lambdas the same name from DWARF as from symbols. Private to symbolize/.
 *
 * Symbols number lambdas; names made from DWARF have a mark in place of the number
 * (DWARF_LAMBDA_MARK). A function that has both names tells which number a mark stands for. */
#ifndef SYMBOLIZE_LAMBDAS_H
#define SYMBOLIZE_LAMBDAS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/strtab.h"
#include "base/vec.h"

/* A zeroed one is empty. */
struct lambdas {
	struct strtab keys;	/* scopes and marked name of a lambda */
	struct strtab numbered; /* as symbols have it: "{lambda(int)#2}" */
	VEC(uint32_t) numbers;	/* by key: in `numbered`; LAMBDA_UNSURE */
};

bool lambda_is_marked(const char *name);
/* Both are names of one function; the symbol's is demangled. Returns 0, or -1 when out of memory.
 */
int lambdas_learn(struct lambdas *l, const char *marked, const char *symbol);
/* Replaces marks by the numbers that are known, the others by "@LINE:COLUMN". The result is in the
 * arena; NULL when out of memory. */
const char *lambdas_spell(const struct lambdas *l, const char *marked, struct arena *names);
/* Are two names equal except for numbers and marks of lambdas? */
bool lambda_same_name(const char *a, const char *b);
void lambdas_done(struct lambdas *l);

#endif
