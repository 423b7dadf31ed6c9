/* format.c - what several formats need. */
#include "output/format.h"

#include <linux/perf_event.h>

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

bool format_is_stitched(const struct profile *p, uint32_t node)
{
	while (node && p->nodes.v[node].parent)
		node = p->nodes.v[node].parent;
	return node && p->locations.v[p->nodes.v[node].location].how == FRAME_STITCHED;
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
		if (format_is_stitched(p, s->node))
			stitched += weight;
	}
	return all > 0 ? stitched / all : 0;
}

bool format_is_clock(const struct profile_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && (e->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
						      e->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}
