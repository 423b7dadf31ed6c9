/* fuzz_bundle.c - libFuzzer target: the bundle of a recording. Sums of headers are made right, so
 * that what stands behind them is reached. */
#include <string.h>

#include "base/hash.h"
#include "bundle/bundle.h"
#include "tests/fuzz.h"

static void mend(uint8_t *v, size_t n)
{
	struct bundle_header h;
	size_t at;

	for (at = 16; at + sizeof h <= n; at += 8) {
		memcpy(&h, v + at, sizeof h);
		if (h.magic != BUNDLE_ENTRY_MAGIC || h.path_bytes > n - at - sizeof h)
			continue;
		h.sum = 0;
		h.sum = hash_mix(hash_bytes(&h, sizeof h),
				 hash_bytes(v + at + sizeof h, h.path_bytes));
		memcpy(v + at, &h, sizeof h);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *v = malloc(size + 1);
	struct bundle_bytes bytes;
	struct bundle *b;
	size_t i;

	FUZZ_CHECK(v);
	if (size)
		memcpy(v, data, size);
	mend(v, size);
	if (!bundle_open(&b, v, size, NULL)) {
		for (i = 0; i < bundle_count(b); i++) {
			const struct bundle_entry *e = bundle_at(b, i);

			FUZZ_CHECK(e->stored >= v && e->stored + e->stored_bytes <= v + size);
			if (!bundle_contents(e, &bytes, NULL)) {
				FUZZ_CHECK(bytes.n == e->size && bytes.v[bytes.n] == 0);
				bundle_bytes_done(&bytes);
			}
		}
		FUZZ_CHECK(bundle_lost_bytes(b) + bundle_refused_bytes(b) <= size);
		bundle_free(b);
	}
	free(v);
	return 0;
}
