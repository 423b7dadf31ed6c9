/* user_chain.c - call chains from branch records, and chains of two records. */
#include "reader/user_chain.h"

#include <string.h>

/* Position of the user marker in the chain, or n_ips. */
static size_t user_part(const struct perf_sample *s)
{
	size_t i = 0;

	while (i < s->n_ips && s->ips[i] != PERF_CHAIN_USER)
		i++;
	return i;
}

/* The address of the interrupted user code, as recorded. perf takes `to` of the newest branch
 * instead: the start of the function that was called, which may have jumped to another function
 * since (all PLT stubs do). */
static uint64_t leaf_address(const struct perf_sample *s, size_t user)
{
	if (user + 1 < s->n_ips && s->ips[user + 1] < PERF_CHAIN_CONTEXT_MAX)
		return s->ips[user + 1];
	return s->extra->branches[0].to;
}

int chain_from_lbr(struct perf_sample *s, struct scratch *sc)
{
	size_t user, n, i;
	uint64_t *ips;

	if (!(s->event->attr.branch_sample_type & BRANCH_CALL_STACK) || !s->extra->n_branches ||
	    !s->has_callchain)
		return 0;
	user = user_part(s);
	if (user == s->n_ips)
		return 0;
	n = user + 2 + s->extra->n_branches;
	ips = scratch_alloc(sc, n * sizeof *ips);
	if (!ips)
		return -1;
	memcpy(ips, s->ips, (user + 1) * sizeof *ips);
	ips[user + 1] = leaf_address(s, user);
	for (i = 0; i < s->extra->n_branches; i++)
		ips[user + 2 + i] = s->extra->branches[i].from;
	s->ips = ips;
	s->n_ips = n;
	s->chain_is_lbr = true;
	return 0;
}

int chain_complete(struct perf_sample *s, struct scratch *sc, const uint64_t *user, size_t n)
{
	const size_t before = s->n_ips - 2;
	const bool has_marker = n && user[0] >= PERF_CHAIN_CONTEXT_MAX;
	uint64_t *ips;

	s->n_ips = before;
	if (!n)
		return 0;
	ips = scratch_alloc(sc, (before + 1 + n) * sizeof *ips);
	if (!ips)
		return -1;
	memcpy(ips, s->ips, before * sizeof *ips);
	if (!has_marker)
		ips[s->n_ips++] = PERF_CHAIN_USER;
	memcpy(ips + s->n_ips, user, n * sizeof *ips);
	s->n_ips += n;
	s->ips = ips;
	return 0;
}
