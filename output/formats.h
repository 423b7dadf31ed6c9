/* formats.h - functions that several formats share. Private to output/. */
#ifndef OUTPUT_FORMATS_H
#define OUTPUT_FORMATS_H

#include "base/text.h"
#include "output/output.h"

/* Writers collect this much text between writes. */
#define FLUSH_BYTES 65536

/* A sample without a period (in some hostile or very old files) counts as 1, as in other tools. */
static inline uint64_t format_weight(const struct output_options *opt, uint64_t count,
				     uint64_t period)
{
	return opt->count_samples || !period ? count : period;
}

/* Appends the recorded command as XML text (of a recorder: the part after its "--"), at most
 * `limit` bytes and the rest of a word. If it is unknown, the name of the input; nothing if that is
 * unknown, too. */
void format_command(struct text *t, const struct profile *p, const struct output_options *opt,
		    size_t limit);

/* The share, 0 .. 1, of the events' weight whose stacks are profile_is_stitched(). */
double format_stitched_share(const struct profile *p, const struct output_options *opt,
			     const bool *has_event);

/* Wall clock time of the first sample: from the recording's clock offset, if it has one, else the
 * modification time of the file minus the duration. It depends only on the input, so that the
 * output is the same in each run. 0: unknown, as for a stream. */
uint64_t format_wall_ns(const struct profile *p);

#endif
