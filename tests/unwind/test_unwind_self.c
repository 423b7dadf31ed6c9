/* test_unwind_self.c - unwinds copies of this program's own stack. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#if defined(__x86_64__)

#include "tests/unwind/snapshot.h"

#define DEPTH 9

__attribute__((noinline)) static unsigned recurse(struct snapshot *s, uint64_t top, unsigned n)
{
	volatile unsigned keep = n; /* no tail call */

	if (n)
		recurse(s, top, n - 1);
	else
		take(s, top);
	return keep;
}

static const enum unwind_method cfi_methods[] = {UNWIND_LIBDW, UNWIND_AUTO};
#define N_METHODS (sizeof cfi_methods / sizeof *cfi_methods)

/* ---- cases -------------------------------------------------------------------------------- */

static struct snapshot snap; /* too large for a stack that is copied */

static void check_whole(struct snapshot *s)
{
	struct stack_trace t;
	struct world w;
	size_t i;

	for (i = 0; i < N_METHODS; i++) {
		struct unwinder *u;

		world_init(&w, s, NULL);
		u = make(&w, cfi_methods[i], true);
		unwind_sample(u, &w.sample, &t);
		assert_int_equal(t.n, s->n_truth);
		assert_truth(s, &t, t.n);
		assert_int_equal(t.stop, UNWIND_STOP_END);
		assert_int_equal(unwinder_stats(u)->stops[UNWIND_STOP_END], 1);
		assert_int_equal(unwinder_stats(u)->frames_by_how[FRAME_CFI], t.n - 1);
		unwinder_free(u);
		world_done(&w);
	}
}

static void test_main_thread(void **state)
{
	(void)state;
	recurse(&snap, stack_top(), DEPTH);
	assert_true(snap.n_truth > DEPTH + 3);
	check_whole(&snap);
}

static void *thread_main(void *arg)
{
	recurse(arg, stack_top(), DEPTH);
	return NULL;
}

static void test_other_thread(void **state)
{
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, thread_main, &snap), 0);
	pthread_join(t, NULL);
	check_whole(&snap);
}

static void on_signal(int sig)
{
	volatile int keep; /* no tail call */

	recurse(&snap, stack_top(), 2);
	keep = sig;
	(void)keep;
}

__attribute__((noinline)) static void raise_here(void)
{
	raise(SIGUSR1);
}

/* Through the trampoline. Its frame and the interrupted one are exact addresses, all others are
 * return addresses. */
static void test_signal(void **state)
{
	struct stack_trace t;
	struct unwinder *u;
	struct world w;
	size_t i, n, k;

	(void)state;
	signal(SIGUSR1, on_signal);
	raise_here();
	check_whole(&snap);
	for (k = 0; k < N_METHODS; k++) {
		world_init(&w, &snap, NULL);
		u = make(&w, cfi_methods[k], true);
		unwind_sample(u, &w.sample, &t);
		for (n = 0, i = 1; i < t.n; i++)
			n += !t.frames[i].is_return_address;
		assert_int_equal(n, 2);
		/* take, recurse x 3, on_signal, trampoline, raise */
		assert_false(t.frames[5].is_return_address);
		assert_false(t.frames[6].is_return_address);
		unwinder_free(u);
		world_done(&w);
	}
}

/* A copy cut by the size of the dump says so; one that is short for another reason does not. Every
 * cut gives the first frames, never others. */
static void test_cut(void **state)
{
	struct stack_trace t;
	struct unwinder *u;
	struct world w;
	uint32_t whole, bytes;
	size_t k;

	(void)state;
	recurse(&snap, stack_top(), DEPTH);
	whole = snap.bytes;
	for (k = 0; k < N_METHODS; k++) {
		world_init(&w, &snap, NULL);
		u = make(&w, cfi_methods[k], true);
		for (bytes = 8; bytes < whole; bytes += 8 * 37) {
			w.sample.user_stack_bytes = bytes;
			w.sample.user_stack_asked = bytes;
			unwind_sample(u, &w.sample, &t);
			assert_truth(&snap, &t, t.n);
			assert_true(t.stop == (t.n == snap.n_truth ? UNWIND_STOP_END
								   : UNWIND_STOP_TRUNCATED_STACK));
			w.sample.user_stack_asked = STACK_MAX;
			unwind_sample(u, &w.sample, &t);
			assert_truth(&snap, &t, t.n);
			if (t.n < snap.n_truth)
				assert_int_equal(t.stop, UNWIND_STOP_BAD_MEMORY);
		}
		unwinder_free(u);
		world_done(&w);
	}
}

static void test_missing_binary(void **state)
{
	struct stack_trace t;
	struct unwinder *u;
	struct world w;
	size_t k;

	(void)state;
	recurse(&snap, stack_top(), DEPTH);
	for (k = 0; k < N_METHODS; k++) {
		world_init(&w, &snap, "libcmocka");
		u = make(&w, cfi_methods[k], true);
		unwind_sample(u, &w.sample, &t);
		/* take, recurse x (DEPTH + 1), the test, then cmocka. */
		assert_int_equal(t.n, DEPTH + 4);
		assert_truth(&snap, &t, t.n);
		assert_int_equal(t.stop, UNWIND_STOP_NO_BINARY);
		assert_string_equal(t.stop_module->dso->path, "/nonexistent/file");
		unwinder_free(u);
		world_done(&w);
	}
}

static void test_limits(void **state)
{
	struct unwind_options opt = {.method = UNWIND_LIBDW, .max_frames = 5};
	struct stack_trace t;
	struct unwinder *u;
	struct world w;

	(void)state;
	recurse(&snap, stack_top(), DEPTH);
	world_init(&w, &snap, NULL);
	assert_int_equal(unwinder_new(&u, w.modules, &opt, NULL), 0);
	unwind_sample(u, &w.sample, &t);
	assert_int_equal(t.n, 5);
	assert_int_equal(t.stop, UNWIND_STOP_DEPTH);
	/* No map at all: the address of the sample, and why there is no more. */
	w.sample.pid = 99;
	w.sample.space = machine_space(w.machine, 99);
	unwind_sample(u, &w.sample, &t);
	assert_int_equal(t.n, 1);
	assert_null(t.frames[0].map);
	assert_int_equal(t.stop, UNWIND_STOP_NO_MAP);
	/* No registers: not unwound. */
	w.sample.user_regs.abi = 0;
	unwind_sample(u, &w.sample, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.stop, UNWIND_STOP_NONE);
	unwinder_free(u);
	opt.arch = "vax";
	assert_int_equal(unwinder_new(&u, w.modules, &opt, NULL), 0);
	w.sample.user_regs.abi = PERF_REGS_ABI_64_;
	unwind_sample(u, &w.sample, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.stop, UNWIND_STOP_UNSUPPORTED);
	unwinder_free(u);
	world_done(&w);
}

/* This file is compiled with frame pointers: they carry to the caller of the test at least. */
static void test_frame_pointers(void **state)
{
	struct stack_trace t;
	struct unwinder *u;
	struct world w;
	uint32_t bytes;

	(void)state;
	recurse(&snap, stack_top(), DEPTH);
	world_init(&w, &snap, NULL);
	u = make(&w, UNWIND_FP, false);
	unwind_sample(u, &w.sample, &t);
	assert_truth(&snap, &t, DEPTH + 3);
	assert_int_equal(t.frames[1].how, FRAME_FRAME_POINTER);
	assert_true(t.frames[1].is_return_address);
	/* Cut inside the part that has frame pointers. */
	bytes = (uint32_t)(snap.regs[6] - snap.regs[7]) + 40;
	w.sample.user_stack_bytes = w.sample.user_stack_asked = bytes;
	unwind_sample(u, &w.sample, &t);
	assert_true(t.n >= 2 && t.n < DEPTH);
	assert_int_equal(t.stop, UNWIND_STOP_TRUNCATED_STACK);
	/* A frame pointer below the stack pointer is none. */
	w.packed[6] = snap.regs[7] - 16;
	unwind_sample(u, &w.sample, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.stop, UNWIND_STOP_LOOP);
	unwinder_free(u);
	world_done(&w);
}

/* The kernel stopped copying at a page that was not in memory. It shows where it is known how far
 * the stack goes. */
static void test_broken_off(void **state)
{
	struct machine_mmap stack = {.pid = 7, .tid = 7, .path = "[stack]"};
	struct stack_trace t;
	struct unwinder *u;
	struct world w;

	(void)state;
	recurse(&snap, stack_top(), DEPTH);
	world_init(&w, &snap, NULL);
	u = make(&w, UNWIND_AUTO, false);
	w.sample.user_stack_bytes = (uint32_t)(snap.regs[6] - snap.regs[7]) + 40;
	unwind_sample(u, &w.sample, &t);
	assert_true(t.n >= 2 && t.n < DEPTH);
	assert_int_equal(t.stop, UNWIND_STOP_BAD_MEMORY);
	stack.start = snap.regs[7];
	stack.len = snap.bytes;
	assert_int_equal(machine_mmap(w.machine, &stack), 0);
	w.sample.space = machine_space(w.machine, 7);
	unwind_sample(u, &w.sample, &t);
	assert_true(t.n >= 2 && t.n < DEPTH);
	assert_int_equal(t.stop, UNWIND_STOP_TRUNCATED_STACK);
	w.sample.tid = 8; /* another thread's stack is elsewhere */
	unwind_sample(u, &w.sample, &t);
	assert_int_equal(t.stop, UNWIND_STOP_BAD_MEMORY);
	w.sample.user_stack_bytes = 0; /* not even the first page */
	unwind_sample(u, &w.sample, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.stop, UNWIND_STOP_TRUNCATED_STACK);
	unwinder_free(u);
	world_done(&w);
}

__attribute__((noinline)) static void with_room(struct snapshot *s, uint64_t top)
{
	uint8_t room[8192]; /* more than a page */

	/* As if all of it were used: clang keeps no more of an array than what is. */
	__asm__ volatile("" : : "r"(room) : "memory");
	recurse(s, top, DEPTH);
	__asm__ volatile("" : : "r"(room) : "memory");
}

/* The same in another thread, the end of whose stack is not known: what is missing begins with a
 * page. */
static void test_thread_broken_off(void **state)
{
	struct stack_trace t;
	struct unwinder *u;
	struct world w;

	(void)state;
	with_room(&snap, stack_top());
	world_init(&w, &snap, NULL);
	u = make(&w, UNWIND_AUTO, false);
	w.sample.tid = 8;
	w.sample.user_stack_bytes = 4096 - snap.regs[7] % 4096;
	unwind_sample(u, &w.sample, &t);
	assert_true(t.n <= DEPTH + 3);
	assert_int_equal(t.stop, UNWIND_STOP_MISSING_PAGE);
	w.sample.user_stack_bytes += 8;
	unwind_sample(u, &w.sample, &t);
	assert_int_equal(t.stop, UNWIND_STOP_BAD_MEMORY);
	unwinder_free(u);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_thread),
		cmocka_unit_test(test_other_thread),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_missing_binary),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_frame_pointers),
		cmocka_unit_test(test_broken_off),
		cmocka_unit_test(test_thread_broken_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	printf("1..1\nok - unwinding itself # SKIP written for x86-64\n");
	return 0;
}

#endif
