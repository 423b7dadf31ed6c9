/* header_bundle.c - what a recording carries, as lines of its header. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bundle/bundle.h"
#include "load/pipeline.h"

enum { FIELDS = 4 }; /* "PID NSPID CGROUP EXE"; arguments are not shown */

static void say_files(const struct bundle *b, void (*say)(void *arg, const char *line), void *arg)
{
	uint64_t bytes = 0;
	char line[128];
	size_t i, n = 0;

	for (i = 0; i < bundle_count(b); i++) {
		n += bundle_at(b, i)->kind == BUNDLE_IMAGE;
		bytes += bundle_at(b, i)->stored_bytes;
	}
	snprintf(line, sizeof line, "# bundle : %zu modules, %" PRIu64 " kB", n,
		 (bytes + 999) / 1000);
	say(arg, line);
}

/* Returns how many fields the line has, at most FIELDS. */
static unsigned split(const char *line, size_t n, const char *at[FIELDS], size_t len[FIELDS])
{
	const char *end = line + n;
	unsigned i;

	for (i = 0; i < FIELDS && line <= end; i++) {
		const char *tab = memchr(line, '\t', (size_t)(end - line));

		at[i] = line;
		len[i] = (size_t)((tab ? tab : end) - line);
		line = (tab ? tab : end) + 1;
	}
	return i;
}

static void say_process(struct text *t, const char *line, size_t n,
			void (*say)(void *arg, const char *line), void *arg)
{
	static const char *const before[FIELDS] = {"# process : pid ", ", in its container ",
						   ", cgroup ", ", exe "};
	const char *at[FIELDS];
	size_t len[FIELDS];
	unsigned i, have = split(line, n, at, len);
	const char *mark;

	if (have < FIELDS || !len[0] || !(len[2] + len[3]))
		return;
	mark = memchr(at[0], '@', len[0]);
	len[0] = mark ? (size_t)(mark - at[0]) : len[0];
	t->n = 0;
	for (i = 0; i < FIELDS; i++) {
		if (i == 1 && len[1] == len[0] && !memcmp(at[0], at[1], len[0]))
			continue; /* in no container */
		if (!len[i])
			continue;
		text_str(t, before[i]);
		text_clean(t, at[i], len[i]);
	}
	text_char(t, 0);
	if (!t->failed)
		say(arg, t->s);
}

void header_bundle(const struct bundle *b, void (*say)(void *arg, const char *line), void *arg)
{
	const struct bundle_entry *e = bundle_find_path(b, BUNDLE_PROCESSES, NULL);
	struct bundle_bytes bytes;
	const char *line, *end;
	struct text t = {0};
	size_t n;

	if (!bundle_count(b))
		return;
	say_files(b, say, arg);
	if (!e || bundle_contents(e, &bytes, NULL))
		return;
	end = (const char *)bytes.v + bytes.n;
	for (line = (const char *)bytes.v; line < end; line += n + 1) {
		const char *next = memchr(line, '\n', (size_t)(end - line));

		n = (size_t)((next ? next : end) - line);
		say_process(&t, line, n, say, arg);
	}
	text_done(&t);
	bundle_bytes_done(&bytes);
}
