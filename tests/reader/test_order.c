/* test_order.c - the order against qsort, with rounds placed anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/hash.h"
#include "reader/order.h"

static int compare(const void *a, const void *b)
{
	const struct order_entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->where > y->where) - (x->where < y->where);
}

/* n entries whose times lie within `spread` of a rising line: what rings look like, or chaos. */
static void check(size_t n, uint64_t spread, uint64_t slope, uint64_t seed)
{
	struct order_entry *want = calloc(n, sizeof *want), got;
	struct order o = {0};
	uint64_t where = 0;
	size_t i;

	assert_non_null(want);
	for (i = 0; i < n; i++) {
		seed = hash_u64(seed + i + 1);
		where += 1 + seed % 5 * (seed % 7 ? 1 : UINT32_MAX); /* far jumps, too */
		want[i] = (struct order_entry){i * slope + seed / 64 % spread, where};
		assert_int_equal(order_push(&o, want[i].time, where, NULL), 0);
	}
	qsort(want, n, sizeof *want, compare);
	assert_int_equal(order_round(&o, true, NULL), 0);
	for (i = 0; i < n; i++) {
		assert_int_equal(order_pop(&o, &got, NULL), 1);
		assert_int_equal(got.time, want[i].time);
		assert_int_equal(got.where, want[i].where);
	}
	assert_int_equal(order_pop(&o, &got, NULL), 0);
	assert_int_equal(o.n_late, 0);
	order_done(&o);
	free(want);
}

static void whole_files(void **state)
{
	(void)state;
	check(1, 1, 0, 1);
	check(1000, 1, 0, 2);		     /* all at one time */
	check(1000, 1, 3, 3);		     /* in order already */
	check(5000, 50, 1, 4);		     /* nearly */
	check(5000, UINT32_MAX, 0, 5);	     /* chaos */
	check(5000, 1ull << 57, 1 << 20, 6); /* steps of more than 32 bits */
}

/* More than is kept in memory: pages go to a file, and where none can be made they stay. */
static void large(void **state)
{
	const struct rlimit small = {1 << 20, RLIM_INFINITY};
	struct rlimit before;

	(void)state;
	check(3000000, 50, 1000, 7);	 /* one run, nearly: 3 MB of steps more than fit */
	check(400000, UINT32_MAX, 0, 8); /* more short runs than are kept apart */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	check(3000000, 5000, 1000, 9);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* Rounds as perf writes them: times of a round are never before the highest of the last but one.
 * All that leaves must be in order, at whatever time it leaves, and little may stay behind. */
static void rounds(void **state)
{
	struct order o = {0};
	struct order_entry got;
	uint64_t seed = 7, where = 0, last = 0, pushed = 0, popped = 0;

	(void)state;
	for (uint64_t round = 1; round < 400; round++) {
		for (uint64_t ring = 0; ring < 4; ring++) {
			for (uint64_t i = 0; i < 20; i++) {
				seed = hash_u64(seed);
				/* in order within a ring, overlapping the round before by half */
				assert_int_equal(order_push(&o, round * 1000 + i * 70 + seed % 70,
							    ++where, NULL),
						 0);
				pushed++;
			}
		}
		assert_int_equal(order_round(&o, false, NULL), 0);
		while (order_pop(&o, &got, NULL) > 0) {
			assert_true(got.time >= last);
			last = got.time;
			popped++;
		}
		assert_true(pushed - popped <= 2 * 80);
		assert_true(o.log.pages.n <= 16 + 4);
	}
	assert_int_equal(order_round(&o, true, NULL), 0);
	while (order_pop(&o, &got, NULL) > 0)
		popped++;
	assert_int_equal(pushed, popped);
	assert_int_equal(o.n_late, 0);
	order_done(&o);
}

/* One time far in the future (a damaged record) leaves last; all else leaves in order and soon. Two
 * such times are the clock's: a machine that slept. */
static void leaps(void **state)
{
	const uint64_t far = 1ull << 60;

	(void)state;
	for (uint64_t at = 1; at < 120; at += 17) {
		for (int n_far = 0; n_far < 2; n_far++) {
			struct order o = {0};
			struct order_entry got;
			uint64_t where = 0, last = 0, pushed = 0, popped = 0;

			for (uint64_t i = 0; i < 120; i++) {
				/* two rings; the second is half a round behind */
				uint64_t start =
					(1ull << 50) + i * 1000 + (n_far && i >= at ? far / 2 : 0);

				for (uint64_t k = 0; k < 20; k++, pushed++)
					order_push(&o, start + k % 10 * 100 - k / 10 * 500, ++where,
						   NULL);
				if (i == at && !n_far && ++pushed)
					order_push(&o, far, ++where, NULL);
				order_round(&o, false, NULL);
				for (; order_pop(&o, &got, NULL) > 0; popped++) {
					assert_true(got.time >= last && got.time < far);
					last = got.time;
				}
				assert_true(pushed - popped <= 4 * 20 + 1);
			}
			assert_int_equal(order_round(&o, true, NULL), 0);
			for (; order_pop(&o, &got, NULL) > 0; popped++)
				;
			assert_int_equal(pushed, popped);
			assert_int_equal(got.time == far, !n_far);
			assert_int_equal(o.n_late, 0);
			order_done(&o);
		}
	}
}

/* A record older than what has left: it comes out at once and is counted. */
static void late(void **state)
{
	struct order o = {0};
	struct order_entry got;

	(void)state;
	order_push(&o, 10, 1, NULL);
	order_round(&o, false, NULL);
	order_push(&o, 20, 2, NULL);
	order_round(&o, false, NULL);
	assert_int_equal(order_pop(&o, &got, NULL), 1);
	assert_int_equal(got.time, 10);
	order_push(&o, 5, 3, NULL);
	order_round(&o, false, NULL);
	assert_int_equal(order_pop(&o, &got, NULL), 1);
	assert_int_equal(got.time, 5);
	assert_int_equal(o.n_late, 1);
	order_done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_files), cmocka_unit_test(large), cmocka_unit_test(rounds),
		cmocka_unit_test(leaps),       cmocka_unit_test(late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
