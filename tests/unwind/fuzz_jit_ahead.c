/* fuzz_jit_ahead.c - libFuzzer target: memory with code of which only the bytes are known. The
 * first byte says which parts of it are marked as replaced. */
#include <string.h>

#include "functions/functions.h"
#include "tests/fuzz.h"
#include "unwind/jit_ahead.h"

enum { START = 0x10000, PLACES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_memory m = {.start = START, .n = JIT_PAGE_BYTES};
	uint8_t *page = size ? calloc(1, JIT_PAGE_BYTES) : NULL;
	uint64_t replaced[JIT_PAGE_BYTES / 64] = {0};

	if (!page)
		return 0;
	for (size_t i = 0; data[0] & 1 && i < JIT_PAGE_BYTES / 64; i += 1 + data[0] / 16)
		replaced[i] = (uint64_t)data[0] << i % 56;
	memcpy(page, data + 1, size - 1 < JIT_PAGE_BYTES ? size - 1 : JIT_PAGE_BYTES);
	m.bytes = page;
	m.replaced = replaced;
	for (uint64_t at = 0; at < PLACES; at++) {
		struct jit_ahead_frame f;

		if (!jit_ahead_find(NULL, &arch_x86_64, &m, START + at, &f))
			continue;
		FUZZ_CHECK(f.frame.saved_ra == 8);
		FUZZ_CHECK(f.frame.sp >= 8 || f.frame.fp_holds == CODE_FP_FRAME);
	}
	/* The last bytes, beyond which nothing is. */
	for (uint64_t at = JIT_PAGE_BYTES - 16; at < JIT_PAGE_BYTES; at++) {
		struct jit_ahead_frame f;

		(void)jit_ahead_find(NULL, &arch_x86_64, &m, START + at, &f);
	}
	free(page);
	return 0;
}
