/* test_packed_switches.c - context switches of which many are in one record
 * (reader/packed_switches.h): they tell what records of their own tell. */
#include "tests/reader/build.h"

#include <stdlib.h>

#include "tests/random.h"

enum { CONFIG = 7, SWITCH_BYTES = 24, TIME_AT = 16, OUT = 1 << 13 };

struct one {
	uint32_t tid;
	bool out;
	uint64_t time;
};

static void put_varint(struct out *o, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		bytes(o, &(uint8_t){(uint8_t)(v | 0x80)}, 1);
	bytes(o, &(uint8_t){(uint8_t)v}, 1);
}

static struct perf_event_attr switch_attr(void)
{
	struct perf_event_attr a = plain_attr();

	a.type = PERF_TYPE_TRACEPOINT;
	a.config = CONFIG;
	return a;
}

/* The name by which a reader knows that they are to be weighed. */
static void name_event(struct out *o)
{
	size_t r = rec(o, RECORD_EVENT_TYPE, 0);

	u64(o, CONFIG);
	str(o, "off-cpu");
	end(o, r);
}

static void plain(struct out *o, const struct one *s)
{
	size_t r = rec(o, PERF_RECORD_SWITCH, s->out ? OUT : 0);

	trailer(o, s->tid, s->time);
	end(o, r);
}

static void row(struct out *o, uint32_t tid, bool out)
{
	u32(o, PERF_RECORD_SWITCH);
	u16(o, out ? OUT : 0);
	u16(o, SWITCH_BYTES);
	u32(o, tid);
	u32(o, tid);
}

/* What a test may have wrong in a head. */
struct head {
	uint16_t version, record_bytes, time_at, n_rows;
	uint32_t n, places_bytes;
};

static size_t begin_packed(struct out *o, const struct head *h, uint64_t before)
{
	size_t r = rec(o, RECORD_EVENT_TYPE, 0);

	bytes(o, PACKED_SWITCHES_MAGIC, 8);
	u16(o, h->version);
	u16(o, h->record_bytes);
	u16(o, h->time_at);
	u16(o, h->n_rows);
	u32(o, h->n);
	u32(o, h->places_bytes);
	u64(o, before);
	return r;
}

static void end_packed(struct out *o, size_t r)
{
	while ((o->n - r) % 8 || o->n - r < PACKED_SWITCHES_BYTES_MIN)
		bytes(o, "", 1);
	end(o, r);
}

/* Threads 1 to n_tids; rows in the order of threads, in before out. */
static void packed(struct out *o, const struct one *s, unsigned n, unsigned n_tids, bool follows)
{
	struct head h = {1, SWITCH_BYTES, TIME_AT, (uint16_t)(2 * n_tids), n, 0};
	struct out places = {0}, deltas = {0};
	unsigned *follower = calloc(2 * n_tids, sizeof *follower), last = 0;
	uint64_t before = s->time - 5;
	size_t r;

	assert_non_null(follower);
	for (unsigned i = 0; i < n; i++) {
		const unsigned at = 2 * (s[i].tid - 1) + s[i].out;

		put_varint(&places, follows && follower[last] == at ? 0 : at + 1);
		put_varint(&deltas, s[i].time - (i ? s[i - 1].time : before));
		if (i)
			follower[last] = at;
		last = at;
	}
	h.places_bytes = (uint32_t)places.n;
	r = begin_packed(o, &h, before);
	for (unsigned i = 0; i < 2 * n_tids; i++)
		row(o, i / 2 + 1, i % 2);
	bytes(o, places.v, places.n);
	bytes(o, deltas.v, deltas.n);
	end_packed(o, r);
	vec_done(&places);
	vec_done(&deltas);
	free(follower);
}

/* What is told of the switches, and a sum of the samples that come of them. */
struct told {
	struct perf_switch_times times;
	uint64_t samples, sum;
};

static struct told read_all(struct out *o)
{
	struct perf_event_attr a = switch_attr();
	struct told t = {0};
	struct perf_batch *b;
	struct err err = {0};
	struct perf_file *f = open_bytes(file_of(&a, 1, o));
	int rc;

	assert_non_null(f);
	while ((rc = perf_file_read(f, &b, &err)) > 0) {
		for (size_t i = 0; i < b->n; i++)
			t.sum = t.sum * 31 + b->samples[i].tid * 1000003 + b->samples[i].period;
		t.samples += b->n;
		perf_batch_release(f, b);
	}
	assert_int_equal(rc, 0);
	assert_false(perf_file_stats(f)->damaged);
	t.times = perf_file_stats(f)->switches;
	perf_file_close(f);
	return t;
}

/* Thread 1 runs from 1000 to 1700 and from 2500 to 2600, thread 2 in between. */
static void small_one(void **state)
{
	static const struct one all[] = {{1, false, 1000}, {1, true, 1700},  {2, false, 1710},
					 {2, true, 2490},  {1, false, 2500}, {1, true, 2600}};
	const unsigned n = sizeof all / sizeof *all;

	(void)state;
	for (int follows = 0; follows < 2; follows++) {
		struct out o = {0};
		struct told t;

		name_event(&o);
		packed(&o, all, n, 2, follows);
		t = read_all(&o);
		assert_int_equal(t.times.records, n);
		assert_int_equal(t.times.threads, 2);
		assert_int_equal(t.times.on_ns, 700 + 100 + 780);
		assert_int_equal(t.times.wall_ns, 2 * 1600);
		assert_int_equal(t.times.off_ns, 2 * 1600 - 1580);
	}
}

/* More than a block of them, of many threads, of which none follows another for long. */
static void many(void **state)
{
	enum { PACKS = 20, EACH = 4096, TIDS = 200 };
	struct one *all = calloc(EACH, sizeof *all);
	struct out one_by_one = {0}, together = {0};
	uint64_t seed = 88172645463325252u, now = 1000;
	struct told a, b;

	(void)state;
	assert_non_null(all);
	name_event(&one_by_one);
	name_event(&together);
	for (unsigned p = 0; p < PACKS; p++) {
		for (unsigned i = 0; i < EACH; i++) {
			const uint64_t r = next_random(&seed);

			now += 1 + (r >> 8) % (r % 100 ? 1000 : 10000000);
			all[i] = (struct one){1 + (uint32_t)(r >> 40) % (p % 2 ? TIDS : 3),
					      r >> 20 & 1, now};
			plain(&one_by_one, &all[i]);
		}
		packed(&together, all, EACH, TIDS, p % 3);
	}
	assert_true(together.n < one_by_one.n / 4);
	a = read_all(&one_by_one);
	b = read_all(&together);
	assert_int_equal(a.times.records, PACKS * EACH);
	assert_memory_equal(&a, &b, sizeof a);
	free(all);
}

/* One row of thread 1, and places and deltas of two records, as the head has it or not. */
static void wrong(const struct head *h, uint32_t type, const char *places, uint64_t skips)
{
	struct perf_event_attr a = switch_attr();
	struct out o = {0};
	struct perf_file *f;
	size_t r, at;

	name_event(&o);
	r = begin_packed(&o, h, 1000);
	at = o.n;
	row(&o, 1, false);
	memcpy(o.v + at, &type, sizeof type);
	bytes(&o, places, 2);
	bytes(&o, "\1\1", 2);
	end_packed(&o, r);
	plain_sample(&o, 1, 1, 2000);
	f = open_bytes(file_of(&a, 1, &o));
	drain(f);
	assert_int_equal(perf_file_stats(f)->sample_records, 1);
	assert_int_equal(perf_file_stats(f)->skips[PERF_SKIP_BAD_COUNT], skips);
	assert_int_equal(perf_file_stats(f)->damaged, skips);
	assert_int_equal(perf_file_note_count(f), skips);
	perf_file_close(f);
}

/* Counts beyond the record, rows that are something else: one line, and what follows is read. */
static void hostile(void **state)
{
	static const struct {
		struct head h;
		uint32_t type;
		char places[3];
	} all[] = {
		{{1, 20, 8, 1, 2, 2}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 72, 16, 1, 2, 2}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 0, 16, 1, 2, 2}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 24, 0, 1, 2, 2}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 24, 17, 1, 2, 2}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 24, 24, 1, 2, 2}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 24, 16, 0, 2, 2}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 24, 16, 65535, 2, 2}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 24, 16, 1, UINT32_MAX, 2}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 24, 16, 1, 2, UINT32_MAX}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 24, 16, 1, 3, 2}, PERF_RECORD_SWITCH, "\1\1"},
		{{1, 24, 16, 1, 2, 2}, PERF_RECORD_SAMPLE, "\1\1"},
		{{1, 24, 16, 1, 2, 2}, RECORD_COMPRESSED, "\1\1"},
		{{1, 24, 16, 1, 2, 2}, RECORD_EVENT_TYPE, "\1\1"},
		{{1, 24, 16, 1, 2, 2}, PERF_RECORD_SWITCH, "\1\2"},	/* no such row */
		{{1, 24, 16, 1, 2, 2}, PERF_RECORD_SWITCH, "\xff\xff"}, /* ends early */
	};
	const struct head good = {1, 24, 16, 1, 2, 2};

	(void)state;
	wrong(&good, PERF_RECORD_SWITCH, "\1\1", 0);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		wrong(&all[i].h, all[i].type, all[i].places, 1);
}

static void later_version(void **state)
{
	const struct head h = {2, 24, 16, 1, 2, 2};
	struct perf_event_attr a = switch_attr();
	struct out o = {0};
	struct perf_file *f;

	(void)state;
	name_event(&o);
	end_packed(&o, begin_packed(&o, &h, 1000));
	f = open_bytes(file_of(&a, 1, &o));
	assert_int_equal(drain(f), 0);
	assert_true(perf_file_stats(f)->damaged);
	assert_int_equal(perf_file_note_count(f), 1);
	assert_non_null(strstr(perf_file_note(f, 0), "a newer version of capture"));
	perf_file_close(f);
}

/* Nothing is weighed by them: they are passed over, as plain ones are. */
static void not_weighed(void **state)
{
	static const struct one all[] = {{1, false, 1000}, {1, true, 1700}};
	struct perf_event_attr a = plain_attr();
	struct out o = {0};
	struct perf_file *f;

	(void)state;
	packed(&o, all, 2, 1, true);
	plain_sample(&o, 1, 1, 2000);
	f = open_bytes(file_of(&a, 1, &o));
	assert_int_equal(drain(f), 1);
	assert_false(perf_file_stats(f)->damaged);
	assert_string_equal(perf_file_event(f, 0)->name, "cpu-clock");
	perf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_one),   cmocka_unit_test(many),
		cmocka_unit_test(hostile),     cmocka_unit_test(later_version),
		cmocka_unit_test(not_weighed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
