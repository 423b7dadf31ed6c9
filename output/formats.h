/* formats.h - what several formats need. Private to output/. */
#ifndef OUTPUT_FORMATS_H
#define OUTPUT_FORMATS_H

#include "base/text.h"
#include "output/output.h"

/* Writers collect this much text between writes. */
#define FLUSH_BYTES 65536

/* What has no period (some hostile or very old files) counts once per sample, as in other tools. */
static inline uint64_t format_weight(const struct output_options *opt, uint64_t count,
				     uint64_t period)
{
	return opt->count_samples || !period ? count : period;
}

/* The recorded command as XML text, of a recorder what follows its "--"; at most `limit` bytes of
 * it are begun. Where it is not known what was read; nothing if that is not known either. */
void format_command(struct text *t, const struct profile *p, const struct output_options *opt,
		    size_t limit);

/* Which share of the weight of some events profile_is_stitched() stacks have: 0 .. 1. */
double format_stitched_share(const struct profile *p, const struct output_options *opt,
			     const bool *has_event);

#endif
