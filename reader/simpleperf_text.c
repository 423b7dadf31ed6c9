/* simpleperf_text.c - simpleperf's header sections in words. */
#include <string.h>

#include "reader/header_text.h"

/* Strings in pairs. A value may have lines. */
static void tell_meta_info(struct teller *t)
{
	size_t size;
	const uint8_t *p = perf_file_feature(t->f, FEATURE_SIMPLEPERF_META_INFO, &size);
	struct buf b = buf_make(p, size, 0, t->f->swap);

	while (buf_left(&b)) {
		const char *key = buf_cstr(&b), *value = buf_cstr(&b);

		if (!key || !value)
			return;
		tell_part(t, "# simpleperf %s : ", key);
		for (const char *end; (end = strchr(value, '\n')); value = end + 1)
			tell_part(t, "%.*s;", (int)(end - value), value);
		tell(t, "%s", value);
	}
}

static void tell_symbols(struct teller *t)
{
	const struct simpleperf *sp = &t->f->simpleperf;
	uint64_t n = 0;

	for (size_t i = 0; i < sp->files.n; i++)
		n += sp->files.v[i]->pub.n;
	if (sp->files.n)
		tell(t, "# contains %" PRIu64 " symbols of %zu files", n, sp->files.n);
}

void tell_simpleperf(struct teller *t)
{
	static const struct {
		unsigned bit;
		const char *what;
	} presences[] = {
		{FEATURE_SIMPLEPERF_DEBUG_UNWIND, "stacks that could not be unwound"},
		{FEATURE_SIMPLEPERF_DEBUG_UNWIND_FILE, "files to unwind them with"},
		{FEATURE_SIMPLEPERF_ETM_BRANCH_LIST, "branch lists of ETM data"},
		{FEATURE_SIMPLEPERF_INIT_MAP, "maps from before the recording"},
	};
	size_t size;

	tell_meta_info(t);
	tell_symbols(t);
	for (size_t i = 0; i < sizeof presences / sizeof *presences; i++)
		if (perf_file_feature(t->f, presences[i].bit, &size))
			tell(t, "# contains %s (%zu bytes)", presences[i].what, size);
}
