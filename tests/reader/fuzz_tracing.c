/* fuzz_tracing.c - libFuzzer target: descriptions of tracepoints, and samples of them in words.
 *
 * The input: u16 size of the raw bytes of a sample, these, then TRACING_DATA. Every event that it
 * describes is printed with them, which begin with its number, or as they are. */
#include <string.h>

#include "reader/tracing.h"
#include "tests/fuzz.h"

enum { EVENTS_MAX = 64, TEXT_MAX = 8 << 20 };

/* The library forgets parts of formats that it gives up. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent\n";
}

struct ids {
	uint64_t v[EVENTS_MAX];
	unsigned n;
};

static int take_id(void *arg, const char *system, const char *format, size_t n)
{
	struct ids *ids = arg;
	const char *name;
	size_t len;

	FUZZ_CHECK(system);
	if (ids->n < EVENTS_MAX && tracing_name(format, n, &name, &len, &ids->v[ids->n])) {
		fuzz_sum_bytes(name, len);
		ids->n++;
	}
	return 0;
}

static const char *name_function(void *arg, const struct address_space *kernel, uint64_t ip,
				 uint64_t *start)
{
	(void)arg;
	(void)kernel;
	*start = ip & ~(uint64_t)15;
	return ip & 16 ? "function" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct function_namer by = {name_function, NULL};
	struct perf_event event = {.index = 0};
	struct perf_sample_extra extra = {0};
	struct perf_sample sample = {
		.event = &event, .extra = &extra, .kernel = (const void *)&event};
	struct tracepoints *t;
	struct tracing_loss loss;
	struct tracing_head head;
	struct text text = {0};
	struct ids ids = {0};
	uint8_t bytes[UINT16_MAX];
	size_t raw = size >= 2 ? data[0] | (size_t)data[1] << 8 : 0;

	if (size < 2)
		return 0;
	raw = raw < size - 2 ? raw : size - 2;
	memcpy(bytes, data + 2, raw);
	extra.raw = bytes;
	extra.raw_size = (uint32_t)raw;
	data += 2 + raw;
	size -= 2 + raw;
	tracing_walk(data, size, &head, take_id, &ids);
	t = tracepoints_new(data, size, &loss);
	for (unsigned i = 0; t && i < 2 * ids.n; i++) {
		event.attr.config = ids.v[i / 2];
		text.n = 0;
		if (i % 2 && raw >= sizeof(uint16_t))
			memcpy(bytes, &event.attr.config, sizeof(uint16_t));
		if (tracepoints_print(t, &sample, &by, &text))
			FUZZ_CHECK(text.n <= TEXT_MAX);
	}
	text_done(&text);
	tracepoints_free(t);
	return 0;
}
