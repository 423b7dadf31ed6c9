/* dso_weights.h - how much of a profile goes through each dso. */
#ifndef CMD_DSO_WEIGHTS_H
#define CMD_DSO_WEIGHTS_H

#include "cmd/pipeline.h"

struct dso_weight {
	const struct dso *dso;
	uint64_t samples; /* whose stack goes through the dso */
};

/* All dsos with at least one sample, heaviest first. The caller frees the result; *n is 0 when out
 * of memory. */
struct dso_weight *weigh_dsos(const struct pipeline *p, size_t *n);
void dso_weights_sort(struct dso_weight *v, size_t n);
/* Number of samples that go through at least one dso with picked[dso->id] set. */
uint64_t weigh_picked(const struct pipeline *p, const bool *picked);

double percent(uint64_t part, uint64_t whole);

#endif
