/* tracing_data.c - the formats of tracepoints, as trace.dat and perf.data hold them.
 *
 * Source: trace-cmd.dat(5), version 0.6, without its tables of kernel symbols, printk formats and
 * command names, which recordings have in other ways. */
#include "capture/tracing_data.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/syscall_event.h"
#include "capture/sysfile.h"
#include "capture/tracefs.h"
#include "reader/format.h"
#include "reader/reader.h"

#define FORMAT_BYTES_MAX ((size_t)1 << 20)

struct tracing {
	const char *tracefs;
	const struct event *events;
	size_t n;
	struct bytes *out;
	struct err *err;
};

/* u64 length, then the contents. */
static int put_file(const struct tracing *t, const char *path)
{
	size_t n;
	char *text = sysfile_read_all(path, FORMAT_BYTES_MAX, &n);

	if (!text)
		return err_errno(t->err, errno, path, "read");
	bytes_u64(t->out, n);
	bytes_put(t->out, text, n);
	free(text);
	return 0;
}

/* The format of an event, or that to which syscall_text_add() extends its samples. */
static int put_format(const struct tracing *t, const char *path, bool reads_memory)
{
	size_t n;
	char *text, *extended;

	if (!reads_memory)
		return put_file(t, path);
	text = sysfile_read_all(path, FORMAT_BYTES_MAX, &n);
	if (!text)
		return err_errno(t->err, errno, path, "read");
	extended = syscall_format_extend(text);
	free(text);
	if (!extended)
		return err_set(t->err, ERR_UNSUPPORTED, path, "not the format that is known");
	bytes_u64(t->out, strlen(extended));
	bytes_put(t->out, extended, strlen(extended));
	free(extended);
	return 0;
}

static int put_header_file(const struct tracing *t, const char *name)
{
	char path[256];

	bytes_put(t->out, name, strlen(name) + 1);
	snprintf(path, sizeof path, "%s/events/%s", t->tracefs, name);
	return put_file(t, path);
}

/* "SYSTEM:NAME:modifiers" or "SYSTEM/NAME". */
static const char *tracepoint_name(const struct event *e)
{
	return e->tracefs_name ? e->tracefs_name : e->name;
}

static size_t system_length(const struct event *e)
{
	return event_is_tracepoint(e->type) ? strcspn(tracepoint_name(e), ":/") : 0;
}

static bool same_system(const struct event *a, const struct event *b)
{
	size_t n = system_length(a);

	return n && n == system_length(b) && !memcmp(tracepoint_name(a), tracepoint_name(b), n);
}

/* Is it the first event of its system? */
static bool opens_system(const struct tracing *t, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_system(&t->events[k], &t->events[i]))
			return false;
	return system_length(&t->events[i]) > 0;
}

static int put_system(const struct tracing *t, size_t first)
{
	const struct event *system = &t->events[first];
	size_t len = system_length(system);
	uint32_t count = 0;
	char path[256];
	int rc = 0;

	for (size_t i = first; i < t->n; i++)
		count += same_system(system, &t->events[i]);
	bytes_put(t->out, tracepoint_name(system), len);
	bytes_put(t->out, "", 1);
	bytes_u32(t->out, count);
	for (size_t i = first; i < t->n && !rc; i++) {
		const char *name = tracepoint_name(&t->events[i]) + len + 1;

		if (!same_system(system, &t->events[i]))
			continue;
		snprintf(path, sizeof path, "%s/events/%.*s/%.*s/format", t->tracefs, (int)len,
			 tracepoint_name(system), (int)strcspn(name, ":"), name);
		rc = put_format(t, path, t->events[i].reads_memory);
	}
	return rc;
}

int tracing_data(const struct event *events, size_t n, const char *tracefs, struct bytes *out,
		 struct err *err)
{
	static const char magic[] = "\x17\x08\x44tracing0.6";
	struct tracing t = {.events = events, .n = n, .out = out, .err = err};
	const uint16_t order = 1;
	uint32_t systems = 0;
	int rc;

	for (size_t i = 0; i < n; i++)
		systems += opens_system(&t, i);
	if (!systems)
		return 0;
	t.tracefs = *tracefs ? tracefs : tracefs_find(err);
	if (!t.tracefs)
		return -ERR_NOT_FOUND;
	bytes_put(out, magic, sizeof magic);
	bytes_put(out, *(const uint8_t *)&order ? "\0" : "\1", 1); /* big-endian? */
	bytes_put(out, &(uint8_t){sizeof(long)}, 1);
	bytes_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
	rc = put_header_file(&t, "header_page");
	if (!rc)
		rc = put_header_file(&t, "header_event");
	bytes_u32(out, 0); /* formats of ftrace's own events */
	bytes_u32(out, systems);
	for (size_t i = 0; i < n && !rc; i++)
		if (opens_system(&t, i))
			rc = put_system(&t, i);
	bytes_u32(out, 0); /* kallsyms */
	bytes_u32(out, 0); /* printk formats */
	bytes_u64(out, 0); /* command names */
	return rc ? rc : out->failed ? err_nomem(err) : 0;
}
