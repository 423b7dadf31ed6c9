/* profile_file.c - what a profile takes from its recording as a whole. */
#include "output/index.h"

int profile_set_file(struct profile *p, const struct perf_file *f, struct err *err)
{
	size_t i, n = perf_file_event_count(f);

	for (i = 0; i < n; i++)
		if (profile_name_event(p, perf_file_event(f, i), err))
			return -ERR_NOMEM;
	p->info = perf_file_info(f);
	return 0;
}
