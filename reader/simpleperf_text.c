/* simpleperf_text.c - simpleperf's header sections in words, in the manner of header_text.c. */
#include <inttypes.h>
#include <stdio.h>

#include "reader/file.h"

enum { TEXT_BYTES = 4096 };

static char printable(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f ? '?' : c;
}

/* Strings in pairs. A value may have lines. */
static void tell_meta_info(const struct perf_file *f, void (*say)(void *arg, const char *line),
			   void *arg)
{
	char line[TEXT_BYTES];
	size_t size;
	const uint8_t *p = perf_file_feature(f, FEATURE_SIMPLEPERF_META_INFO, &size);
	struct buf b = buf_make(p, size, 0, f->swap);

	while (buf_left(&b)) {
		const char *key = buf_cstr(&b), *value = buf_cstr(&b);

		if (!key || !value)
			return;
		snprintf(line, sizeof line, "# simpleperf %s : %s", key, value);
		for (char *c = line; *c; c++)
			*c = *c == '\n' ? ';' : printable(*c);
		say(arg, line);
	}
}

static void tell_symbols(const struct perf_file *f, void (*say)(void *arg, const char *line),
			 void *arg)
{
	char line[128];
	uint64_t n = 0;

	for (size_t i = 0; i < f->simpleperf.files.n; i++)
		n += f->simpleperf.files.v[i]->pub.n;
	if (!f->simpleperf.files.n)
		return;
	snprintf(line, sizeof line, "# contains %" PRIu64 " symbols of %zu files", n,
		 f->simpleperf.files.n);
	say(arg, line);
}

void simpleperf_header(const struct perf_file *f, void (*say)(void *arg, const char *line),
		       void *arg)
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
	char line[128];
	size_t size;

	tell_meta_info(f, say, arg);
	tell_symbols(f, say, arg);
	for (size_t i = 0; i < sizeof presences / sizeof *presences; i++) {
		if (!f->features->v[presences[i].bit].present)
			continue;
		perf_file_feature(f, presences[i].bit, &size);
		snprintf(line, sizeof line, "# contains %s (%zu bytes)", presences[i].what, size);
		say(arg, line);
	}
}
