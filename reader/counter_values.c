/* counter_values.c - the last value of each counter. */
#include "reader/counter_values.h"

int counter_values_delta(struct counter_values *g, uint64_t key, uint64_t value, uint64_t *ret)
{
	uint32_t i = hash_get(&g->index, key);

	if (i == HASH_NONE) {
		if (g->last.n >= HASH_NONE || vec_push(&g->last, 0) ||
		    hash_put(&g->index, key, (uint32_t)g->last.n - 1))
			return -1;
		i = (uint32_t)g->last.n - 1;
	}
	*ret = value - g->last.v[i];
	g->last.v[i] = value;
	return 0;
}

void counter_values_done(struct counter_values *g)
{
	hash_done(&g->index);
	vec_done(&g->last);
}
