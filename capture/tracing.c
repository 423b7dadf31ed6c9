/* tracing.c - the formats of tracepoints, as trace.dat and perf.data hold them.
 *
 * Law: trace-cmd.dat(5), version 0.6, without its tables of kernel symbols, printk formats and
 * command names, which recordings tell in other ways. */
#include "capture/tracing.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/sysfile.h"

#define FORMAT_BYTES_MAX ((size_t)1 << 20)

/* u64 length, then the contents. */
static int put_file(struct bytes *out, const char *path, struct err *err)
{
	size_t n;
	char *text = sysfile_slurp(path, FORMAT_BYTES_MAX, &n);

	if (!text)
		return err_errno(err, errno, path, "read");
	bytes_u64(out, n);
	bytes_put(out, text, n);
	free(text);
	return 0;
}

static int put_header_file(struct bytes *out, const char *tracefs, const char *name,
			   struct err *err)
{
	char path[256];

	bytes_put(out, name, strlen(name) + 1);
	snprintf(path, sizeof path, "%s/events/%s", tracefs, name);
	return put_file(out, path, err);
}

static size_t system_length(const struct event *e)
{
	return e->type == PERF_TYPE_TRACEPOINT ? strcspn(e->name, ":") : 0;
}

static bool same_system(const struct event *a, const struct event *b)
{
	size_t n = system_length(a);

	return n && n == system_length(b) && !memcmp(a->name, b->name, n);
}

/* The first event of its system stands for it. */
static bool opens_system(const struct event *events, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_system(&events[k], &events[i]))
			return false;
	return system_length(&events[i]) > 0;
}

static int put_system(const struct event *events, size_t n, size_t first, const char *tracefs,
		      struct bytes *out, struct err *err)
{
	size_t len = system_length(&events[first]);
	uint32_t count = 0;
	char path[256];
	int rc = 0;

	for (size_t i = first; i < n; i++)
		count += same_system(&events[first], &events[i]);
	bytes_put(out, events[first].name, len);
	bytes_put(out, "", 1);
	bytes_u32(out, count);
	for (size_t i = first; i < n && !rc; i++) {
		const char *name = events[i].name + len + 1;

		if (!same_system(&events[first], &events[i]))
			continue;
		snprintf(path, sizeof path, "%s/events/%.*s/%.*s/format", tracefs, (int)len,
			 events[i].name, (int)strcspn(name, ":"), name);
		rc = put_file(out, path, err);
	}
	return rc;
}

int tracing_data(const struct event *events, size_t n, struct bytes *out, struct err *err)
{
	static const char magic[] = "\x17\x08\x44tracing0.6";
	const uint16_t order = 1;
	const char *tracefs;
	uint32_t systems = 0;
	int rc;

	for (size_t i = 0; i < n; i++)
		systems += opens_system(events, i);
	if (!systems)
		return 0;
	tracefs = event_tracefs(err);
	if (!tracefs)
		return -ERR_NOT_FOUND;
	bytes_put(out, magic, sizeof magic);
	bytes_put(out, *(const uint8_t *)&order ? "\0" : "\1", 1); /* big-endian? */
	bytes_put(out, &(uint8_t){sizeof(long)}, 1);
	bytes_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
	rc = put_header_file(out, tracefs, "header_page", err);
	if (!rc)
		rc = put_header_file(out, tracefs, "header_event", err);
	bytes_u32(out, 0); /* formats of ftrace's own events */
	bytes_u32(out, systems);
	for (size_t i = 0; i < n && !rc; i++)
		if (opens_system(events, i))
			rc = put_system(events, n, i, tracefs, out, err);
	bytes_u32(out, 0); /* kallsyms */
	bytes_u32(out, 0); /* printk formats */
	bytes_u64(out, 0); /* command names */
	return rc ? rc : out->failed ? err_nomem(err) : 0;
}
