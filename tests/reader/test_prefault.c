/* test_prefault.c - pieces of a mapped file: in order, each once, never far from the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/pages.h"
#include "base/threads.h"
#include "reader/prefault.h"
#include "tests/reader/build.h"

#define MIB ((size_t)1 << 20)

static const uint8_t *take(struct prefault *a, size_t *n)
{
	const void *p = NULL;

	return prefault_take(a, &p, n) ? p : NULL;
}

/* All that can be had now, which must join. */
static size_t take_all(struct prefault *a, const uint8_t *from)
{
	const uint8_t *at = from, *p;
	size_t n;

	while ((p = take(a, &n))) {
		assert_ptr_equal(p, at);
		assert_true(n > 0 && n <= MIB);
		at += n;
	}
	return (size_t)(at - from);
}

static void test_nothing_before_the_reader_begins(void **state)
{
	struct prefault a;
	size_t n;

	(void)state;
	prefault_init(&a);
	assert_null(take(&a, &n));
	prefault_done(&a);
}

static void test_follows_the_reader(void **state)
{
	static uint8_t file[64 * MIB];
	struct prefault a;
	size_t far, n;

	(void)state;
	prefault_init(&a);
	prefault_move(&a, file, file + sizeof file);
	far = take_all(&a, file);
	assert_true(far >= MIB && far < sizeof file / 2);
	/* As far as the reader goes on, not more. */
	prefault_move(&a, file + 3 * MIB, file + sizeof file);
	assert_int_equal(take_all(&a, file + far), 3 * MIB);
	/* It overtakes: what it has read is not taken any more. */
	prefault_move(&a, file + 40 * MIB, file + sizeof file);
	assert_int_equal(take_all(&a, file + 40 * MIB), far);
	/* It goes on, and comes near the end. */
	prefault_move(&a, file + 41 * MIB, file + sizeof file);
	assert_int_equal(take_all(&a, file + 40 * MIB + far), MIB);
	prefault_move(&a, file + sizeof file - 5000, file + sizeof file);
	assert_int_equal(take_all(&a, file + sizeof file - 5000), 5000);
	prefault_move(&a, file + sizeof file, file + sizeof file);
	assert_null(take(&a, &n));
	prefault_done(&a);
}

static void test_another_stream(void **state)
{
	static uint8_t files[8 * MIB];
	const uint8_t *second = files, *first = files + 4 * MIB;
	struct prefault a;

	(void)state;
	prefault_init(&a);
	prefault_move(&a, first, first + 4 * MIB);
	assert_int_equal(take_all(&a, first), 4 * MIB);
	prefault_move(&a, second, second + 2 * MIB);
	assert_int_equal(take_all(&a, second), 2 * MIB);
	/* And one that begins where that ends. */
	prefault_move(&a, second + 2 * MIB, second + 3 * MIB);
	assert_int_equal(take_all(&a, second + 2 * MIB), MIB);
	prefault_done(&a);
}

/* ---- through the public functions, by several threads ---------------------------------------- */

enum { RECORDS = 40000, THREADS = 4, TAKERS = 16 };

struct taker {
	struct perf_file *f;
	VEC(struct piece {
		const void *p;
		size_t n;
	})
	pieces[TAKERS]; /* by who took them */
};

static void take_some(void *arg, size_t i, unsigned worker)
{
	struct taker *t = arg;
	const void *p;
	size_t n;

	(void)worker;
	while (perf_file_ahead(t->f, &p, &n)) {
		pages_touch(p, n);
		assert_false(vec_push(&t->pieces[i], ((struct piece){p, n})));
	}
}

static struct out file_with_samples(void)
{
	struct perf_event_attr attr = {.size = sizeof attr,
				       .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW};
	struct out o = {0};

	for (uint64_t i = 0; i < RECORDS; i++) {
		size_t r = rec(&o, PERF_RECORD_SAMPLE, 2);

		u64(&o, i);
		u32(&o, 508);
		bytes(&o, (uint8_t[508]){0}, 508);
		end(&o, r);
		if (i % 1000 == 999)
			header_only(&o, RECORD_FINISHED_ROUND);
	}
	return file_of(&attr, 1, &o);
}

static size_t taken(const struct taker *t)
{
	size_t sum = 0;

	for (size_t i = 0; i < TAKERS; i++)
		for (size_t k = 0; k < t->pieces[i].n; k++)
			sum += t->pieces[i].v[k].n;
	return sum;
}

static int by_place(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p;
}

/* No byte twice, whichever thread took it. */
static void check_apart(const struct taker *t)
{
	VEC(struct piece) all = {0};

	for (size_t i = 0; i < TAKERS; i++)
		for (size_t k = 0; k < t->pieces[i].n; k++)
			assert_false(vec_push(&all, t->pieces[i].v[k]));
	qsort(all.v, all.n, sizeof *all.v, by_place);
	for (size_t i = 1; i < all.n; i++)
		assert_true((const uint8_t *)all.v[i - 1].p + all.v[i - 1].n <=
			    (const uint8_t *)all.v[i].p);
	vec_done(&all);
}

static void test_beside_the_reader(void **state)
{
	struct perf_file_options opt = {.map = true};
	struct taker t = {0};
	struct perf_batch *b;
	struct err err = {0};
	const void *p;
	size_t n, samples = 0;

	(void)state;
	pages_survive_cuts();
	t.f = open_with(file_with_samples(), &opt);
	assert_false(perf_file_ahead(t.f, &p, &n));
	while (perf_file_read(t.f, &b, &err) > 0) {
		samples += b->n;
		threads_for(THREADS, TAKERS, take_some, &t);
		perf_batch_release(t.f, b);
	}
	assert_int_equal(samples, RECORDS);
	check_apart(&t);
	/* 21 MB; the reader has a block or two for itself. */
	assert_in_range(taken(&t), 16 * MIB, 21 * MIB);
	for (size_t i = 0; i < TAKERS; i++)
		vec_done(&t.pieces[i]);
	perf_file_close(t.f);
}

/* The file is cut while it is read, behind a record that says how much follows, and a broken one
 * before it, for which the reader asks for more before it comes to that: by then it knows that
 * nothing follows. */
static void test_cut_before_a_payload(void **state)
{
	enum { PAYLOAD = 4096 };
	struct perf_event_attr attr = plain_attr();
	struct perf_file_options opt = {.map = true};
	struct perf_file *f;
	struct perf_batch *b;
	struct err err = {0};
	struct out o = {0};
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);
	const void *p;
	size_t r, n;

	(void)state;
	pages_survive_cuts();
	plain_sample(&o, 1, 1, 1);
	r = rec(&o, PERF_RECORD_SAMPLE, 0);
	end(&o, r);
	o.v[r + 7] = 8; /* 2 KiB and more */
	r = rec(&o, RECORD_AUXTRACE, 0);
	u64(&o, PAYLOAD);
	bytes(&o, (uint8_t[32]){0}, 32);
	end(&o, r);
	bytes(&o, (uint8_t[PAYLOAD]){0}, PAYLOAD);
	o = file_of(&attr, 1, &o);
	assert_int_equal(write(fd, o.v, o.n), (ssize_t)o.n);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	assert_int_equal(perf_file_open(&f, path, &opt, NULL), 0);
	assert_int_equal(ftruncate(fd, (off_t)o.n - PAYLOAD), 0);
	while (perf_file_read(f, &b, &err) > 0) {
		assert_int_equal(b->n, 1);
		perf_batch_release(f, b);
	}
	assert_true(perf_file_stats(f)->truncated);
	assert_false(perf_file_ahead(f, &p, &n));
	perf_file_close(f);
	close(fd);
	vec_done(&o);
}

/* Payload that is not wanted, which is most of the file, is not taken. */
static void test_behind_a_jump(void **state)
{
	enum { PAYLOADS = 32, BETWEEN = 1000 };
	struct perf_event_attr attr = plain_attr();
	struct perf_file_options opt = {.map = true};
	uint8_t *payload = calloc(1, MIB);
	struct perf_file *f;
	struct perf_batch *b;
	struct err err = {0};
	struct out o = {0};
	const void *p;
	size_t n, taken = 0, samples = 0;

	(void)state;
	assert_non_null(payload);
	for (uint64_t i = 0; i < PAYLOADS; i++) {
		size_t r = rec(&o, RECORD_AUXTRACE, 0);

		u64(&o, MIB);
		bytes(&o, (uint8_t[32]){0}, 32);
		end(&o, r);
		bytes(&o, payload, MIB);
		for (uint64_t k = 0; k < BETWEEN; k++)
			plain_sample(&o, 1, 1, BETWEEN * i + k);
		header_only(&o, RECORD_FINISHED_ROUND);
	}
	free(payload);
	f = open_with(file_of(&attr, 1, &o), &opt);
	while (perf_file_read(f, &b, &err) > 0) {
		samples += b->n;
		perf_batch_release(f, b);
		while (perf_file_ahead(f, &p, &n))
			taken += n;
	}
	assert_int_equal(samples, PAYLOADS * BETWEEN);
	assert_int_equal(taken, 0);
	perf_file_close(f);
}

static void test_only_mapped_files(void **state)
{
	struct perf_file *f = open_bytes(file_with_samples());
	struct perf_batch *b;
	struct err err = {0};
	const void *p;
	size_t n;

	(void)state;
	while (perf_file_read(f, &b, &err) > 0) {
		assert_false(perf_file_ahead(f, &p, &n));
		perf_batch_release(f, b);
	}
	perf_file_close(f);
}

/* Mapped or read, as the page cache is: which of them depends on time, and is not asked. */
static void test_alone(void **state)
{
	struct perf_file_options opt = {.map = true, .alone = true};
	struct perf_file *f = open_with(file_with_samples(), &opt);
	struct perf_batch *b;
	struct err err = {0};
	uint64_t samples = 0;

	(void)state;
	while (perf_file_read(f, &b, &err) > 0) {
		for (size_t i = 0; i < b->n; i++)
			assert_int_equal(b->samples[i].time_ns, samples++);
		perf_batch_release(f, b);
	}
	assert_int_equal(samples, RECORDS);
	perf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_before_the_reader_begins),
		cmocka_unit_test(test_follows_the_reader),
		cmocka_unit_test(test_another_stream),
		cmocka_unit_test(test_beside_the_reader),
		cmocka_unit_test(test_cut_before_a_payload),
		cmocka_unit_test(test_behind_a_jump),
		cmocka_unit_test(test_only_mapped_files),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
