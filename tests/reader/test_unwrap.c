/* test_unwrap.c - recordings packed with gzip, xz and zstd, whole and cut, from files and pipes. */
#include "tests/reader/build.h"

#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

enum { SAMPLES = 20000 };

static struct out recording(bool as_pipe)
{
	struct perf_event_attr a = plain_attr();
	struct out o = {0};

	for (uint64_t i = 1; i <= SAMPLES; i++)
		plain_sample(&o, i * 0x9e3779b97f4a7c15u >> 20, 1, i);
	return as_pipe ? pipe_of(&a, 1, &o) : file_of(&a, 1, &o);
}

static void pack_gzip(struct out *to, const struct out *from)
{
	z_stream z = {.next_in = from->v, .avail_in = (uInt)from->n};

	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(vec_reserve(to, to->n + deflateBound(&z, from->n) + 32), 0);
	z.next_out = to->v + to->n;
	z.avail_out = (uInt)(to->cap - to->n);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	to->n = (size_t)(z.next_out - to->v);
	deflateEnd(&z);
}

static void pack_xz(struct out *to, const struct out *from)
{
	assert_int_equal(vec_reserve(to, to->n + lzma_stream_buffer_bound(from->n)), 0);
	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, from->v, from->n, to->v,
						 &to->n, to->cap),
			 LZMA_OK);
}

static void pack_zstd(struct out *to, const struct out *from)
{
	size_t n;

	assert_int_equal(vec_reserve(to, to->n + ZSTD_compressBound(from->n)), 0);
	n = ZSTD_compress(to->v + to->n, to->cap - to->n, from->v, from->n, 1);
	assert_false(ZSTD_isError(n));
	to->n += n;
}

static void (*const packers[])(struct out *to, const struct out *from) = {pack_gzip, pack_xz,
									  pack_zstd};

static void whole(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof packers / sizeof *packers; k++) {
		for (int as_pipe = 0; as_pipe < 2; as_pipe++) {
			struct out plain = recording(as_pipe), packed = {0};
			struct perf_file *f;

			packers[k](&packed, &plain);
			f = open_bytes(packed);
			assert_int_equal(drain(f), SAMPLES);
			assert_false(perf_file_stats(f)->damaged);
			assert_int_equal(perf_file_info(f)->is_pipe, as_pipe);
			perf_file_close(f);
			vec_done(&plain);
		}
	}
}

/* Packers may append one packed file to another. */
static void two_members(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof packers / sizeof *packers; k++) {
		struct out plain = recording(false), packed = {0};
		struct out first = {plain.v, plain.n / 3, 0};
		struct out second = {plain.v + first.n, plain.n - first.n, 0};
		struct perf_file *f;

		packers[k](&packed, &first);
		packers[k](&packed, &second);
		f = open_bytes(packed);
		assert_int_equal(drain(f), SAMPLES);
		assert_false(perf_file_stats(f)->damaged);
		perf_file_close(f);
		vec_done(&plain);
	}
}

/* What could be unpacked is read, and a note says what is missing. */
static void cut(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof packers / sizeof *packers; k++) {
		struct out plain = recording(false), packed = {0};
		struct perf_file *f;
		size_t n;

		packers[k](&packed, &plain);
		packed.n -= packed.n / 4;
		f = open_bytes(packed);
		assert_non_null(f);
		n = drain(f);
		assert_true(n > SAMPLES / 4 && n < SAMPLES);
		assert_true(perf_file_stats(f)->damaged);
		assert_true(perf_file_note_count(f) > 0);
		perf_file_close(f);
		vec_done(&plain);
	}
}

/* Only a magic, or what unpacks to something else, is no recording. */
static void nothing_inside(void **state)
{
	static const struct out other = {(uint8_t *)(uintptr_t) "#!/bin/sh\nexit 0\n", 17, 0};

	(void)state;
	for (size_t k = 0; k < sizeof packers / sizeof *packers; k++) {
		struct out packed = {0}, head = {0};

		packers[k](&packed, &other);
		bytes(&head, packed.v, 6);
		assert_null(open_bytes(head));
		assert_null(open_bytes(packed));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(two_members),
		cmocka_unit_test(cut),
		cmocka_unit_test(nothing_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
