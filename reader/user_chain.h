/* user_chain.h - call chains that are assembled from several parts. Private to reader/. */
#ifndef READER_USER_CHAIN_H
#define READER_USER_CHAIN_H

#include "base/scratch.h"
#include "reader/format.h"
#include "reader/reader.h"

/* For call graphs recorded as branches (LBR in call-stack mode): replaces the callers in the user
 * part of the chain by the addresses of the calls. Chains without a user part stay as they are.
 * Returns 0, or -1 when out of memory. */
int chain_from_lbr(struct perf_sample *s, struct scratch *sc);

/* Is the user part of the chain recorded later? Then sets *cookie, which identifies its record. */
static inline bool chain_is_deferred(const struct perf_sample *s, uint64_t *cookie)
{
	if (s->n_ips < 2 || s->ips[s->n_ips - 2] != CHAIN_USER_DEFERRED)
		return false;
	*cookie = s->ips[s->n_ips - 1];
	return true;
}
/* Replaces marker and cookie by the n addresses of the user part. Returns 0, or -1 when out of
 * memory. */
int chain_complete(struct perf_sample *s, struct scratch *sc, const uint64_t *ips, size_t n);

#endif
