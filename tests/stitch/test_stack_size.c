/* test_stack_size.c - what is learned of stacks that were cut. What the numbers are good for is
 * tested with recordings, in tests/e2e/test_depths.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unhash.h"
#include "stitch/stitch.h"

/* A thread that is not the first of its process: of that the end of the stack is known. */
static const struct perf_sample sample = {.pid = 7, .tid = 8}, other = {.pid = 7, .tid = 9};

static void add(struct stack_depths *d, const struct perf_sample *s, enum unwind_stop stop,
		uint64_t edge)
{
	const struct stack_trace trace = {.stop = stop, .edge = edge};

	stack_depths_add(d, &s, &trace, 1);
}

static void root(struct stack_depths *d, const struct perf_sample *s, uint64_t top)
{
	add(d, s, UNWIND_STOP_END, top);
}

static void cut(struct stack_depths *d, const struct perf_sample *s, uint64_t sp)
{
	add(d, s, UNWIND_STOP_TRUNCATED_STACK, sp);
}

static void says_how_large_copies_should_be(void **state)
{
	struct stack_depths *d = stack_depths_new();
	struct stack_need need;
	unsigned i;

	(void)state;
	assert_non_null(d);
	root(d, &sample, 0x7fff0000);
	for (i = 1; i <= 10; i++)
		cut(d, &sample, 0x7fff0000 - i * 0x1000);
	cut(d, &sample, 0x7fff1000); /* above: nothing is known of it */
	assert_int_equal(stack_depths_need(d, 90, 9 * 0x1000, &need), 0);
	assert_int_equal(need.cut, 11);
	assert_int_equal(need.known, 10);
	assert_int_equal(need.bytes, 9 * 0x1000);
	assert_int_equal(need.too_deep, 1);
	stack_depths_free(d);
}

static bool same_need(const struct stack_depths *a, const struct stack_depths *b, unsigned percent)
{
	struct stack_need na, nb;

	assert_int_equal(stack_depths_need(a, percent, 0x8000, &na), 0);
	assert_int_equal(stack_depths_need(b, percent, 0x8000, &nb), 0);
	return na.cut == nb.cut && na.known == nb.known && na.bytes == nb.bytes &&
	       na.too_deep == nb.too_deep;
}

/* Whether threads have ended makes no difference to what is said, whatever their order; but a
 * number that comes again is another thread's. */
static void threads_that_end_still_count(void **state)
{
	struct stack_depths *kept = stack_depths_new(), *ended = stack_depths_new();
	struct perf_sample s = sample;
	struct stack_need need;
	unsigned i, percent;

	(void)state;
	for (i = 0; i < 2000; i++) {
		uint64_t top = 0x7000000000 + i * 0x100000ull, sp = top - i % 50 * 0x700;

		s.tid = 100 + i;
		cut(kept, &s, sp);
		cut(ended, &s, sp);
		cut(kept, &other, 0x1000000 - i * 100);
		cut(ended, &other, 0x1000000 - i * 100);
		if (i % 3) {
			root(kept, &s, top);
			root(ended, &s, top);
		}
		if (i % 4)
			stack_depths_end(ended, s.pid, s.tid - (i > 8 ? i % 8 : 0));
	}
	root(kept, &other, 0x1000000);
	root(ended, &other, 0x1000000);
	for (percent = 0; percent <= 100; percent += 5)
		assert_true(same_need(kept, ended, percent));
	stack_depths_end(ended, other.pid, other.tid);
	stack_depths_end(ended, other.pid, other.tid);
	assert_true(same_need(kept, ended, 99));
	cut(ended, &other, 0xfff000);
	cut(kept, &other, 0xfff000);
	assert_int_equal(stack_depths_need(kept, 99, 0x8000, &need), 0);
	i = (unsigned)need.known;
	assert_int_equal(stack_depths_need(ended, 99, 0x8000, &need), 0);
	assert_int_equal(need.known, i - 1);
	stack_depths_free(kept);
	stack_depths_free(ended);
}

/* Stack pointers that without a secret all had one hash: 5 MB of samples took 9 s, these would take
 * many minutes. */
static void stacks_cannot_be_chosen_to_collide(void **state)
{
	enum { N = 300000 };
	const uint64_t thread = ((uint64_t)sample.pid << 32 | sample.tid) * 0x9e3779b97f4a7c15u;
	struct stack_depths *d = stack_depths_new();
	struct stack_need need;
	uint64_t h, unit;
	uint32_t n = 0;

	(void)state;
	assert_int_equal(end_after_a_minute(), 0);
	assert_non_null(d);
	for (h = 1; n < N; h++) {
		unit = unhash(h << 32) ^ thread;
		if (unit >> 54)
			continue;
		cut(d, &sample, unit << 10);
		n++;
	}
	assert_int_equal(stack_depths_need(d, 90, 65528, &need), 0);
	assert_int_equal(need.cut, N);
	stack_depths_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_how_large_copies_should_be),
		cmocka_unit_test(threads_that_end_still_count),
		cmocka_unit_test(stacks_cannot_be_chosen_to_collide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
