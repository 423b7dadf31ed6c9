/* user_chain.h - call chains that have to be put together. Private to reader/. */
#ifndef READER_USER_CHAIN_H
#define READER_USER_CHAIN_H

#include "base/scratch.h"
#include "reader/format.h"
#include "reader/reader.h"

/* Call graphs recorded as last branches (LBR in call-stack mode): in the user part of the chain the
 * callers become where each call was made. Chains without a user part stay. 0, or -1 when out of
 * memory. */
int chain_from_lbr(struct perf_sample *s, struct scratch *sc);

/* Is the user part of the chain recorded later? Then *cookie says in which record. */
static inline bool chain_is_deferred(const struct perf_sample *s, uint64_t *cookie)
{
	if (s->n_ips < 2 || s->ips[s->n_ips - 2] != CHAIN_USER_DEFERRED)
		return false;
	*cookie = s->ips[s->n_ips - 1];
	return true;
}
/* Puts the n user ips in the place of marker and cookie. 0, or -1 when out of memory. */
int chain_complete(struct perf_sample *s, struct scratch *sc, const uint64_t *ips, size_t n);

#endif
