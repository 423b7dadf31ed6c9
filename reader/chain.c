/* chain.c - call chains from branch records. */
#include "reader/chain.h"

#include <string.h>

#include "reader/format.h"

/* Position of the user marker in the chain, or n_ips. */
static size_t user_part(const struct perf_sample *s)
{
	size_t i = 0;

	while (i < s->n_ips && s->ips[i] != PERF_CHAIN_USER)
		i++;
	return i;
}

int chain_from_lbr(struct perf_sample *s, struct scratch *sc)
{
	size_t user, n, i;
	uint64_t *ips;

	if (!(s->event->attr.branch_sample_type & BRANCH_CALL_STACK) || !s->n_branches ||
	    !s->has_callchain)
		return 0;
	user = user_part(s);
	if (user == s->n_ips)
		return 0;
	n = user + 2 + s->n_branches;
	ips = scratch_alloc(sc, n * sizeof *ips);
	if (!ips)
		return -1;
	memcpy(ips, s->ips, (user + 1) * sizeof *ips);
	ips[user + 1] = s->branches[0].to;
	for (i = 0; i < s->n_branches; i++)
		ips[user + 2 + i] = s->branches[i].from;
	s->ips = ips;
	s->n_ips = n;
	s->chain_is_lbr = true;
	return 0;
}
