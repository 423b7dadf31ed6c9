/* lambdas.h - one spelling for each lambda. Private to symbolize/.
 *
 * Names made from DWARF have marks where symbols number lambdas (DWARF_LAMBDA_MARK). Where a
 * function has both names, they say which number a mark stands for. */
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
/* Both are names of one function, the symbol's demangled. 0, or -1 when out of memory. */
int lambdas_learn(struct lambdas *l, const char *marked, const char *symbol);
/* The name with what was learned, or without number and mark. In the arena; NULL when out of
 * memory. */
const char *lambdas_spell(const struct lambdas *l, const char *marked, struct arena *names);
/* Are two names the same but for numbers and marks of lambdas? */
bool lambda_same_name(const char *a, const char *b);
void lambdas_done(struct lambdas *l);

#endif
