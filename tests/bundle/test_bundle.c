/* test_bundle.c - what is put into a bundle comes out of it; what is damaged does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "bundle/bundle.h"

static const struct build_id id = {.size = 4, .bytes = {1, 2, 3, 4}};

/* A file of 1 MiB with two ranges, a perf map, another file without build id. */
static struct bundle_blob make(void)
{
	static const uint8_t a[] = "first", b[] = "second", text[] = "10 20 f\n";
	const struct bundle_range holes[] = {{0, sizeof a, a}, {0x80000, sizeof b, b}};
	const struct bundle_range all = {0, sizeof text - 1, text};
	struct bundle_blob out = {0};

	assert_int_equal(bundle_begin(&out), 0);
	assert_int_equal(bundle_put(&out,
				    &(struct bundle_entry){.kind = BUNDLE_IMAGE,
							   .path = "/bin/x",
							   .id = id,
							   .size = 1 << 20},
				    holes, 2, 3),
			 0);
	assert_int_equal(
		bundle_put(&out,
			   &(struct bundle_entry){.kind = BUNDLE_FILE, .path = "/tmp/perf-1.map"},
			   &all, 1, 3),
		0);
	assert_int_equal(bundle_put(&out,
				    &(struct bundle_entry){.kind = BUNDLE_IMAGE,
							   .path = "/bin/y",
							   .ino = 7,
							   .maj = 8,
							   .size = 100},
				    holes, 1, 3),
			 0);
	return out;
}

static void comes_back(void **state)
{
	struct bundle_blob out = make();
	const struct bundle_entry *e;
	struct bundle_bytes bytes;
	struct bundle *b;
	struct dso dso = {.path = "/else", .build_id = id};

	(void)state;
	assert_int_equal(bundle_open(&b, out.v, out.n, NULL), 0);
	assert_int_equal(bundle_count(b), 3);
	assert_int_equal(bundle_lost_bytes(b), 0);
	e = bundle_find(b, BUNDLE_IMAGE, &dso);
	assert_non_null(e);
	assert_int_equal(bundle_contents(e, &bytes, NULL), 0);
	assert_int_equal(bytes.n, 1 << 20);
	assert_string_equal((char *)bytes.v, "first");
	assert_string_equal((char *)bytes.v + 0x80000, "second");
	assert_int_equal(bytes.v[0x7ffff], 0);
	bundle_bytes_done(&bytes);
	e = bundle_find_path(b, BUNDLE_FILE, "/tmp/perf-1.map");
	assert_non_null(e);
	assert_int_equal(bundle_contents(e, &bytes, NULL), 0);
	assert_string_equal((char *)bytes.v, "10 20 f\n");
	bundle_bytes_done(&bytes);
	dso = (struct dso){.path = "/bin/y", .ino = 7, .maj = 8};
	assert_non_null(bundle_find(b, BUNDLE_IMAGE, &dso));
	dso.ino = 9; /* another file at that path */
	assert_null(bundle_find(b, BUNDLE_IMAGE, &dso));
	dso = (struct dso){.path = "/bin/x", .ino = 7, .maj = 8};
	assert_null(bundle_find(b, BUNDLE_IMAGE, &dso));
	bundle_free(b);
	vec_done(&out);
}

/* Files with one build id and other code: the path tells which. */
static void twins(void **state)
{
	static const char *const paths[] = {"/a", "/b"};
	const struct bundle_range all = {0, 1, (const uint8_t *)"x"};
	struct dso dso = {.path = "/b", .build_id = id};
	struct bundle_blob out = {0};
	struct bundle *b;
	size_t i;

	(void)state;
	assert_int_equal(bundle_begin(&out), 0);
	for (i = 0; i < 2; i++) {
		const struct bundle_entry e = {.kind = BUNDLE_IMAGE,
					       .path = paths[i],
					       .id = id,
					       .size = 1,
					       .flags = BUNDLE_IS_TWIN};

		assert_int_equal(bundle_put(&out, &e, &all, 1, 3), 0);
	}
	assert_int_equal(bundle_open(&b, out.v, out.n, NULL), 0);
	assert_true(bundle_has_twins(b, &id));
	assert_string_equal(bundle_find(b, BUNDLE_IMAGE, &dso)->path, "/b");
	assert_string_equal(bundle_find_id(b, BUNDLE_IMAGE, &id, "/a")->path, "/a");
	dso.path = "/c";
	assert_null(bundle_find(b, BUNDLE_IMAGE, &dso));
	bundle_free(b);
	vec_done(&out);
}

enum { BIG_BYTES = 3 << 20, BIG_RANGES = 900 };

/* A file with this many ranges, near and far, small and larger than what is written at once; a
 * damaged one may have them in any order, and one over the other. */
static void many_ranges(bool in_order, bool small_files)
{
	static uint8_t bytes_of[1 << 20], want[BIG_BYTES + 1];
	const struct rlimit small = {4096, RLIM_INFINITY};
	struct bundle_range ranges[BIG_RANGES];
	struct bundle_blob out = {0};
	struct bundle_entry e = {.kind = BUNDLE_IMAGE, .path = "/big", .size = BIG_BYTES};
	struct bundle_bytes bytes;
	struct bundle *b;
	struct rlimit before;
	uint64_t at = 5, i;

	for (i = 0; i < sizeof bytes_of; i++)
		bytes_of[i] = (uint8_t)(1 + i * 2654435761u % 255);
	memset(want, 0, sizeof want);
	for (i = 0; i < BIG_RANGES; i++) {
		const uint64_t size = i == 400 ? 600 << 10 : 1 + i * 7919 % 700;

		if (!in_order)
			at = i * 104729 * 31 % (BIG_BYTES - (600 << 10));
		ranges[i] = (struct bundle_range){at, size, bytes_of + i};
		memcpy(want + at, bytes_of + i, (size_t)size);
		at += size + (i % 50 ? i % 90 : 20000);
	}
	assert_true(at < BIG_BYTES);
	assert_int_equal(bundle_begin(&out) | bundle_put(&out, &e, ranges, BIG_RANGES, 1), 0);
	assert_int_equal(bundle_open(&b, out.v, out.n, NULL), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	if (small_files)
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(bundle_contents(bundle_at(b, 0), &bytes, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(bytes.n, BIG_BYTES);
	assert_memory_equal(bytes.v, want, BIG_BYTES + 1);
	bytes.v[at] = 1; /* they are the caller's */
	bundle_bytes_done(&bytes);
	bundle_free(b);
	vec_done(&out);
}

static void ranges(void **state)
{
	(void)state;
	many_ranges(true, false);
	many_ranges(false, false);
	/* Where no file may get that large, in memory of its own. */
	many_ranges(true, true);
	many_ranges(false, true);
}

/* Every byte flipped, every length cut: nothing crashes, and what opens is what was put in. */
static void damage(void **state)
{
	struct bundle_blob out = make();
	struct bundle_bytes bytes;
	struct bundle *b;
	size_t i, k, n;

	(void)state;
	for (i = 0; i < out.n; i++) {
		out.v[i] ^= 0x10;
		n = 0;
		if (!bundle_open(&b, out.v, out.n, NULL)) {
			n = bundle_count(b);
			assert_true(n >= 2 || i < 16);
			assert_true(n == 3 || bundle_lost_bytes(b) > 0);
			for (k = 0; k < n; k++)
				if (!bundle_contents(bundle_at(b, k), &bytes, NULL)) {
					assert_true(bytes.v[0] == 'f' || bytes.v[0] == '1');
					bundle_bytes_done(&bytes);
				}
			bundle_free(b);
		} else {
			assert_true(i < 12);
		}
		out.v[i] ^= 0x10;
	}
	for (i = 0; i < out.n; i++)
		if (!bundle_open(&b, out.v, i, NULL)) {
			assert_true(bundle_count(b) < 3 || i > out.n - 8);
			bundle_free(b);
		}
	vec_done(&out);
}

/* Sizes that a file can claim but not have. */
static void claims(void **state)
{
	struct bundle_blob out = make();
	struct bundle_bytes bytes;
	struct bundle_entry e;
	struct bundle *b;

	(void)state;
	assert_int_equal(bundle_open(&b, out.v, out.n, NULL), 0);
	e = *bundle_at(b, 0);
	e.size = 1ull << 60;
	assert_int_equal(bundle_contents(&e, &bytes, NULL), -ERR_LIMIT);
	e = *bundle_at(b, 0);
	e.packed = 1ull << 40;
	assert_int_equal(bundle_contents(&e, &bytes, NULL), -ERR_LIMIT);
	e = *bundle_at(b, 0);
	e.size = 10; /* the second range is outside */
	assert_int_equal(bundle_contents(&e, &bytes, NULL), -ERR_DAMAGED);
	bundle_free(b);
	vec_done(&out);
}

/* Small entries of much that is equal: together they would take a gigabyte. */
static void bomb(void **state)
{
	static uint8_t zeros[8 << 20];
	const struct bundle_range all = {0, sizeof zeros, zeros};
	struct bundle_blob out = {0};
	struct bundle_bytes bytes;
	struct bundle *b;
	size_t i, n = 0;

	(void)state;
	assert_int_equal(bundle_begin(&out), 0);
	for (i = 0; i < 128; i++)
		assert_int_equal(bundle_put(&out,
					    &(struct bundle_entry){.kind = BUNDLE_FILE,
								   .path = "/tmp/perf-1.map"},
					    &all, 1, 3),
				 0);
	assert_true(out.n < 1 << 18);
	assert_int_equal(bundle_open(&b, out.v, out.n, NULL), 0);
	assert_true(bundle_count(b) > 0 && bundle_refused_bytes(b) > 0);
	for (i = 0; i < bundle_count(b); i++) {
		assert_int_equal(bundle_contents(bundle_at(b, i), &bytes, NULL), 0);
		n += bytes.n;
		bundle_bytes_done(&bytes);
	}
	assert_true(n <= (64u << 20) + 64 * out.n);
	bundle_free(b);
	vec_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back), cmocka_unit_test(twins),	cmocka_unit_test(ranges),
		cmocka_unit_test(damage),     cmocka_unit_test(claims), cmocka_unit_test(bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
