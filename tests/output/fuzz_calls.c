/* fuzz_calls.c - libFuzzer target: fields of tracepoints and values of parameters, told as calls. A
 * line is a digit (the event), the fields, and behind a '|' what values/ says of the parameters. */
#include <string.h>

#include "output/formats.h"
#include "tests/fuzz.h"

enum { LINES_MAX = 64, LINE_MAX_BYTES = 4096 };

static const char *const event_names[] = {
	"raw_syscalls:sys_enter",
	"raw_syscalls:sys_exit",
	"call:./p:*",
	"return:./p:*",
	"uprobe:./p:f",
	"syscalls:sys_enter_openat",
	"syscalls:sys_exit_openat",
};

enum { N_EVENTS = sizeof event_names / sizeof *event_names };

static void add_line(struct profile *p, const char *s, size_t n, uint64_t time_ns)
{
	const char *values = memchr(s, '|', n);
	const size_t trace = values ? (size_t)(values - s) : n;
	struct profile_sample sample = {.event = (uint8_t)s[0] % N_EVENTS, .pid = 1, .count = 1};
	struct profile_log_entry e = {.event = sample.event, .pid = 1, .time_ns = time_ns};

	sample.tid = e.tid = 1 + (uint8_t)s[0] / 32;
	e.trace = trace > 1 ? profile_string(p, s + 1, trace - 1) : 0;
	e.values = values ? profile_string(p, values + 1, n - trace - 1) : 0;
	FUZZ_CHECK(!profile_add_entry(p, &sample, &e, NULL));
}

static void write_as(const struct output_format *f, const struct profile *p)
{
	const struct output_options opt = {0};
	struct event_set events = {0};
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	FUZZ_CHECK(out && !event_set_make(&events, p, NULL, NULL));
	FUZZ_CHECK(!f->write(p, &opt, &events, out, NULL));
	FUZZ_CHECK(!fclose(out));
	(void)fuzz_sum_bytes(text, n);
	free(text);
	event_set_done(&events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"trace", "timeline", "perfetto", "html"};
	static struct perf_file_info info = {.arch = "x86_64"};
	struct profile *p = profile_new(PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE | PROFILE_KEEP_PIDS |
					PROFILE_KEEP_TIDS);
	const char *at = (const char *)data, *end = at + size;
	uint32_t id;

	FUZZ_CHECK(p);
	p->info = &info;
	for (size_t i = 0; i < N_EVENTS; i++)
		FUZZ_CHECK(!profile_add_event(
			p, profile_string(p, event_names[i], strlen(event_names[i])), 0, &id,
			NULL));
	for (uint64_t i = 0; i < LINES_MAX && at < end; i++) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		const size_t n = (size_t)((line ? line : end) - at);

		if (n && n < LINE_MAX_BYTES)
			add_line(p, at, n, 1000 + 1500 * i);
		at += n + 1;
	}
	p->first_ns = 1000;
	p->last_ns = 1000 + 1500 * LINES_MAX;
	/* Without samples there is nothing to write. */
	for (size_t i = 0; p->log.n && i < sizeof names / sizeof *names; i++)
		for (const struct output_format *const *f = output_formats; *f; f++)
			if (!strcmp((*f)->name, names[i]))
				write_as(*f, p);
	p->info = NULL;
	profile_free(p);
	return 0;
}
