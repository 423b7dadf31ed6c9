/* watch.c - listens to load_profile(). */
#include "cmd/watch.h"

#include "cmd/progress.h"

static void on_begin(void *arg, enum load_step step, const char *path, const uint64_t *records)
{
	switch (step) {
	case LOAD_READS:
		progress_begin("reading", input_name(path), records, records ? "records" : NULL);
		break;
	case LOAD_FETCHES:
		fetch_watch_begin(arg);
		break;
	case LOAD_NAMES:
		progress_begin("naming the code of", input_name(path), NULL, NULL);
		break;
	case LOAD_LOOKS_FOR_BINARIES:
		break;
	}
}

static void on_end(void *arg, enum load_step step)
{
	if (step == LOAD_FETCHES)
		fetch_watch_end(arg);
	else
		progress_end();
}

void watch_loading(struct load_options *opt, struct fetch_watch *w)
{
	opt->listener = (struct load_listener){on_begin, on_end, w};
	if (opt->fetch)
		opt->modules.fetch = &w->options;
}
