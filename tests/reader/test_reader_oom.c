/* test_reader_oom.c - every allocation of the reader fails once: an error, never a crash, and
 * nothing is leaked. */
#include "tests/reader/build.h"
#include "tests/failing_malloc.h"

#ifdef SANITIZED

int main(void)
{
	puts("1..1\nok 1 - out of memory # SKIP the sanitizer's allocator cannot be replaced");
	return 0;
}

#else

#include <fcntl.h>
#include <stdlib.h>
#include <zstd.h>

static void feature(struct out *o, uint64_t bit, const char *text, size_t n)
{
	size_t r = rec(o, RECORD_HEADER_FEATURE, 0);

	u64(o, bit);
	u32(o, (uint32_t)n);
	bytes(o, text, n);
	end(o, r);
}

/* Groups, branch and deferred chains, maps, names: what takes memory. Scrambled times make samples
 * wait. */
static void some_records(struct out *o)
{
	for (uint64_t i = 0; i < 400; i++) {
		size_t r = rec(o, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);

		u64(o, i % 2 ? 10 : 20);
		u64(o, 0xffff1);
		u32(o, (uint32_t)(i % 7));
		u32(o, (uint32_t)(i % 7));
		u64(o, 1 + i * 7 % 400);
		u64(o, 2); /* group of two */
		u64(o, i);
		u64(o, 10);
		u64(o, i * 2);
		u64(o, 20);
		u64(o, 4);
		u64(o, PERF_CHAIN_KERNEL);
		u64(o, 0xffff1);
		u64(o, i % 3 ? PERF_CHAIN_USER : CHAIN_USER_DEFERRED);
		u64(o, i / 64);
		u64(o, 1);
		for (int k = 0; k < 3; k++)
			u64(o, 0x1000);
		end(o, r);
		if (i % 64 == 63) {
			r = rec(o, RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER);
			u64(o, i / 64);
			u64(o, 1);
			u64(o, 0x4000);
			u32(o, (uint32_t)(i % 7));
			u32(o, (uint32_t)(i % 7));
			u64(o, 1 + i);
			u64(o, 10);
			end(o, r);
			header_only(o, RECORD_FINISHED_ROUND);
		}
	}
}

/* Symbols in the header and in records, a list in pieces and one that is large, late ids, a chain.
 */
static void parts_of_simpleperf(struct out *o)
{
	struct out v = {0}, big = {0};
	size_t r;

	bytes(&v, "/system/lib64/libc.so", 22);
	u32(&v, 2);
	u64(&v, 0x1000);
	u32(&v, 1);
	u64(&v, 0x2000);
	u32(&v, 16);
	bytes(&v, "memcpy", 7);
	u64(&v, 0);
	feature(o, FEATURE_SIMPLEPERF_FILE, (const char *)v.v, v.n);
	vec_done(&v);
	r = rec(o, RECORD_SIMPLEPERF_DSO, 0);
	for (int i = 0; i < 3; i++)
		u64(o, 2);
	str(o, "/system/bin/sh");
	end(o, r);
	r = rec(o, RECORD_SIMPLEPERF_SYMBOL, 0);
	for (int i = 0; i < 3; i++)
		u64(o, 2);
	str(o, "main");
	end(o, r);
	r = rec(o, RECORD_SIMPLEPERF_EVENT_ID, 0);
	u64(o, 1);
	u64(o, 0);
	u64(o, 30);
	end(o, r);
	r = rec(o, RECORD_SIMPLEPERF_CALLCHAIN, 0);
	u64(o, 1);
	u64(o, 2);
	u64(o, 1);
	u64(o, 1);
	u64(o, 0x4000);
	u64(o, 0x4000);
	end(o, r);
	u32(&big, RECORD_SIMPLEPERF_KERNEL_SYMBOL);
	u16(&big, 1);
	u16(&big, 16); /* 0x10010 bytes */
	u32(&big, 0x10000);
	while (big.n < 0x10010)
		u32(&big, 0x20202020);
	bytes(o, big.v, big.n);
	for (size_t at = 0; at < big.n; at += 40000) {
		r = rec(o, RECORD_SIMPLEPERF_SPLIT, 0);
		bytes(o, big.v + at, big.n - at < 40000 ? big.n - at : 40000);
		end(o, r);
	}
	header_only(o, RECORD_SIMPLEPERF_SPLIT_END);
	vec_done(&big);
}

static struct out recording(void)
{
	struct perf_event_attr a[2] = {plain_attr(), plain_attr()};
	struct out o = {0}, inner = {0}, packed = {0};
	size_t r;

	for (int i = 0; i < 2; i++) {
		a[i].sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CALLCHAIN |
				    PERF_SAMPLE_READ | PERF_SAMPLE_BRANCH_STACK;
		a[i].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
		a[i].branch_sample_type = PERF_SAMPLE_BRANCH_USER | BRANCH_CALL_STACK;
	}
	feature(&o, FEATURE_HOSTNAME, "somewhere", 16);
	r = rec(&o, RECORD_BUILD_ID, PERF_RECORD_MISC_USER);
	u32(&o, 1);
	for (int i = 0; i < 6; i++)
		u32(&o, 0x01020304);
	str(&o, "/usr/bin/program");
	end(&o, r);
	parts_of_simpleperf(&o);
	some_records(&o);
	some_records(&inner);
	assert_int_equal(vec_reserve(&packed, ZSTD_compressBound(inner.n)), 0);
	packed.n = ZSTD_compress(packed.v, packed.cap, inner.v, inner.n, 1);
	assert_false(ZSTD_isError(packed.n));
	for (size_t at = 0; at < packed.n; at += 800) {
		r = rec(&o, RECORD_COMPRESSED, 0);
		bytes(&o, packed.v + at, packed.n - at < 800 ? packed.n - at : 800);
		end(&o, r);
	}
	vec_done(&inner);
	vec_done(&packed);
	return pipe_of(a, 2, &o);
}

static void hear(void *arg, const char *line)
{
	*(size_t *)arg += strlen(line);
}

/* Reads it all; the number of samples, or the error. */
static long read_all(const char *path, size_t window)
{
	const struct perf_file_options opt = {.window_bytes = window};
	struct perf_file *f;
	struct perf_batch *b;
	struct err err = {0};
	size_t said = 0;
	long n = 0;
	int rc = perf_file_open(&f, path, &opt, &err);

	if (rc)
		return rc;
	while ((rc = perf_file_read(f, &b, &err)) > 0) {
		n += (long)b->n;
		perf_batch_release(f, b);
	}
	perf_file_header(f, hear, &said); /* says what it can */
	perf_file_close(f);
	return rc ? rc : n;
}

static void out_of_memory(void **state)
{
	struct out o = recording();
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);
	long live = 0, want = 0, got = -1, failures = 0;

	(void)state;
	assert_int_equal(write(fd, o.v, o.n), (ssize_t)o.n);
	vec_done(&o);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	want = read_all(path, 0);
	assert_true(want > 1000);
	live = allocations_live;
	for (long n = 0; got < 0; n++) {
		allocations_left = n;
		got = read_all(path, 0);
		if (allocations_left >= 0)
			break; /* it needed no more than n */
		allocations_left = -1;
		assert_true(got == -ERR_NOMEM || got == want);
		assert_int_equal(allocations_live, live);
		failures++;
		got = -1;
	}
	allocations_left = -1;
	assert_int_equal(got, want);
	assert_true(failures > 100);
	close(fd);
}

/* What is read late is not left out either: the name of an event in a file. */
static void names_or_an_error(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct out body = {0}, data = {0}, o;
	struct err err = {0};
	struct perf_file *f;
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC), rc;

	(void)state;
	event_desc(&body, &a);
	plain_sample(&data, 0x1000, 1, 1);
	o = file_of(&a, 1, &data);
	((struct perfdata_header *)(void *)o.v)->features[0] = 1ull << FEATURE_EVENT_DESC;
	u64(&o, o.n + 16);
	u64(&o, body.n);
	bytes(&o, body.v, body.n);
	assert_int_equal(write(fd, o.v, o.n), (ssize_t)o.n);
	vec_done(&o);
	vec_done(&body);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	for (long n = 0;; n++) {
		allocations_left = n;
		rc = perf_file_open(&f, path, NULL, &err);
		if (allocations_left >= 0)
			break; /* it needed no more than n */
		allocations_left = -1;
		assert_true(!rc || rc == -ERR_NOMEM);
		if (rc)
			continue;
		assert_string_equal(perf_file_event(f, 0)->name, "described");
		perf_file_close(f);
	}
	allocations_left = -1;
	assert_int_equal(rc, 0);
	assert_string_equal(perf_file_event(f, 0)->name, "described");
	perf_file_close(f);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(out_of_memory),
					   cmocka_unit_test(names_or_an_error)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
