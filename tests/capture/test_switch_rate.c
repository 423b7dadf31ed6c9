/* Which context switches are sampled: all where there are few, and of many a share that does not
 * depend on when they come. */
#include "capture/switch_rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { STEP_NS = 200000, STEPS = 50000 }; /* ten seconds */

/* How many of `per_step` switches in each step (in `burst` of `cycle` steps) are sampled; *last: of
 * those at the end of a burst, in percent. */
static uint64_t sampled(uint64_t per_step, int burst, int cycle, unsigned *last)
{
	struct switch_rate r = {0};
	uint64_t taken = 0, ends = 0, ends_taken = 0;

	for (int i = 0; i < STEPS; i++) {
		const bool on = !r.paused, is_burst = i % cycle < burst;

		taken += on && is_burst ? per_step : 0;
		ends += i % cycle == burst - 1;
		ends_taken += on && i % cycle == burst - 1;
		switch_rate_take(&r, is_burst ? per_step : 0, 1 + (uint64_t)i * STEP_NS);
	}
	*last = (unsigned)(100 * ends_taken / ends);
	return taken;
}

static void few(void **state)
{
	unsigned last;

	(void)state;
	assert_int_equal(sampled(1, 1, 1, &last), STEPS); /* 5,000 a second */
	assert_int_equal(last, 100);
	/* 100,000 a second for 1 ms, and nothing for 99. */
	assert_int_equal(sampled(20, 5, 500, &last), 20 * 5 * (STEPS / 500));
	assert_int_equal(last, 100);
}

static void many(void **state)
{
	unsigned last;
	uint64_t taken;

	(void)state;
	taken = sampled(10, 1, 1, &last); /* 50,000 a second */
	assert_in_range(taken, 15000, 40000);
	taken = sampled(200, 1, 1, &last); /* a million a second */
	assert_in_range(taken, 10000, 200000);
}

/* Of waits at the end of a burst, which may be long, no fewer are sampled than of others. */
static void bursts(void **state)
{
	unsigned last, share;
	uint64_t taken;

	(void)state;
	taken = sampled(16, 125, 625, &last); /* 80,000 a second for 25 ms of 125 */
	share = (unsigned)(100 * taken / (16 * 125 * (STEPS / 625)));
	assert_in_range(share, 6, 30);
	assert_in_range(last, share / 2, 2 * share);
}

/* When there are few again all are sampled soon. */
static void calms_down(void **state)
{
	struct switch_rate r = {0};
	uint64_t now = 1;
	int steps = 0;

	(void)state;
	for (int i = 0; i < 5000; i++, now += STEP_NS)
		switch_rate_take(&r, 100, now);
	assert_true(r.hz > SWITCH_HZ);
	for (; r.hz > SWITCH_HZ; steps++, now += STEP_NS)
		switch_rate_take(&r, 0, now);
	assert_false(r.paused);
	assert_in_range((uint64_t)steps * STEP_NS, 1, 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few),
		cmocka_unit_test(many),
		cmocka_unit_test(bursts),
		cmocka_unit_test(calms_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
