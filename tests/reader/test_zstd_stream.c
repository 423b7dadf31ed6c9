/* test_zstd_stream.c - COMPRESSED and COMPRESSED2: records across their bounds, wrong sizes of
 * perf 6.16, damage. */
#include "tests/reader/build.h"

#include <stdlib.h>
#include <zstd.h>

#include "reader/block.h"

/* Samples as one zstd frame. `noise` bytes of raw data do not compress. */
static struct out zstd_samples(size_t n, size_t noise, struct perf_event_attr *a)
{
	struct out plain = {0}, packed = {0};
	uint64_t x = 1;
	size_t size;

	*a = plain_attr();
	a->sample_type |= PERF_SAMPLE_RAW;
	for (size_t i = 1; i <= n; i++) {
		size_t r = rec(&plain, PERF_RECORD_SAMPLE, 0);

		u64(&plain, i);
		u64(&plain, 1);
		u64(&plain, i);
		u32(&plain, (uint32_t)noise + 4);
		for (size_t k = 0; k < noise; k += 8, x = x * 6364136223846793005u + 1)
			u64(&plain, x ^ x >> 29);
		u32(&plain, 0);
		end(&plain, r);
	}
	assert_int_equal(vec_reserve(&packed, ZSTD_compressBound(plain.n)), 0);
	size = ZSTD_compress(packed.v, packed.cap, plain.v, plain.n, 1);
	assert_false(ZSTD_isError(size));
	packed.n = size;
	vec_done(&plain);
	return packed;
}

/* COMPRESSED records of `piece` bytes each: records within span them. */
static void compressed(void **state)
{
	static const size_t pieces[] = {8, 56, 1000, 60000};
	struct perf_event_attr a;
	struct out packed = zstd_samples(500, 600, &a);

	(void)state;
	for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
		for (int type = RECORD_COMPRESSED; type <= RECORD_COMPRESSED2; type += 2) {
			struct perf_file *f;
			struct out o = {0};

			for (size_t at = 0; at < packed.n; at += pieces[k]) {
				size_t n = packed.n - at < pieces[k] ? packed.n - at : pieces[k];
				size_t r = rec(&o, (uint32_t)type, 0);

				if (type == RECORD_COMPRESSED2)
					u64(&o, n);
				bytes(&o, packed.v + at, n);
				if (type == RECORD_COMPRESSED2)
					bytes(&o, "\0\0\0\0\0\0\0", -n & 7);
				end(&o, r);
				if (at % 3 == 0)
					header_only(&o, RECORD_FINISHED_ROUND);
			}
			f = open_bytes(file_of(&a, 1, &o));
			assert_int_equal(drain(f), 500);
			assert_false(perf_file_stats(f)->damaged);
			assert_true(perf_file_info(f)->is_compressed);
			perf_file_close(f);
		}
	}
	vec_done(&packed);
}

/* perf 6.16: one size for all records that were written at once, modulo 2^16, and no padding. The
 * first says how much follows, the others have wrong data sizes. */
static void compressed2_overflow(void **state)
{
	static const size_t totals[] = {65529, 65535, 100000, 180000};
	struct perf_event_attr a;
	struct out packed = zstd_samples(500, 600, &a);

	(void)state;
	assert_true(packed.n > 250000);
	for (size_t k = 0; k < sizeof totals / sizeof *totals; k++) {
		struct perf_file *f;
		struct out o = {0}, region = {0};
		size_t at = 0, header = 16;
		uint16_t size;
		uint64_t data_size;

		/* The records that were made first, each at most 65535 bytes. */
		while (region.n < totals[k]) {
			size_t room = totals[k] - region.n < 65535 ? totals[k] - region.n : 65535;
			size_t r = rec(&region, RECORD_COMPRESSED2, 0);

			u64(&region, 0xdeadbeefdeadbeef);
			bytes(&region, packed.v + at, room - header);
			at += room - header;
			end(&region, r);
		}
		/* Then perf set this in the first of them. */
		size = (uint16_t)((region.n + 7) & ~7ull);
		data_size = region.n - header;
		memcpy(region.v + 6, &size, 2);
		memcpy(region.v + 8, &data_size, 8);
		bytes(&o, region.v, region.n);
		vec_done(&region);
		header_only(&o, RECORD_FINISHED_ROUND);
		while (at < packed.n) {
			size_t n = packed.n - at < 60000 ? packed.n - at : 60000;
			size_t r = rec(&o, RECORD_COMPRESSED2, 0);

			u64(&o, n);
			bytes(&o, packed.v + at, n);
			bytes(&o, "\0\0\0\0\0\0\0", -n & 7);
			end(&o, r);
			at += n;
		}
		f = open_bytes(file_of(&a, 1, &o));
		assert_int_equal(drain(f), 500);
		assert_false(perf_file_stats(f)->damaged);
		assert_int_equal(perf_file_note_count(f), 1);
		perf_file_close(f);
	}
	vec_done(&packed);
}

/* A frame that breaks between two good ones costs only itself. */
static void compressed_damage(void **state)
{
	struct perf_event_attr a;
	struct out packed = zstd_samples(100, 600, &a), o = {0};
	const struct perf_file_stats *s;
	struct perf_file *f;

	(void)state;
	for (int frame = 0; frame < 3; frame++) {
		for (size_t at = 0; at < packed.n; at += 10000) {
			size_t n = packed.n - at < 10000 ? packed.n - at : 10000;
			size_t r = rec(&o, RECORD_COMPRESSED2, 0), start;

			u64(&o, n);
			start = o.n;
			bytes(&o, packed.v + at, n);
			if (frame == 1 && !at)
				memset(o.v + start + 4, 0xff, 8); /* behind the magic */
			bytes(&o, "\0\0\0\0\0\0\0", -n & 7);
			end(&o, r);
		}
		header_only(&o, RECORD_FINISHED_ROUND);
	}
	f = open_bytes(file_of(&a, 1, &o));
	drain(f);
	s = perf_file_stats(f);
	assert_int_equal(s->samples, 200);
	assert_true(s->skips[PERF_SKIP_COMPRESSION] > 0);
	assert_true(s->damaged);
	perf_file_close(f);
	vec_done(&packed);
}

/* Offsets within decompressed data say that they are: no byte of the file is there. */
static void damage_inside(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct out plain = {0}, packed = {0}, o = {0};
	const uint16_t no_size = 3;
	struct perf_file *f;
	size_t r = 0;

	(void)state;
	for (size_t i = 1; i <= 20; i++) {
		plain_sample(&plain, 0x401000, 1, i);
		if (i == 10)
			r = plain.n;
	}
	memcpy(plain.v + r + 6, &no_size, sizeof no_size);
	assert_int_equal(vec_reserve(&packed, ZSTD_compressBound(plain.n)), 0);
	packed.n = ZSTD_compress(packed.v, packed.cap, plain.v, plain.n, 1);
	r = rec(&o, RECORD_COMPRESSED, 0);
	bytes(&o, packed.v, packed.n);
	end(&o, r);
	f = open_bytes(file_of(&a, 1, &o));
	assert_in_range(drain(f), 10, 19);
	assert_true(perf_file_stats(f)->damaged);
	assert_int_equal(perf_file_note_count(f), 1);
	assert_non_null(strstr(perf_file_note(f, 0), " of the decompressed data"));
	perf_file_close(f);
	vec_done(&plain);
	vec_done(&packed);
}

/* The payload of AUXTRACE stands behind the record, outside of its size, also in compressed data.
 * It is made to look like samples, which must not be taken for some. Cut off, it costs only itself.
 */
static void payload_in_compressed(void **state)
{
	static const size_t payloads[] = {8, 4000, BLOCK_BYTES, 3 * BLOCK_BYTES + 8},
			    pieces[] = {56, 30000};

	(void)state;
	for (size_t k = 0; k < 2 * sizeof payloads / sizeof *payloads; k++) {
		const size_t payload = payloads[k / 2], piece = pieces[k % 2];
		struct perf_event_attr a = plain_attr();
		struct out plain = {0}, packed = {0}, o = {0};
		struct perf_file *f;

		for (int cut = 0; cut < 2; cut++) {
			size_t r, stop;

			plain_sample(&plain, 1, 1, 1);
			r = rec(&plain, RECORD_AUXTRACE, 0);
			u64(&plain, payload);
			for (int i = 0; i < 4; i++)
				u64(&plain, 0);
			end(&plain, r);
			for (stop = plain.n + payload; plain.n + 32 <= stop;)
				plain_sample(&plain, 2, 1, 2);
			while (plain.n < stop)
				bytes(&plain, "\377", 1);
			if (cut)
				plain.n -= payload / 2;
			else
				plain_sample(&plain, 3, 1, 3);
			assert_int_equal(vec_reserve(&packed, ZSTD_compressBound(plain.n)), 0);
			packed.n = ZSTD_compress(packed.v, packed.cap, plain.v, plain.n, 1);
			for (size_t at = 0; at < packed.n; at += piece) {
				r = rec(&o, RECORD_COMPRESSED, 0);
				bytes(&o, packed.v + at,
				      packed.n - at < piece ? packed.n - at : piece);
				end(&o, r);
			}
			f = open_bytes(file_of(&a, 1, &o));
			assert_int_equal(drain(f), cut ? 1 : 2);
			assert_int_equal(perf_file_stats(f)->sample_records, cut ? 1 : 2);
			assert_int_equal(perf_file_stats(f)->damaged, cut);
			perf_file_close(f);
			plain.n = o.n = 0;
			vec_done(&packed);
		}
		vec_done(&plain);
	}
}

/* Zeros without end, in a stream of compressed data that is two thousand times smaller: given up a
 * little behind the first GiB, and said so. */
static void endless_zeros(void **state)
{
	enum { CHUNK = 1 << 20, CHUNKS = 2 << 10 };
	struct perf_event_attr a;
	struct out first = zstd_samples(10, 8, &a), o = {0};
	ZSTD_CStream *z = ZSTD_createCStream();
	static uint8_t packed[60000];
	uint8_t *zeros = calloc(1, CHUNK);
	struct perf_file *f;
	struct perf_batch *b;
	struct err err = {0};
	size_t r = rec(&o, RECORD_COMPRESSED, 0);
	int rc;

	(void)state;
	bytes(&o, first.v, first.n);
	end(&o, r);
	assert_non_null(zeros);
	ZSTD_initCStream(z, 1);
	for (int i = 0; i < CHUNKS; i++) {
		ZSTD_inBuffer in = {zeros, CHUNK, 0};
		ZSTD_outBuffer out = {packed, sizeof packed, 0};

		assert_false(ZSTD_isError(ZSTD_compressStream2(
			z, &out, &in, i % 64 == 63 ? ZSTD_e_flush : ZSTD_e_continue)));
		assert_int_equal(in.pos, CHUNK);
		r = rec(&o, RECORD_COMPRESSED, 0);
		bytes(&o, packed, out.pos);
		end(&o, r);
	}
	f = open_bytes(pipe_of(&a, 1, &o));
	while ((rc = perf_file_read(f, &b, &err)) > 0)
		perf_batch_release(f, b);
	assert_int_equal(rc, -ERR_LIMIT);
	assert_non_null(strstr(err.what, "grows"));
	assert_true(perf_file_stats(f)->lost_bytes <= (1u << 30) + (64u << 20));
	perf_file_close(f);
	ZSTD_freeCStream(z);
	free(zeros);
	vec_done(&first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compressed),
		cmocka_unit_test(compressed2_overflow),
		cmocka_unit_test(compressed_damage),
		cmocka_unit_test(damage_inside),
		cmocka_unit_test(payload_in_compressed),
		cmocka_unit_test(endless_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
