/* format.c - what several formats need. */
#include "output/format.h"

int format_event(const struct profile *p, const struct output_options *opt, uint32_t *ret,
		 struct err *err)
{
	size_t i;

	for (i = 0; i < p->events.n; i++) {
		const struct profile_event *e = &p->events.v[i];

		if (opt->event ? !strcmp(strtab_get(&p->strings, e->name), opt->event)
			       : e->samples > 0)
			break;
	}
	if (i == p->events.n)
		return opt->event ? err_set(err, ERR_NOT_FOUND, "", "no event %s in the recording",
					    opt->event)
				  : err_set(err, ERR_NOT_FOUND, "", "no samples to write");
	if (!p->events.v[i].samples)
		return err_set(err, ERR_NOT_FOUND, "", "no samples of event %s", opt->event);
	*ret = (uint32_t)i;
	return 0;
}

double format_stitched_share(const struct profile *p, const struct output_options *opt,
			     uint32_t event)
{
	double stitched = 0, all = 0;
	size_t i;

	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		double weight = (double)format_weight(opt, s->count, s->period);

		if (s->event != event)
			continue;
		all += weight;
		if (profile_is_stitched(p, s->node))
			stitched += weight;
	}
	return all > 0 ? stitched / all : 0;
}
