/* order.h - puts records into the order of time. Private to reader/.
 *
 * Records are entered as they stand in the file; each of them is an entry {time, where}. perf
 *writes a FINISHED_ROUND after it has emptied all ring buffers once. What was recorded before the
 *round began is then complete, so after a round all entries up to the highest time of the round
 *before may leave:
 *
 *	round 1: times 1..7    round 2: times 5..12 -> 1..7 leave    round 3 -> 8..12 leave
 *
 * Files without rounds are complete at their end only.
 */
#ifndef READER_ORDER_H
#define READER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct order_entry {
	uint64_t time;
	uint64_t where; /* rises in the order of entering: equal times keep it */
};

/* A zeroed order is empty. */
struct order {
	VEC(struct order_entry) v, merged;
	VEC(size_t) runs;
	size_t head; /* v[head, ready) may leave */
	size_t ready;
	uint64_t max_time;	 /* of all that entered */
	uint64_t previous_round; /* max_time when the last round finished */
	uint64_t last_left;	 /* time of the last that left */
	uint64_t n_late;	 /* left after a later one: the rounds were wrong */
};

/* Both 0, or -1 when out of memory. */
int order_push(struct order *o, uint64_t time, uint64_t where);
/* A round has finished; `all`: so has the file. */
int order_round(struct order *o, bool all);
/* The next entry that may leave; false when there is none. */
bool order_pop(struct order *o, struct order_entry *ret);
/* The next one, to look at; NULL when there is none. */
static inline const struct order_entry *order_next(const struct order *o)
{
	return o->head < o->ready ? &o->v.v[o->head] : NULL;
}
void order_done(struct order *o);

#endif
