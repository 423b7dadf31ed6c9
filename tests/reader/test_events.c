/* test_events.c - whose sample is it? Members of groups; ids with and without IDENTIFIER; no ids.
 */
#include "tests/reader/build.h"

#include <stdlib.h>

/* Two members, with and without what they lost; the second sample brings the differences. */
static void group(void **state)
{
	(void)state;
	for (int lost = 0; lost < 2; lost++) {
		struct perf_event_attr a[2] = {plain_attr(), plain_attr()};
		struct perf_file *f;
		struct perf_batch *b;
		struct out o = {0};

		for (int i = 0; i < 2; i++) {
			a[i].sample_type = PERF_SAMPLE_IDENTIFIER | PLAIN_TYPE | PERF_SAMPLE_READ;
			a[i].read_format =
				PERF_FORMAT_GROUP | PERF_FORMAT_ID | (lost ? READ_FORMAT_LOST : 0);
		}
		for (uint64_t i = 1; i <= 3; i++) {
			size_t r = rec(&o, PERF_RECORD_SAMPLE, 0);

			u64(&o, 10);
			u64(&o, 0x401000);
			u64(&o, 0);
			u64(&o, i);
			u64(&o, 2); /* members */
			u64(&o, 100 * i);
			u64(&o, 10);
			if (lost)
				u64(&o, 0);
			u64(&o, i < 3 ? 7 : 10); /* stands still from 1 to 2 */
			u64(&o, 20);
			if (lost)
				u64(&o, 0);
			end(&o, r);
		}
		f = open_bytes(file_of(a, 2, &o));
		b = next(f);
		assert_int_equal(b->n, 5);
		for (size_t i = 0; i < 5; i++) {
			static const uint64_t periods[] = {100, 7, 100, 100, 3};
			static const unsigned events[] = {0, 1, 0, 0, 1};

			assert_int_equal(b->samples[i].period, periods[i]);
			assert_int_equal(b->samples[i].event->index, events[i]);
			assert_int_equal(b->samples[i].seq, i);
		}
		perf_batch_release(f, b);
		expect_end(f);
		assert_int_equal(perf_file_stats(f)->sample_records, 3);
		perf_file_close(f);
	}
}

/* Events with different fields: the id says which one it is, wherever both have it. */
static void events_differ(void **state)
{
	struct perf_event_attr a[2] = {plain_attr(), plain_attr()};
	struct perf_file *f;
	struct perf_batch *b;
	struct out o = {0};

	(void)state;
	a[0].sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;
	a[1].sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
	for (uint64_t id = 10; id <= 30; id += 10) {
		size_t r = rec(&o, PERF_RECORD_SAMPLE, 0);

		u64(&o, id);
		if (id == 20)
			u64(&o, 0x401000);
		u64(&o, 100 - id);
		end(&o, r);
	}
	f = open_bytes(file_of(a, 2, &o));
	b = next(f);
	assert_int_equal(b->n, 2); /* sorted by time, which they keep in different places */
	assert_int_equal(b->samples[0].event->index, 1);
	assert_int_equal(b->samples[0].ip, 0x401000);
	assert_int_equal(b->samples[1].event->index, 0);
	assert_int_equal(b->samples[1].time_ns, 90);
	perf_batch_release(f, b);
	expect_end(f);
	assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_UNKNOWN_EVENT], 1);
	perf_file_close(f);
}

/* Before Linux 3.12 there was no IDENTIFIER: the id stands where the fields before it end, which
 * with ADDR is further behind. */
static void ids_without_identifier(void **state)
{
	struct perf_event_attr a[2] = {plain_attr(), plain_attr()};
	struct perf_file *f;
	struct perf_batch *b;
	struct out o = {0};

	(void)state;
	a[0].sample_type |= PERF_SAMPLE_ID;
	a[1].sample_type |= PERF_SAMPLE_ID | PERF_SAMPLE_ADDR;
	for (uint64_t i = 0; i < 4; i++) {
		size_t r = rec(&o, PERF_RECORD_SAMPLE, 0);

		u64(&o, 0x401000 + i);
		u64(&o, 1);
		u64(&o, 50 + i);
		if (i & 1)
			u64(&o, 0xadd0 + i);
		u64(&o, i & 1 ? 20 : 10);
		end(&o, r);
	}
	f = open_bytes(file_of(a, 2, &o));
	b = next(f);
	assert_int_equal(b->n, 4);
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(b->samples[i].event->index, i & 1);
		assert_int_equal(b->samples[i].extra->addr, i & 1 ? 0xadd0 + i : 0);
		assert_int_equal(b->samples[i].id, i & 1 ? 20 : 10);
		assert_int_equal(b->samples[i].time_ns, 50 + i);
	}
	perf_batch_release(f, b);
	expect_end(f);
	perf_file_close(f);
}

/* Two events whose samples have no id cannot be told apart: all are given to the first, and read.
 */
static void no_ids(void **state)
{
	struct perf_event_attr a[2] = {plain_attr(), plain_attr()};
	struct perf_file *f;
	struct perf_batch *b;
	struct out o = {0};

	(void)state;
	plain_sample(&o, 0x401000, 1, 1);
	plain_sample(&o, 0x402000, 1, 2);
	f = open_bytes(file_of(a, 2, &o));
	b = next(f);
	assert_int_equal(b->n, 2);
	assert_int_equal(b->samples[1].ip, 0x402000);
	assert_int_equal(b->samples[1].event->index, 0);
	perf_batch_release(f, b);
	expect_end(f);
	assert_false(perf_file_stats(f)->damaged);
	perf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(group),
		cmocka_unit_test(events_differ),
		cmocka_unit_test(ids_without_identifier),
		cmocka_unit_test(no_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
