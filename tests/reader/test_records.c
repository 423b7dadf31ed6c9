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
	r = rec(&o, RECORD_HEADER_FEATURE, 0);
	u64(&o, 199);
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
		{PERF_RECORD_THROTTLE, 3},
		{PERF_RECORD_UNTHROTTLE, 3},
		{PERF_RECORD_AUX, 3},
		{PERF_RECORD_ITRACE_START, 1},
		{PERF_RECORD_SWITCH_CPU_WIDE, 1},
		{PERF_RECORD_NAMESPACES, 2},
		{PERF_RECORD_BPF_EVENT, 2},
		{PERF_RECORD_TEXT_POKE, 2},
		{PERF_RECORD_AUX_OUTPUT_HW_ID, 1},
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

/* The same of user space; sizes in words as of the structs in tools/lib/perf/include/perf/event.h
 * (without lists, and of records that have grown as they began). */
static void short_user_records(void **state)
{
	static const struct {
		uint32_t type;
		unsigned words; /* with the header */
	} least[] = {
		{RECORD_EVENT_TYPE, 3},	    {RECORD_TRACING_DATA, 2},
		{RECORD_BUILD_ID, 5},	    {RECORD_ID_INDEX, 2},
		{RECORD_AUXTRACE_INFO, 2},  {RECORD_AUXTRACE, 6},
		{RECORD_AUXTRACE_ERROR, 6}, {RECORD_THREAD_MAP, 2},
		{RECORD_CPU_MAP, 2},	    {RECORD_STAT_CONFIG, 2},
		{RECORD_STAT, 6},	    {RECORD_STAT_ROUND, 3},
		{RECORD_EVENT_UPDATE, 3},   {RECORD_TIME_CONV, 4},
		{RECORD_HEADER_FEATURE, 2}, {RECORD_BPF_METADATA, 1 + 64 + 1},
		{RECORD_SCHEDSTAT_CPU, 3},  {RECORD_SCHEDSTAT_DOMAIN, 3},
	};
	struct perf_event_attr a = plain_attr();

	(void)state;
	for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
		for (unsigned missing = 0; missing < 2; missing++) {
			struct out o = {0};
			struct perf_file *f;
			size_t r;

			plain_sample(&o, 1, 1, 1);
			r = rec(&o, least[i].type, 0);
			for (unsigned k = 1 + missing; k < least[i].words; k++)
				u64(&o, 0);
			end(&o, r);
			f = open_bytes(file_of(&a, 1, &o));
			assert_int_equal(drain(f), 1);
			assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_TOO_SHORT], missing);
			assert_int_equal(perf_file_stats(f)->damaged, missing);
			perf_file_close(f);
		}
	}
}

/* A record with one number of items in it. */
struct counting {
	uint32_t type;
	unsigned size;	      /* of the record, as large as its items need */
	unsigned count;	      /* where the number is (2 bytes), */
	uint16_t n;	      /* and what it is */
	uint16_t other[2][2]; /* {where, what}: other fields */
};

/* The largest number that fits is no damage, and one more is. */
static void expect_count(const struct perf_event_attr *attr, const struct counting *c)
{
	for (unsigned more = 0; more < 2; more++) {
		const uint16_t n = (uint16_t)(c->n + more);
		struct out o = {0};
		struct perf_file *f;
		size_t r = rec(&o, c->type, 0);

		while (o.n - r < c->size)
			u64(&o, 0);
		end(&o, r);
		memcpy(o.v + r + c->count, &n, sizeof n);
		for (unsigned k = 0; k < 2 && c->other[k][0]; k++)
			memcpy(o.v + r + c->other[k][0], &c->other[k][1], 2);
		plain_sample(&o, 1, 1, 1);
		f = open_bytes(file_of(attr, 1, &o));
		assert_int_equal(drain(f), 1);
		assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_BAD_COUNT], more);
		assert_int_equal(perf_file_stats(f)->damaged, more);
		perf_file_close(f);
	}
}

static void counts_beyond_the_record(void **state)
{
	static const struct counting records[] = {
		{RECORD_ID_INDEX, 16 + 2 * 32, 8, 2, {{0}}},
		/* Machine and virtual CPU follow: a list of the same number. */
		{RECORD_ID_INDEX, 16 + 2 * 48, 8, 3, {{0}}},
		{RECORD_THREAD_MAP, 16 + 2 * 24, 8, 2, {{0}}},
		{RECORD_STAT_CONFIG, 16 + 2 * 16, 8, 2, {{0}}},
		{RECORD_BPF_METADATA, 8 + 512 + 8 + 2 * 320, 520, 2, {{0}}},
		{PERF_RECORD_TEXT_POKE, 32, 16, 5, {{18, 7}}},
		{PERF_RECORD_TEXT_POKE, 32, 18, 12, {{0}}},
		{RECORD_CPU_MAP, 32, 10, 10, {{0}}},		/* PERF_CPU_MAP__CPUS */
		{RECORD_CPU_MAP, 32, 10, 4, {{8, 1}, {12, 4}}}, /* _MASK, of u32 */
		{RECORD_CPU_MAP, 40, 10, 2, {{8, 1}, {12, 8}}}, /* of u64, behind 4 bytes */
		{RECORD_CPU_MAP, 32, 12, 8, {{8, 1}, {10, 1}}}, /* longs of 9 bytes */
	};
	struct perf_event_attr a = plain_attr();

	(void)state;
	for (size_t i = 0; i < sizeof records / sizeof *records; i++)
		expect_count(&a, &records[i]);
}

/* READ has the values of an event or of its group, as its attribute says, and a trailer of 16 bytes
 * here. */
static void counts_in_read(void **state)
{
	enum { TIMES = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING };
	static const struct {
		uint64_t format;
		unsigned words; /* n, times, and 2 values */
	} groups[] = {
		{PERF_FORMAT_GROUP, 1 + 2},
		{PERF_FORMAT_GROUP | PERF_FORMAT_ID, 1 + 4},
		{PERF_FORMAT_GROUP | PERF_FORMAT_ID | READ_FORMAT_LOST, 1 + 6},
		{PERF_FORMAT_GROUP | TIMES | PERF_FORMAT_ID, 3 + 4},
	};
	struct perf_event_attr a = plain_attr();

	(void)state;
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
		const struct counting c = {
			PERF_RECORD_READ, 16 + 8 * groups[i].words + 16, 16, 2, {{0}}};

		a.read_format = groups[i].format;
		expect_count(&a, &c);
	}
	/* A lone event: value, times, id, lost. */
	a.read_format = TIMES | PERF_FORMAT_ID | READ_FORMAT_LOST;
	for (unsigned missing = 0; missing < 2; missing++) {
		struct out o = {0};
		struct perf_file *f;
		size_t r = rec(&o, PERF_RECORD_READ, 0);

		for (unsigned k = missing; k < 1 + 5 + 2; k++)
			u64(&o, 0);
		end(&o, r);
		plain_sample(&o, 1, 1, 1);
		f = open_bytes(file_of(&a, 1, &o));
		assert_int_equal(drain(f), 1);
		assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_BAD_COUNT], missing);
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
		cmocka_unit_test(many_bad_samples),   cmocka_unit_test(unknown_records),
		cmocka_unit_test(bad_records),	      cmocka_unit_test(short_records),
		cmocka_unit_test(short_user_records), cmocka_unit_test(counts_beyond_the_record),
		cmocka_unit_test(counts_in_read),     cmocka_unit_test(losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
