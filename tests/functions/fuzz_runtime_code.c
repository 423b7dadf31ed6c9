/* fuzz_runtime_code.c - libFuzzer target: the section of a recording that holds code of runtimes.
 */
#include "functions/functions.h"
#include "functions/jitdump.h"
#include "tests/fuzz.h"

enum { LEVELS = 64 };

static void check(const struct jitdump *d)
{
	struct jit_level levels[LEVELS];
	struct func_cursor cursor = {0};

	for (size_t i = 0; i < d->tab.funcs.n; i++) {
		const struct func *f = &d->tab.funcs.v[i];
		struct jit_unwind_info info;
		size_t n = jitdump_chain(d, f, f->end - 1, levels, LEVELS);

		for (size_t k = 0; k < n; k++)
			FUZZ_CHECK(levels[k].name && levels[k].file);
		if (jitdump_unwind_info(d, f->start, i, &info))
			FUZZ_CHECK(info.frame_kind < JIT_FRAME_KINDS && info.frame_bytes % 8 == 0);
		FUZZ_CHECK(jitdump_find(d, f->start, i, &cursor));
	}
	for (size_t i = 0; i < d->pages.n; i++) {
		const uint64_t at = d->pages.v[i].addr;
		struct jit_memory m;

		for (uint64_t time = 0; time < 8; time++)
			if (jitdump_memory(d, at + time * 600, &m))
				FUZZ_CHECK(at + time * 600 - m.start < m.n);
	}
	for (uint64_t method = 0; method < 256; method++) {
		uint64_t start = 0, end = 0;

		FUZZ_CHECK(!jitdump_bytecode(d, method, method % 3 * 1000, &start, &end) || start <= end);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_codes *codes;
	const struct jitdump *d;
	struct jitdump alone = {0};
	uint8_t *copy = malloc(size + 1);

	if (copy) { /* what is in a section, not packed */
		memcpy(copy, data, size);
		if (!jitdump_read_memory(&alone, copy, size, "", NULL))
			check(&alone);
		jitdump_done(&alone);
	}
	if (jit_codes_new(&codes, NULL, true, NULL))
		return 0;
	(void)jit_codes_give(codes, data, size, NULL);
	for (uint32_t pid = 0; pid < 16; pid++)
		if (!jit_codes_recorded(codes, pid, &d, NULL) && d)
			check(d);
	jit_codes_free(codes);
	return 0;
}
