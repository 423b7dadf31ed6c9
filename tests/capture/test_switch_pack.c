/* test_switch_pack.c - records of context switches as one: byte for byte what is written, and that
 * a reader gets all of them back. */
#include "tests/reader/build.h"

#include <stdlib.h>

#include "capture/attr.h"
#include "capture/switch_event.h"
#include "capture/switch_pack.h"
#include "tests/random.h"

enum { SIZE = 40, WIDE = 48, CONFIG = 7, OUT = 1 << 13 };

/* As the kernel writes it; wide with the thread that is there before or afterwards. */
static size_t make_switch(uint8_t *dst, size_t n, uint32_t tid, bool out, uint64_t time,
			  uint32_t cpu)
{
	struct perf_event_header h = {.type = n == WIDE ? PERF_RECORD_SWITCH_CPU_WIDE
							: PERF_RECORD_SWITCH,
				      .misc = out ? OUT : 0,
				      .size = (uint16_t)n};
	const uint32_t ids[2] = {tid, tid}, cpus[2] = {cpu, 0}, other[2] = {tid % 7, tid % 7};
	const uint64_t id = 10;
	uint8_t *to = dst;

	memcpy(to, &h, sizeof h);
	to += sizeof h;
	if (n == WIDE) {
		memcpy(to, other, sizeof other);
		to += sizeof other;
	}
	memcpy(to, ids, sizeof ids);
	memcpy(to + 8, &time, sizeof time);
	memcpy(to + 16, cpus, sizeof cpus);
	memcpy(to + 24, &id, sizeof id);
	return n;
}

static struct perf_event_attr switch_attr(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_TRACEPOINT,
		.config = CONFIG,
		.size = sizeof(struct perf_event_attr),
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU,
		.sample_period = 1,
		.sample_id_all = 1,
	};
}

static void name_event(struct out *o)
{
	size_t r = rec(o, RECORD_EVENT_TYPE, 0);

	u64(o, CONFIG);
	str(o, "off-cpu");
	end(o, r);
}

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

/* Adds a record to both: as it is, and packed. */
static void both(struct switch_pack *p, struct out *one_by_one, struct out *together,
		 const uint8_t *rec, size_t n)
{
	static uint8_t room[SWITCH_PACK_BYTES];

	bytes(one_by_one, rec, n);
	if (switch_pack_add(p, rec, n))
		return;
	bytes(together, room, switch_pack_write(p, room));
	switch_pack_clear(p);
	assert_true(switch_pack_add(p, rec, n));
}

static void flush(struct switch_pack *p, struct out *together)
{
	static uint8_t room[SWITCH_PACK_BYTES];

	bytes(together, room, switch_pack_write(p, room));
	switch_pack_clear(p);
	assert_int_equal(switch_pack_write(p, room), 0);
}

static void as_written(void **state)
{
	static const uint8_t head[] = {
		65, 0, 0, 0, 0, 0, 120, 0, 255, 'S', 'W', 'I', 'T', 'C', 'H', 255, 1, 0, SIZE, 0,
		16, 0, 2, 0, 4, 0, 0,	0, 4,	0,   0,	  0,   232, 3,	 0,   0,   0, 0, 0,    0};
	/* Rows 0 and 1, then what followed them before; times 1000, 1300, 1302, 1303. */
	static const uint8_t columns[] = {1, 2, 0, 0, 0, 172, 2, 2, 1, 0};
	struct switch_pack *p = calloc(1, sizeof *p);
	uint8_t rec[SIZE], got[SWITCH_PACK_BYTES];
	static const uint64_t times[] = {1000, 1300, 1302, 1303};

	(void)state;
	assert_non_null(p);
	for (int i = 0; i < 4; i++) {
		make_switch(rec, SIZE, 5, i % 2, times[i], 3);
		assert_true(switch_pack_add(p, rec, SIZE));
	}
	assert_int_equal(switch_pack_write(p, got), 120);
	assert_memory_equal(got, head, sizeof head);
	for (int i = 0; i < 2; i++) {
		make_switch(rec, SIZE, 5, i, 0, 3);
		assert_memory_equal(got + sizeof head + 32 * i, rec, 16);
		assert_memory_equal(got + sizeof head + 32 * i + 16, rec + 24, 16);
	}
	assert_memory_equal(got + sizeof head + 64, columns, sizeof columns);
	assert_int_equal(switch_pack_first_ns(got, 120), 1000);
	assert_int_equal(switch_pack_first_ns(rec, SIZE), 0);
	free(p);
}

/* Two threads that pass a byte to each other, as most of 50,000 switches a second are. */
static void ping_pong(void **state)
{
	enum { N = 100000 };
	struct switch_pack *p = calloc(1, sizeof *p);
	struct out one_by_one = {0}, together = {0};
	uint64_t seed = 88172645463325252u, now = 1ull << 45;
	struct told a, b;
	uint8_t rec[SIZE];

	(void)state;
	assert_non_null(p);
	name_event(&one_by_one);
	name_event(&together);
	for (uint32_t i = 0; i < N; i++) {
		now += (i % 2 ? 300 : 2400) + next_random(&seed) % 128;
		make_switch(rec, SIZE, 100 + (i + 1) / 2 % 2, i % 2 == 0, now, 3);
		both(p, &one_by_one, &together, rec, SIZE);
	}
	flush(p, &together);
	/* Three bytes each: a place, and two of a delta. */
	assert_true(together.n < N * 3 + N / 20);
	a = read_all(&one_by_one);
	b = read_all(&together);
	assert_int_equal(a.times.records, N);
	assert_int_equal(a.times.threads, 2);
	assert_memory_equal(&a, &b, sizeof a);
	free(p);
}

/* More rows and larger deltas than there is room for, time that goes back, both kinds of records,
 * another processor. */
static void all_kinds(void **state)
{
	enum { N = 200000 };
	struct switch_pack *p = calloc(1, sizeof *p);
	struct out one_by_one = {0}, together = {0};
	uint64_t seed = 88172645463325252u, now = 1ull << 40;
	struct told a, b;
	uint8_t rec[WIDE];

	(void)state;
	assert_non_null(p);
	name_event(&one_by_one);
	name_event(&together);
	for (uint32_t i = 0; i < N; i++) {
		const uint64_t r = next_random(&seed);
		const uint32_t tids = i / 10000 % 3 == 0 ? 2 : i / 10000 % 3 == 1 ? 300 : 5000;
		const size_t size = i / 1000 % 9 == 7 ? WIDE : SIZE;

		now += r % 50 == 0 ? r >> 30 : r >> 50;
		if (r % 1000 == 1)
			now -= 100000;
		make_switch(rec, size, 1 + (uint32_t)(r >> 20) % tids, r >> 19 & 1, now, i / 5000);
		both(p, &one_by_one, &together, rec, size);
	}
	flush(p, &together);
	assert_true(together.n < one_by_one.n);
	a = read_all(&one_by_one);
	b = read_all(&together);
	assert_int_equal(a.times.records, N);
	assert_memory_equal(&a, &b, sizeof a);
	free(p);
}

/* What is no record of a switch with its trailer is refused. */
static void refused(void **state)
{
	struct switch_pack *p = calloc(1, sizeof *p);
	uint8_t rec[64] = {0};

	(void)state;
	assert_non_null(p);
	assert_false(switch_pack_add(p, rec, 8));
	assert_false(switch_pack_add(p, rec, 44));
	assert_false(switch_pack_add(p, rec, 56));
	make_switch(rec, SIZE, 5, true, 1000, 3);
	assert_true(switch_pack_add(p, rec, SIZE));
	make_switch(rec, WIDE, 5, true, 1000, 3);
	assert_false(switch_pack_add(p, rec, WIDE));
	assert_int_equal(p->n, 1);
	free(p);
}

/* The last time of each thread, also when an earlier one comes later. */
static void remembered(void **state)
{
	struct switch_pack *p = calloc(1, sizeof *p);
	struct hash_table seen = {0};
	uint8_t rec[SIZE];

	(void)state;
	assert_non_null(p);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 1; i <= 6; i++) {
			make_switch(rec, SIZE, 5 + i % 3, i % 2,
				    (9 - 3 * round) * i * SWITCH_STEP_NS, 3);
			assert_true(switch_pack_add(p, rec, SIZE));
		}
		assert_int_equal(switch_pack_note(p, &seen), 0);
		switch_pack_clear(p);
	}
	assert_int_equal(hash_get(&seen, 5), 54);
	assert_int_equal(hash_get(&seen, 6), 36);
	assert_int_equal(hash_get(&seen, 7), 45);
	assert_int_equal(hash_get(&seen, 8), HASH_NONE);
	hash_done(&seen);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_written), cmocka_unit_test(ping_pong),
		cmocka_unit_test(all_kinds),  cmocka_unit_test(refused),
		cmocka_unit_test(remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
