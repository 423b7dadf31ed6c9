/* test_records.c - records that are too short, count too much, or are not known. */
#include "tests/reader/build.h"

#include <stdlib.h>

/* More useless samples than a batch has room for do not end it. */
static void many_bad_samples(void **state)
{
	enum { BAD = 1000, SIZE = 16384 };
	struct perf_event_attr a = plain_attr();
	static uint8_t junk[SIZE];
	struct perf_file *f;
	struct out o = {0};

	(void)state;
	for (uint64_t i = 1; i <= BAD; i++) {
		size_t r = rec(&o, PERF_RECORD_SAMPLE, 0);

		u64(&o, 1);
		u64(&o, 1);
		u64(&o, i);
		bytes(&o, junk, sizeof junk);
		end(&o, r);
	}
	plain_sample(&o, 1, 1, BAD + 1);
	f = open_bytes(file_of(&a, 1, &o));
	assert_int_equal(drain(f), 1);
	assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_LEFTOVER], BAD);
	perf_file_close(f);
}

/* Types from the future and odd sizes are no damage where something known follows. */
static void unknown_records(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct out o = {0};
	size_t r;

	(void)state;
	plain_sample(&o, 1, 1, 1);
	r = rec(&o, 200, 0);
	u64(&o, 0);
	end(&o, r);
	r = rec(&o, RECORD_ID_INDEX, 0);
	u16(&o, 0);
	end(&o, r);
	plain_sample(&o, 1, 1, 2);
	f = open_bytes(file_of(&a, 1, &o));
	assert_int_equal(drain(f), 2);
	assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_UNKNOWN_TYPE], 1);
	assert_int_equal(perf_file_stats(f)->lost_bytes, 0);
	assert_false(perf_file_stats(f)->damaged);
	perf_file_close(f);
}

/* Strings without end and counts beyond the record. */
static void bad_records(void **state)
{
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;
	struct out o = {0};
	size_t r = rec(&o, PERF_RECORD_COMM, 0);

	(void)state;
	for (int i = 0; i < 6; i++)
		u64(&o, UINT64_MAX);
	end(&o, r);
	r = rec(&o, RECORD_CALLCHAIN_DEFERRED, 0);
	u64(&o, 1);
	u64(&o, UINT64_MAX / 8 + 2);
	trailer(&o, 1, 1);
	end(&o, r);
	r = rec(&o, PERF_RECORD_FORK, 0);
	u64(&o, 1);
	end(&o, r);
	f = open_bytes(file_of(&a, 1, &o));
	assert_int_equal(drain(f), 0);
	assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_BAD_STRING], 1);
	assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_BAD_COUNT], 1);
	assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_TOO_SHORT], 1);
	perf_file_close(f);
}

/* Records that change nothing are damaged like others when they end early. Sizes as in the comments
 * of perf_event.h, in words behind the header. */
static void short_records(void **state)
{
	static const struct {
		uint32_t type;
		unsigned words;
	} least[] = {
		{PERF_RECORD_THROTTLE, 3},     {PERF_RECORD_UNTHROTTLE, 3},
		{PERF_RECORD_READ, 2},	       {PERF_RECORD_AUX, 3},
		{PERF_RECORD_ITRACE_START, 1}, {PERF_RECORD_SWITCH_CPU_WIDE, 1},
		{PERF_RECORD_NAMESPACES, 2},   {PERF_RECORD_BPF_EVENT, 2},
		{PERF_RECORD_TEXT_POKE, 2},    {PERF_RECORD_AUX_OUTPUT_HW_ID, 1},
	};
	const size_t n = sizeof least / sizeof *least;
	struct perf_event_attr a = plain_attr();
	struct perf_file *f;

	(void)state;
	for (unsigned missing = 0; missing < 2; missing++) {
		struct out o = {0};
		size_t r;

		for (size_t i = 0; i < n; i++) {
			r = rec(&o, least[i].type, 0);
			for (unsigned k = missing; k < least[i].words; k++)
				u64(&o, 0);
			end(&o, r);
		}
		r = rec(&o, PERF_RECORD_NAMESPACES, 0);
		u64(&o, 1);
		u64(&o, 1 + missing); /* but one is there */
		u64(&o, 3);
		u64(&o, 4);
		end(&o, r);
		r = rec(&o, PERF_RECORD_CGROUP, 0);
		u64(&o, 1);
		u64(&o, missing ? UINT64_MAX : 0);
		end(&o, r);
		plain_sample(&o, 1, 1, 1);
		f = open_bytes(file_of(&a, 1, &o));
		assert_int_equal(drain(f), 1);
		assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_TOO_SHORT], missing * n);
		assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_BAD_COUNT], missing);
		assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_BAD_STRING], missing);
		assert_int_equal(perf_file_stats(f)->damaged, missing);
		perf_file_close(f);
	}
}

/* What the kernel told it lost, and what it left out on purpose. */
static void losses(void **state)
{
	struct perf_event_attr a = plain_attr();
	const struct perf_file_stats *s;
	struct perf_file *f;
	struct out o = {0};
	size_t r = rec(&o, PERF_RECORD_LOST, 0);

	(void)state;
	u64(&o, 10);
	u64(&o, 5);
	trailer(&o, 1, 1);
	end(&o, r);
	for (uint16_t dropped = 0; dropped < 2; dropped++) {
		r = rec(&o, PERF_RECORD_LOST_SAMPLES, (uint16_t)(dropped << 15));
		u64(&o, 7);
		trailer(&o, 1, 1);
		end(&o, r);
	}
	f = open_bytes(file_of(&a, 1, &o));
	drain(f);
	s = perf_file_stats(f);
	assert_int_equal(s->lost_records, 5);
	assert_int_equal(s->lost_samples, 7);
	assert_int_equal(s->records, 3);
	perf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_bad_samples), cmocka_unit_test(unknown_records),
		cmocka_unit_test(bad_records),	    cmocka_unit_test(short_records),
		cmocka_unit_test(losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
