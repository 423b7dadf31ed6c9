/* unseen.c - where no inlined functions are known: what was inlined into one function, and into
 * another one now, looks like a loss of the one and growth of the other. */
#include "regress/code.h"
#include "regress/judge.h"

/* has_stacks: folded stacks, which have no lines, lack nothing. */
static bool lacks(const struct regress *g, uint32_t dso, bool has_stacks)
{
	bool ran[SIDE_N] = {false}, has[SIDE_N] = {false};
	size_t i;
	int s;

	for (i = 0; i < g->self.n; i++) {
		if (g->info.v[i].dso != dso)
			continue;
		ran[SIDE_BASE] |= g->self.v[i].a > 0;
		ran[SIDE_NEW] |= g->self.v[i].b > 0;
		for (s = 0; s < SIDE_N; s++)
			has[s] |= g->info.v[i].has_lines[s] ||
				  (has_stacks && g->info.v[i].is_of_stacks[s]);
	}
	return (ran[SIDE_BASE] && !has[SIDE_BASE]) || (ran[SIDE_NEW] && !has[SIDE_NEW]);
}

bool lacks_lines(const struct regress *g, uint32_t dso)
{
	return lacks(g, dso, false);
}

/* Code into which something was inlined is longer, also if it did not exist; what lost it is
 * shorter, or gone. Where the files are not here, code may have. */
static bool code_permits(const struct regress *g, uint32_t grew, uint32_t lost)
{
	const struct code_size *to, *from;

	if (!g->code_state)
		return true;
	if (g->code_state[grew] == CODE_SAME || g->code_state[lost] == CODE_SAME)
		return false;
	to = &g->code_sizes[grew];
	from = &g->code_sizes[lost];
	return (!to->is_known || to->bytes[SIDE_NEW] > to->bytes[SIDE_BASE]) &&
	       (!from->is_known || from->bytes[SIDE_NEW] < from->bytes[SIDE_BASE]);
}

bool may_be_inlined_unseen(const struct judge *j, uint32_t grew, uint32_t lost)
{
	const struct regress *g = j->g;

	/* In other modules nothing is inlined by a compiler, or it is not known which one it is. */
	return g->info.v[grew].dso == g->info.v[lost].dso && g->info.v[grew].is_of_file &&
	       g->info.v[lost].is_of_file && lacks(g, g->info.v[grew].dso, true) &&
	       code_permits(g, grew, lost);
}
