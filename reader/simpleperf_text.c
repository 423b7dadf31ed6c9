/* simpleperf_text.c - prints simpleperf's header sections. */
#include <string.h>

#include "reader/header_text.h"
#include "reader/reader.h"

/* Pairs of strings. A value may have several lines. */
static void print_meta_info(struct header_printer *t)
{
	size_t size;
	const uint8_t *p = perf_file_feature(t->f, FEATURE_SIMPLEPERF_META_INFO, &size);
	struct buf b = buf_make(p, size, 0, t->f->swap);

	while (buf_left(&b)) {
		const char *key = buf_cstr(&b), *value = buf_cstr(&b);

		if (!key || !value)
			return;
		print_part(t, "# simpleperf %s : ", key);
		for (const char *end; (end = strchr(value, '\n')); value = end + 1)
			print_part(t, "%.*s;", (int)(end - value), value);
		put_line(t, "%s", value);
	}
}

static void print_symbols(struct header_printer *t)
{
	const struct simpleperf *sp = &t->f->simpleperf;
	uint64_t n = 0;

	for (size_t i = 0; i < sp->files.n; i++)
		n += sp->files.v[i]->pub.n;
	if (sp->files.n)
		put_line(t, "# contains %" PRIu64 " symbols of %zu files", n, sp->files.n);
}

void print_simpleperf(struct header_printer *t)
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

	print_meta_info(t);
	print_symbols(t);
	for (size_t i = 0; i < sizeof presences / sizeof *presences; i++)
		if (perf_file_feature(t->f, presences[i].bit, &size))
			put_line(t, "# contains %s (%zu bytes)", presences[i].what, size);
}
