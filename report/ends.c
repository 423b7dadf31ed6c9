/* ends.c - where stacks end that have no root. */
#include <stdlib.h>

#include "load/load.h"
#include "profile/profile.h"
#include "report/modules.h"
#include "unwind/unwind.h"

/* The outermost frame of each stack; a parent's id is smaller. NULL when out of memory. */
static uint32_t *outermost(const struct profile *p)
{
	uint32_t *top = calloc(p->nodes.n + 1, sizeof *top);

	for (size_t i = 1; top && i < p->nodes.n; i++)
		top[i] = p->nodes.v[i].parent ? top[p->nodes.v[i].parent] : (uint32_t)i;
	return top;
}

const struct profile_location *report_where_stacks_end(const struct loaded *l, enum unwind_stop why)
{
	const struct profile *p = l->profile;
	uint32_t *top = outermost(p), best = 0;
	uint64_t *sums = calloc(p->mappings.n + 1, sizeof *sums);
	uint32_t *nodes = calloc(p->mappings.n + 1, sizeof *nodes);

	for (size_t i = 0; top && sums && nodes && i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		const uint32_t at = top[s->node],
			       m = at ? p->locations.v[p->nodes.v[at].location].mapping : 0;

		if (!at || s->stop != (uint8_t)why)
			continue;
		sums[m] += s->count;
		nodes[m] = at;
		best = sums[m] > sums[best] ? m : best;
	}
	best = nodes && sums && sums[best] ? nodes[best] : 0;
	free(top);
	free(sums);
	free(nodes);
	return best ? &p->locations.v[p->nodes.v[best].location] : NULL;
}
