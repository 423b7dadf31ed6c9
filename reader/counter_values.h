/* counter_values.h - counter values of samples with PERF_SAMPLE_READ. Private to reader/.
 *
 * Counters rise for as long as they count; a sample stands for what they rose by since the last
 * one. */
#ifndef READER_COUNTER_VALUES_H
#define READER_COUNTER_VALUES_H

#include "base/hash.h"
#include "base/vec.h"

/* Zeroed: nothing seen. */
struct counter_values {
	struct hash_table index; /* of id, or id and tid */
	VEC(uint64_t) last;
};

/* What the counter `key` rose by to `value`. 0, or -1 when out of memory. */
int counter_values_delta(struct counter_values *g, uint64_t key, uint64_t value, uint64_t *ret);
void counter_values_done(struct counter_values *g);

#endif
