/* test_record_stream.c - from bytes to records in time order: rounds, memory, files that are cut
 * meanwhile. */
#include "tests/reader/build.h"

#include <stdlib.h>

#include "base/pages.h"

/* ---- order ------------------------------------------------------------------------------- */

static void expect_times(struct perf_file *f, const uint64_t *times, size_t n)
{
	struct perf_batch *b = next(f);

	assert_int_equal(b->n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(b->samples[i].time_ns, times[i]);
	perf_batch_release(f, b);
	expect_end(f);
}

/* perf's own example: two rings, written one behind the other in each round. */
static void rounds(void **state)
{
	static const uint64_t want[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	static const uint64_t written[] = {1, 3, 2, 0, 5, 7, 4, 6, 0, 8, 9, 0};
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct out o = {0};

	(void)state;
	for (size_t i = 0; i < sizeof written / sizeof *written; i++)
		if (written[i])
			plain_sample(&o, 1, 1, written[i]);
		else
			header_only(&o, RECORD_FINISHED_ROUND);
	f = open_bytes(file_of(&a, 1, &o));
	expect_times(f, want, sizeof want / sizeof *want);
	perf_file_close(f);
}

/* Without rounds the whole file is sorted; equal times keep their order. */
static void no_rounds(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct perf_batch *b;
	struct out o = {0};

	(void)state;
	for (uint64_t i = 0; i < 250; i++)
		plain_sample(&o, i, 1, (i * 7) % 100 + 1);
	f = open_bytes(file_of(&a, 1, &o));
	b = next(f);
	assert_int_equal(b->n, 250);
	for (size_t i = 1; i < 250; i++) {
		const struct perf_sample *s = &b->samples[i];

		assert_true(s[-1].time_ns <= s->time_ns);
		if (s[-1].time_ns == s->time_ns)
			assert_true(s[-1].ip < s->ip);
	}
	perf_batch_release(f, b);
	perf_file_close(f);
}

/* A COMM that perf made up (time 0) holds from the start, one of the kernel from its time on,
 * wherever they stand. */
static void records_without_time(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct perf_batch *b;
	struct out o = {0};

	(void)state;
	plain_sample(&o, 1, 5, 10);
	plain_sample(&o, 1, 5, 30);
	plain_comm(&o, 5, "new", 20);
	plain_comm(&o, 5, "old", 0);
	f = open_bytes(file_of(&a, 1, &o));
	b = next(f);
	assert_string_equal(b->samples[0].comm, "old");
	assert_string_equal(b->samples[1].comm, "new");
	perf_batch_release(f, b);
	perf_file_close(f);
}

/* Old kernels wrote no trailers: then records hold from where they stand among the samples. */
static void no_sample_id_all(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct perf_batch *b;
	struct out o = {0};
	size_t r;

	(void)state;
	a.sample_id_all = 0;
	plain_sample(&o, 1, 5, 10);
	r = rec(&o, PERF_RECORD_COMM, 0);
	u32(&o, 5);
	u32(&o, 5);
	str(&o, "later");
	end(&o, r);
	plain_sample(&o, 1, 5, 11);
	f = open_bytes(file_of(&a, 1, &o));
	b = next(f);
	assert_string_equal(b->samples[0].comm, ":5");
	assert_string_equal(b->samples[1].comm, "later");
	perf_batch_release(f, b);
	perf_file_close(f);
}

/* ---- memory ------------------------------------------------------------------------------ */

/* A sample with raw data of `size` bytes that tells its time. */
static void telling_sample(struct out *o, uint32_t size, uint64_t time)
{
	size_t r = rec(o, PERF_RECORD_SAMPLE, 0);
	uint8_t *raw = malloc(size);

	assert_non_null(raw);
	u64(o, time);
	u64(o, 1);
	u64(o, time);
	u32(o, size);
	memset(raw, (int)(time & 0xff), size);
	bytes(o, raw, size);
	end(o, r);
	free(raw);
}

static struct perf_event_attr telling_attr(void)
{
	struct perf_event_attr a = plain_attr();

	a.sample_type |= PERF_SAMPLE_RAW;
	return a;
}

/* Such samples in falling order of time. */
static struct out falling(size_t n, uint32_t size, struct perf_event_attr *a)
{
	struct out o = {0};

	*a = telling_attr();
	for (size_t i = n; i; i--)
		telling_sample(&o, size, i);
	return o;
}

static void expect_falling(struct perf_file *f, size_t n, uint32_t size)
{
	struct perf_batch *held[4];
	struct err err;
	size_t seen = 0, n_held = 0;
	int rc = 1;

	assert_non_null(f);
	while (rc > 0) {
		while (n_held < 4 && (rc = perf_file_read(f, &held[n_held], &err)) > 0)
			n_held++;
		assert_true(rc >= 0);
		/* All are looked at after all were filled: none may take the bytes of another. */
		for (size_t k = 0; k < n_held; k++) {
			for (size_t i = 0; i < held[k]->n; i++) {
				const struct perf_sample *s = &held[k]->samples[i];

				seen++;
				assert_int_equal(s->time_ns, seen);
				assert_int_equal(s->extra->raw_size, size);
				assert_int_equal(s->extra->raw[0], seen & 0xff);
				assert_int_equal(s->extra->raw[size - 1], seen & 0xff);
			}
			perf_batch_release(f, held[k]);
		}
		n_held = 0;
	}
	assert_int_equal(seen, n);
	perf_file_close(f);
}

/* 12 MiB in the worst order through a window of 2 MiB: a file is read again, a pipe spilled. */
static void larger_than_the_window(void **state)
{
	enum { N = 1500, SIZE = 8004 };
	const struct perf_file_options opt = {.window_bytes = 2 << 20};
	const struct perf_file_options mapped = {.window_bytes = 2 << 20, .map = true};
	struct perf_event_attr a;
	struct out o = falling(N, SIZE, &a), pipe_bytes;
	int fd[2];
	char path[64];
	struct perf_file *f;

	(void)state;
	expect_falling(open_with(file_of(&a, 1, &o), &opt), N, SIZE);
	o = falling(N, SIZE, &a);
	expect_falling(open_with(file_of(&a, 1, &o), &mapped), N, SIZE);
	o = falling(N, SIZE, &a);
	pipe_bytes = pipe_of(&a, 1, &o);
	assert_int_equal(pipe(fd), 0);
	switch (fork()) {
	case -1:
		fail();
		break;
	case 0:
		close(fd[0]);
		for (size_t at = 0; at < pipe_bytes.n;) {
			ssize_t n = write(fd[1], pipe_bytes.v + at, pipe_bytes.n - at);

			if (n < 0)
				_exit(1);
			at += (size_t)n;
		}
		_exit(0);
	}
	close(fd[1]);
	vec_done(&pipe_bytes);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd[0]);
	assert_int_equal(perf_file_open(&f, path, &opt, NULL), 0);
	close(fd[0]);
	expect_falling(f, N, SIZE);
}

/* What this process has read so far; 0 where the kernel does not count it. */
static unsigned long long bytes_read(void)
{
	unsigned long long n = 0;
	FILE *f = fopen("/proc/self/io", "r");

	if (f && fscanf(f, "rchar: %llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* More runs than the window has blocks, each in blocks of its own, so that every record makes room
 * for another block's: then a block is not read whole for one record, as long as it does not stay.
 */
static void more_runs_than_blocks(void **state)
{
	enum { RUNS = 40, RECORDS = 1200, SIZE = 404 };
	const struct perf_file_options opt = {.window_bytes = 2 << 20};
	struct perf_event_attr a = telling_attr();
	struct out o = {0}, file;
	unsigned long long before, n;
	size_t size;

	(void)state;
	for (uint64_t run = 1; run <= RUNS; run++)
		for (uint64_t i = 0; i < RECORDS; i++)
			telling_sample(&o, SIZE, i * RUNS + run);
	file = file_of(&a, 1, &o);
	size = file.n;
	before = bytes_read();
	expect_falling(open_with(file, &opt), (size_t)RUNS * RECORDS, SIZE);
	n = bytes_read() - before;
	assert_true(n < 40 * size);
}

/* The file is cut while it is mapped: what is given out has no bytes any more, but can be looked
 * at, and what follows are the records that are left. Samples leave from the end of the file, so
 * after the first batch all records of the second are known, and most of them are gone. */
static void cut_while_mapped(void **state)
{
	enum { N = 1500, SIZE = 8004, LEFT = 100 };
	const struct perf_file_options opt = {.map = true};
	struct perf_event_attr a;
	struct out o = falling(N, SIZE, &a);
	const size_t record = o.n / N;
	struct perf_file *f;
	struct perf_batch *b;
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	(void)state;
	pages_survive_cuts();
	o = file_of(&a, 1, &o);
	assert_int_equal(write(fd, o.v, o.n), (ssize_t)o.n);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	assert_int_equal(perf_file_open(&f, path, &opt, NULL), 0);
	b = next(f);
	assert_true(b->n < N - LEFT);
	assert_int_equal(b->samples[0].extra->raw[SIZE - 1], 1);
	assert_int_equal(ftruncate(fd, (off_t)(data_offset(&o) + LEFT * record)), 0);
	for (size_t i = 0; i < b->n; i++)
		assert_int_equal(b->samples[i].extra->raw[0] | b->samples[i].extra->raw[SIZE - 1],
				 0);
	perf_batch_release(f, b);
	assert_int_equal(drain(f), LEFT);
	assert_true(perf_file_stats(f)->damaged);
	perf_file_close(f);
	close(fd);
	vec_done(&o);
}

/* The file is cut before all of it was looked at. */
static void cut_before_mapped(void **state)
{
	enum { N = 500, SIZE = 8004, LEFT = 70 };
	const struct perf_file_options opt = {.map = true};
	struct perf_event_attr a;
	struct out o = falling(N, SIZE, &a);
	const size_t record = o.n / N;
	struct perf_file *f;
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	(void)state;
	o = file_of(&a, 1, &o);
	assert_int_equal(write(fd, o.v, o.n), (ssize_t)o.n);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	assert_int_equal(perf_file_open(&f, path, &opt, NULL), 0);
	assert_int_equal(ftruncate(fd, (off_t)(data_offset(&o) + LEFT * record + 9)), 0);
	assert_int_equal(drain(f), LEFT);
	assert_true(perf_file_stats(f)->truncated);
	assert_int_equal(perf_file_stats(f)->lost_bytes, (N - LEFT) * record);
	perf_file_close(f);
	close(fd);
	vec_done(&o);
}

static void at_most_eight_batches(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct perf_batch *b[9];
	struct perf_file *f;
	struct out o = {0};
	struct err err;

	(void)state;
	for (uint64_t i = 1; i <= 8000; i++)
		plain_sample(&o, i, 1, i);
	f = open_bytes(file_of(&a, 1, &o));
	for (int i = 0; i < 8; i++)
		b[i] = next(f);
	assert_int_equal(perf_file_read(f, &b[8], &err), -ERR_USAGE);
	perf_batch_release(f, b[1]);
	b[1] = next(f);
	assert_int_equal(b[1]->samples->time_ns, 8 * b[0]->n + 1);
	assert_int_equal(b[0]->samples->time_ns, 1);
	for (int i = 0; i < 8; i++)
		perf_batch_release(f, b[i]);
	drain(f);
	assert_int_equal(perf_file_stats(f)->samples, 8000);
	perf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds),
		cmocka_unit_test(no_rounds),
		cmocka_unit_test(records_without_time),
		cmocka_unit_test(no_sample_id_all),
		cmocka_unit_test(larger_than_the_window),
		cmocka_unit_test(more_runs_than_blocks),
		cmocka_unit_test(cut_while_mapped),
		cmocka_unit_test(cut_before_mapped),
		cmocka_unit_test(at_most_eight_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
