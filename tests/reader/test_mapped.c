/* test_mapped.c - which pages are let go, and when: private memory that is let go reads as zeros.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "reader/mapped.h"

enum { BLOCK = 512 << 10, BLOCKS = 192 };

/* What may wait: 16 MiB, and of each range a part of a large page. */
#define WAITING_MAX ((size_t)(16 + 2 * MAPPED_RANGES) << 20)

static uint8_t *memory_make(void)
{
	uint8_t *p = mmap(NULL, (size_t)BLOCKS * BLOCK, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	memset(p, 1, (size_t)BLOCKS * BLOCK);
	return p;
}

static bool is_there(const uint8_t *p, size_t block)
{
	return p[block * BLOCK] && p[block * BLOCK + BLOCK - 1];
}

static bool is_gone(const uint8_t *p, size_t block)
{
	return !p[block * BLOCK] && !p[block * BLOCK + BLOCK - 1];
}

static size_t count_gone(const uint8_t *p)
{
	size_t n = 0;

	for (size_t i = 0; i < BLOCKS; i++)
		n += is_gone(p, i);
	return n;
}

/* All blocks that order() tells: none goes before it is done with, all that are done with go. */
static void check_order(size_t (*order)(size_t i), size_t n)
{
	struct mapped_done d = {0};
	uint8_t *p = memory_make();
	bool done[BLOCKS] = {0};
	size_t i, k;

	for (i = 0; i < n; i++) {
		mapped_done_add(&d, p + order(i) * BLOCK, BLOCK);
		done[order(i)] = true;
		assert_true(d.bytes <= WAITING_MAX);
		for (k = 0; k < BLOCKS; k++)
			assert_true(done[k] || is_there(p, k));
	}
	assert_true(count_gone(p) * BLOCK + WAITING_MAX >= n * BLOCK);
	mapped_done_forget(&d);
	assert_int_equal(d.bytes, 0);
	for (k = 0; k < BLOCKS; k++)
		assert_true(done[k] ? is_gone(p, k) : is_there(p, k));
	munmap(p, (size_t)BLOCKS * BLOCK);
}

static size_t forwards(size_t i)
{
	return i;
}

static size_t backwards(size_t i)
{
	return BLOCKS - 1 - i;
}

/* As two processors' buffers lie in a file: 8 MiB of one, then of the other. */
static size_t two_in_turns(size_t i)
{
	size_t run = 16, of = i % 2, k = i / 2;

	return k / run * 2 * run + of * run + k % run;
}

/* Each far from the one before. */
static size_t all_over(size_t i)
{
	return i * 77 % BLOCKS;
}

static size_t every_second(size_t i)
{
	return 2 * i;
}

static void one_order(void **state)
{
	(void)state;
	check_order(forwards, BLOCKS);
	check_order(backwards, BLOCKS);
	check_order(two_in_turns, BLOCKS);
	check_order(all_over, BLOCKS);
	check_order(all_over, BLOCKS / 2);
	check_order(every_second, BLOCKS / 2);
}

/* In order, and from two buffers, what goes at a time is large. */
static void few_at_a_time(void **state)
{
	size_t (*const orders[])(size_t i) = {forwards, two_in_turns};
	size_t i, o, times, before;

	(void)state;
	for (o = 0; o < 2; o++) {
		struct mapped_done d = {0};
		uint8_t *p = memory_make();

		for (i = times = 0; i < BLOCKS; i++) {
			before = d.bytes;
			mapped_done_add(&d, p + orders[o](i) * BLOCK, BLOCK);
			times += d.bytes < before;
		}
		assert_in_range(times, 1, BLOCKS / 8);
		munmap(p, (size_t)BLOCKS * BLOCK);
	}
}

/* What waits is not counted twice, and may be done with again after it has gone. */
static void again(void **state)
{
	struct mapped_done d = {0};
	uint8_t *p = memory_make();

	(void)state;
	mapped_done_add(&d, p, BLOCK);
	mapped_done_add(&d, p, BLOCK);
	assert_int_equal(d.bytes, BLOCK);
	mapped_done_forget(&d);
	assert_true(is_gone(p, 0));
	memset(p, 1, BLOCK);
	mapped_done_add(&d, p, BLOCK);
	mapped_done_forget(&d);
	assert_true(is_gone(p, 0));
	munmap(p, (size_t)BLOCKS * BLOCK);
}

static size_t count_ranges(const struct mapped_done *d)
{
	size_t n = 0, i, k;

	for (i = 0; i < MAPPED_RANGES; i++) {
		const struct mapped_range *a = &d->ranges[i], *b;

		n += !!a->start;
		for (k = 0; k < i; k++) {
			b = &d->ranges[k];
			assert_true(!a->start || !b->start || a->end < b->start ||
				    b->end < a->start);
		}
	}
	return n;
}

/* What lies between two ranges makes one of them. */
static void between(void **state)
{
	struct mapped_done d = {0};
	uint8_t *p = memory_make();

	(void)state;
	mapped_done_add(&d, p, BLOCK);
	mapped_done_add(&d, p + 2 * BLOCK, BLOCK);
	assert_int_equal(count_ranges(&d), 2);
	mapped_done_add(&d, p + BLOCK, BLOCK);
	assert_int_equal(count_ranges(&d), 1);
	assert_int_equal(d.bytes, 3 * BLOCK);
	munmap(p, (size_t)BLOCKS * BLOCK);
}

/* Blocks begin anywhere, so that the end of what goes lies in one of them; here each is looked at
 * again a little later. What is then let go in part and in whole grows on as one. */
static void cut_and_again(void **state)
{
	enum { N = BLOCK - 1000, LATER = 5 };
	size_t i, times = 0, before;
	struct mapped_done d = {0};
	uint8_t *p = memory_make();

	(void)state;
	for (i = 0; i < BLOCKS; i++) {
		before = d.bytes;
		mapped_done_add(&d, p + i * N, N);
		if (i >= LATER)
			mapped_done_add(&d, p + (i - LATER) * N, N);
		times += d.bytes < before;
		assert_in_range(count_ranges(&d), 1, 2);
		assert_true(d.bytes <= WAITING_MAX);
	}
	assert_in_range(times, 1, BLOCKS / 8);
	munmap(p, (size_t)BLOCKS * BLOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_order),	 cmocka_unit_test(few_at_a_time),
		cmocka_unit_test(again),	 cmocka_unit_test(between),
		cmocka_unit_test(cut_and_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
