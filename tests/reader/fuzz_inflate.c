/* fuzz_inflate.c - libFuzzer target: compressed records.
 *
 * The input's first byte says how: odd, the rest is taken for compressed data as it is; even, the
 * rest is records, which must read the same with and without compression, however they are cut. */
#include <linux/perf_event.h>
#include <zstd.h>

#include "tests/reader/fuzz.h"

enum { COMPRESSED = 81, HEADER_ATTR = 64, HEADER_BYTES = sizeof(struct perf_event_header) };

struct bytes {
	uint8_t *p;
	size_t n, cap;
};

static void put(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = (b->n + n) * 2;
		b->p = realloc(b->p, b->cap);
		FUZZ_CHECK(b->p);
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void put_record(struct bytes *b, uint32_t type, const void *body, size_t n)
{
	struct perf_event_header h = {.type = type, .size = (uint16_t)(HEADER_BYTES + n)};

	put(b, &h, sizeof h);
	put(b, body, n);
}

/* A pipe with one event: ip, pid/tid and time, in all records. */
static struct bytes stream_begin(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
	};
	struct bytes b = {0};

	put(&b, "PERFILE2\x10\0\0\0\0\0\0", 16);
	put_record(&b, HEADER_ATTR, &attr, sizeof attr);
	return b;
}

/* Compresses in pieces whose sizes come from the data, flushed one by one as perf does. */
static void put_compressed(struct bytes *b, const uint8_t *data, size_t size)
{
	static uint8_t out[60000];
	ZSTD_CStream *z = ZSTD_createCStream();
	size_t at = 0, rest;

	FUZZ_CHECK(z && !ZSTD_isError(ZSTD_initCStream(z, 1)));
	while (at < size) {
		size_t piece = 1 + data[at] * 7u;
		ZSTD_inBuffer in = {data + at, piece < size - at ? piece : size - at, 0};

		at += in.size;
		do {
			ZSTD_outBuffer o = {out, sizeof out, 0};

			rest = ZSTD_compressStream2(z, &o, &in, ZSTD_e_flush);
			FUZZ_CHECK(!ZSTD_isError(rest));
			put_record(b, COMPRESSED, out, o.pos);
		} while (rest);
	}
	ZSTD_freeCStream(z);
}

/* Are these whole records of the kernel, and nothing else? */
static bool is_clean(const uint8_t *data, size_t size)
{
	struct perf_event_header h;

	for (; size >= sizeof h; data += h.size, size -= h.size) {
		memcpy(&h, data, sizeof h);
		if (!h.type || h.type >= HEADER_ATTR || h.size < sizeof h || h.size > size)
			return false;
	}
	return !size;
}

static void both_ways(const uint8_t *data, size_t size)
{
	struct bytes plain = stream_begin(), packed = stream_begin();
	struct perf_file_stats a, b;

	put(&plain, data, size);
	put_compressed(&packed, data, size);
	b = fuzz_as_file(packed.p, packed.n);
	if (is_clean(data, size)) {
		a = fuzz_as_file(plain.p, plain.n);
		FUZZ_CHECK(a.samples == b.samples && a.period_sum == b.period_sum);
		FUZZ_CHECK(a.skipped_samples == b.skipped_samples && a.damaged == b.damaged);
		FUZZ_CHECK(a.lost_records == b.lost_records && a.lost_bytes == b.lost_bytes);
	}
	free(plain.p);
	free(packed.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b;

	if (size < 2 || size > 60000)
		return 0;
	if (data[0] % 2 == 0) {
		both_ways(data + 1, size - 1);
		return 0;
	}
	b = stream_begin();
	put_record(&b, COMPRESSED, data + 1, size - 1);
	fuzz_as_pipe(b.p, b.n);
	free(b.p);
	return 0;
}
