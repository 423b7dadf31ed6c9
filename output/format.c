/* format.c - what several formats need. */
#include "output/format.h"

double format_stitched_share(const struct profile *p, const struct output_options *opt,
			     const bool *has_event)
{
	double stitched = 0, all = 0;
	size_t i;

	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		double weight = (double)format_weight(opt, s->count, s->period);

		if (!has_event[s->event])
			continue;
		all += weight;
		if (profile_is_stitched(p, s->node))
			stitched += weight;
	}
	return all > 0 ? stitched / all : 0;
}
