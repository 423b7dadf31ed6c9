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

void format_command(struct text *t, const struct profile *p, const struct output_options *opt,
		    size_t limit)
{
	const struct perf_file_info *info = p->info;
	size_t i, from = 0, start = t->n;

	for (i = 0; info && i + 1 < info->n_cmdline && !from; i++)
		from = strcmp(info->cmdline[i], "--") ? 0 : i + 1;
	for (i = from; info && i < info->n_cmdline && t->n - start < limit; i++) {
		text_str(t, i > from ? " " : "");
		text_xml(t, info->cmdline[i], strlen(info->cmdline[i]));
	}
	if (t->n == start && opt->source)
		text_xml(t, opt->source, strlen(opt->source));
}
