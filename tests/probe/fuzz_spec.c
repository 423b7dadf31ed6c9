/* fuzz_spec.c - libFuzzer target: what people write to name places, and names of symbols that it is
 * compared with. The input is "SPEC\nNAME\nNAME ..". */
#include <string.h>

#include "probe/match.h"
#include "probe/probe.h"
#include "tests/fuzz.h"

/* 10 ms are thousands of times what the worst real name takes. The best of several tries counts:
 * the time of a busy machine is in the others. */
enum { NS_MAX = 10000000, TRIES = 5, NAMES_MAX = 16, BYTES_MAX = 4096 };

static void check_names(const struct probe_spec *spec, const char *at, const char *end)
{
	struct pattern p;

	pattern_init(&p, spec->what, spec->what_len);
	for (unsigned i = 0; i < NAMES_MAX && at < end; i++) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		const size_t n = (size_t)((line ? line : end) - at);
		char name[BYTES_MAX];
		uint64_t start, best = UINT64_MAX, used;

		memcpy(name, at, n < sizeof name - 1 ? n : sizeof name - 1);
		name[n < sizeof name - 1 ? n : sizeof name - 1] = 0;
		for (unsigned k = 0; k < TRIES && best > NS_MAX * FUZZ_SLOWER; k++) {
			start = fuzz_cpu_ns();
			(void)pattern_matches(&p, name);
			FUZZ_CHECK(name_distance(spec->what, spec->what_len, name, strlen(name),
						 3) <= 4);
			used = fuzz_cpu_ns() - start;
			best = used < best ? used : best;
		}
		FUZZ_CHECK(best <= NS_MAX * FUZZ_SLOWER);
		(void)fuzz_sum_bytes(pattern_display_name(&p, name), 1);
		at += n + 1;
	}
	pattern_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct probe_spec spec;
	struct err err = {0};
	char *line;
	size_t n;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	line = memchr(text, '\n', size);
	n = line ? (size_t)(line - text) : size;
	if (n > BYTES_MAX)
		n = BYTES_MAX;
	if (!probe_parse(&spec, text, n, &err)) {
		FUZZ_CHECK(spec.file >= text && spec.file + spec.file_len <= text + n);
		FUZZ_CHECK(spec.what >= text && spec.what + spec.what_len <= text + n);
		FUZZ_CHECK(spec.file_len && (spec.what_len || spec.has_address));
		check_names(&spec, line ? line + 1 : text + size, text + size);
	} else {
		FUZZ_CHECK(err.what[0]);
	}
	FUZZ_CHECK(probe_spec_length(text) <= strlen(text));
	free(text);
	return 0;
}
