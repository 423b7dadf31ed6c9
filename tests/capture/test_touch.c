/* test_touch.c - which pages of new threads' stacks are read, asked of the kernel about our own
 * memory (mincore(2)). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/touch.h"

#define PAGE   4096ull
#define COPY   (32ull << 10)
#define PART   (COPY / PAGE + 1) /* of a stack, in pages: a copy, and the thread's own data */
#define STACK  (1ull << 20)
#define PARENT 1000001 /* ids of threads: the memory is that of our process */
#define FIRST  1000002
#define SECOND 1000003
#define THIRD  1000004

struct state {
	struct touch touch;
	uint8_t *reserved; /* STACK * 2 bytes without rights */
};

static int setup(void **state)
{
	struct state *s = calloc(1, sizeof *s);

	assert_true(sysconf(_SC_PAGESIZE) == (long)PAGE);
	touch_init(&s->touch);
	s->reserved = mmap(NULL, 2 * STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	assert_ptr_not_equal(s->reserved, MAP_FAILED);
	madvise(s->reserved, 2 * STACK, MADV_NOHUGEPAGE);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct state *s = *state;

	touch_done(&s->touch);
	munmap(s->reserved, 2 * STACK);
	free(s);
	return 0;
}

static size_t present(uint8_t *at, size_t n)
{
	unsigned char in[2 * STACK / PAGE];
	size_t sum = 0;

	assert_int_equal(mincore(at, n * PAGE, in), 0);
	for (size_t i = 0; i < n; i++)
		sum += in[i] & 1;
	return sum;
}

static void note(struct state *s, pid_t tid, const void *start, uint64_t n, bool is_reserved)
{
	struct touch_map m = {.start = (uintptr_t)start,
			      .end = (uintptr_t)start + n,
			      .pid = getpid(),
			      .tid = tid};

	touch_note_map(&s->touch, &m, is_reserved);
}

static void allow(uint8_t *at, uint64_t n)
{
	assert_int_equal(mprotect(at, n, PROT_READ | PROT_WRITE), 0);
}

static void begin(struct state *s, pid_t tid)
{
	touch_thread_began(&s->touch, getpid(), PARENT, tid, COPY);
}

static void assert_top_read(struct state *s, uint8_t *end, uint64_t pages)
{
	assert_int_equal(present(end - PART * PAGE, PART), PART);
	assert_int_equal(present(end - 2 * PART * PAGE, PART), 0);
	assert_int_equal(s->touch.pages, pages);
}

/* glibc to 2.41, musl: reserved, then all but a guard allowed, a heap's beginning; the guard of an
 * older stack is a neighbour. */
static void test_reserved(void **state)
{
	struct state *s = *state;
	uint8_t *stack = s->reserved + PAGE, *end = stack + 32 * PAGE;

	allow(stack, 32 * PAGE);
	allow(s->reserved + STACK, STACK);
	note(s, PARENT, s->reserved, 35 * PAGE, true);
	note(s, PARENT, stack, 32 * PAGE, false);
	note(s, PARENT, s->reserved + STACK, 33 * PAGE, false);
	begin(s, FIRST);
	assert_top_read(s, end, PART);
	assert_int_equal(present(s->reserved + STACK, STACK / PAGE), 0);
	begin(s, SECOND); /* nothing was mapped for it */
	assert_int_equal(s->touch.pages, PART);
}

/* glibc from 2.42: mapped as it is, just below the one before, one mapping to the kernel. */
static void test_merged(void **state)
{
	struct state *s = *state;

	allow(s->reserved, 2 * STACK);
	note(s, PARENT, s->reserved + STACK, STACK, false);
	begin(s, FIRST);
	assert_top_read(s, s->reserved + 2 * STACK, PART);
	note(s, PARENT, s->reserved, 2 * STACK, false);
	begin(s, SECOND);
	assert_top_read(s, s->reserved + STACK, 2 * PART);
}

/* A stack whose thread has ended has lost its pages, and is the next one's. */
static void test_used_again(void **state)
{
	struct state *s = *state;
	uint8_t *low = s->reserved, *high = s->reserved + STACK;

	allow(s->reserved, 2 * STACK);
	note(s, PARENT, high, STACK, false);
	begin(s, FIRST);
	note(s, PARENT, low, 2 * STACK, false);
	begin(s, SECOND);
	madvise(high, STACK, MADV_DONTNEED);
	touch_thread_ended(&s->touch, getpid(), FIRST, COPY);
	assert_top_read(s, high + STACK, 3 * PART);
	begin(s, THIRD);
	assert_int_equal(s->touch.pages, 3 * PART);

	/* A sample shows that it has the other one; the last samples of a thread do not count. */
	touch_note_sample(&s->touch, getpid(), THIRD, (uintptr_t)low + STACK - 64);
	touch_note_sample(&s->touch, getpid(), FIRST, (uintptr_t)low + STACK - 64);
	madvise(low, STACK, MADV_DONTNEED);
	touch_thread_ended(&s->touch, getpid(), THIRD, COPY);
	assert_top_read(s, low + STACK, 4 * PART);
}

/* Its start was read from one ring before the end of the thread before it from another. */
static void test_out_of_order(void **state)
{
	struct state *s = *state;

	allow(s->reserved, STACK);
	note(s, PARENT, s->reserved, STACK, false);
	begin(s, FIRST);
	begin(s, SECOND);
	touch_thread_ended(&s->touch, getpid(), FIRST, COPY);
	madvise(s->reserved, STACK, MADV_DONTNEED);
	touch_thread_ended(&s->touch, getpid(), SECOND, COPY);
	assert_top_read(s, s->reserved + STACK, 3 * PART);
}

static void test_gone(void **state)
{
	struct state *s = *state;

	note(s, PARENT, s->reserved, STACK, false);
	munmap(s->reserved, 2 * STACK);
	begin(s, FIRST);
	touch_thread_ended(&s->touch, getpid(), FIRST, COPY);
	assert_int_equal(s->touch.pages, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reserved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out_of_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
