/* test_unwind_self.c - unwinds copies of this program's own stack. The oracle is backtrace(),
 * libgcc's unwinder, called at the same place: an implementation of CFI that shares no code with
 * libdw. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <ucontext.h>
#include <unwind.h>
#include <cmocka.h>

#include "reader/machine.h"
#include "unwind/unwind.h"

#if defined(__x86_64__)

#define STACK_MAX (64u << 10)
#define DEPTH	  9

struct snapshot {
	uint64_t regs[24];
	uint8_t stack[STACK_MAX];
	uint32_t bytes;
	uint64_t truth[64];
	size_t n_truth;
};

/* perf register numbers (asm/perf_regs.h) of what getcontext() stores. */
static const struct {
	int greg, perf;
} reg_map[] = {
	{REG_RAX, 0},  {REG_RBX, 1},  {REG_RCX, 2},  {REG_RDX, 3},  {REG_RSI, 4},  {REG_RDI, 5},
	{REG_RBP, 6},  {REG_RSP, 7},  {REG_RIP, 8},  {REG_R8, 16},  {REG_R9, 17},  {REG_R10, 18},
	{REG_R11, 19}, {REG_R12, 20}, {REG_R13, 21}, {REG_R14, 22}, {REG_R15, 23},
};
#define REG_MASK 0xff01ffull

static uint64_t stack_top(void)
{
	pthread_attr_t a;
	void *low;
	size_t size;

	pthread_getattr_np(pthread_self(), &a);
	pthread_attr_getstack(&a, &low, &size);
	pthread_attr_destroy(&a);
	return (uintptr_t)low + size;
}

__attribute__((no_sanitize("address"), noinline)) static void
copy_stack(struct snapshot *s, const uint8_t *from, uint64_t top)
{
	uint64_t left = top - (uintptr_t)from, i;

	s->bytes = left < STACK_MAX ? (uint32_t)left : STACK_MAX;
	for (i = 0; i < s->bytes; i++)
		s->stack[i] = from[i];
}

static _Unwind_Reason_Code add_truth(struct _Unwind_Context *c, void *arg)
{
	struct snapshot *s = arg;

	/* After the root libgcc calls once more, with no address. */
	if (s->n_truth == 64 || !_Unwind_GetIP(c))
		return _URC_END_OF_STACK;
	s->truth[s->n_truth++] = _Unwind_GetIP(c);
	return _URC_NO_REASON;
}

/* Registers and stack of one moment inside this function. */
__attribute__((noinline)) static void take(struct snapshot *s, uint64_t top)
{
	ucontext_t uc;
	size_t i;

	s->n_truth = 0;
	_Unwind_Backtrace(add_truth, s);
	getcontext(&uc);
	for (i = 0; i < sizeof reg_map / sizeof *reg_map; i++)
		s->regs[reg_map[i].perf] = (uint64_t)uc.uc_mcontext.gregs[reg_map[i].greg];
	copy_stack(s, (const uint8_t *)(uintptr_t)s->regs[7], top);
}

__attribute__((noinline)) static unsigned recurse(struct snapshot *s, uint64_t top, unsigned n)
{
	volatile unsigned keep = n; /* no tail call */

	if (n)
		recurse(s, top, n - 1);
	else
		take(s, top);
	return keep;
}

/* ---- the sample --------------------------------------------------------------------------- */

struct world {
	struct machine *machine;
	struct modules *modules;
	struct perf_event event;
	struct perf_sample sample;
	uint64_t packed[24];
};

/* The executable mappings of this process; `hide` names one whose file is said to be elsewhere. */
static void add_maps(struct machine *m, const char *hide)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024], prot[8], path[512];
	unsigned long start, end, off, ino;
	unsigned maj, min;

	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		struct machine_mmap map = {.pid = 7, .tid = 7, .is_exec = true};

		path[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %511s", &start, &end, prot, &off, &maj,
			   &min, &ino, path) < 7 ||
		    prot[2] != 'x')
			continue;
		map.start = start;
		map.len = end - start;
		map.pgoff = off;
		map.prot = PROT_READ | PROT_EXEC;
		map.maj = maj;
		map.min = min;
		map.ino = ino;
		map.path = hide && strstr(path, hide) ? "/nonexistent/file" : path;
		assert_int_equal(machine_mmap(m, &map), 0);
	}
	fclose(f);
}

static void world_init(struct world *w, struct snapshot *s, const char *hide)
{
	unsigned bit, n = 0;

	memset(w, 0, sizeof *w);
	assert_int_equal(machine_new(&w->machine), 0);
	add_maps(w->machine, hide);
	assert_int_equal(modules_new(&w->modules, NULL, NULL), 0);
	for (bit = 0; bit < 24; bit++)
		if (REG_MASK >> bit & 1)
			w->packed[n++] = s->regs[bit];
	w->sample = (struct perf_sample){
		.ip = s->regs[8],
		.pid = 7,
		.tid = 7,
		.cpumode = PERF_CPUMODE_USER,
		.event = &w->event,
		.space = machine_space(w->machine, 7),
		.kernel = machine_kernel(w->machine),
		.user_regs = {PERF_REGS_ABI_64_, REG_MASK, w->packed},
		.user_stack = s->stack,
		.user_stack_bytes = s->bytes,
		.user_stack_asked = STACK_MAX,
	};
	/* A whole stack does not fill the dump. */
	assert_true(s->bytes < STACK_MAX);
}

static void world_done(struct world *w)
{
	modules_free(w->modules);
	machine_free(w->machine);
}

static struct unwinder *make(struct world *w, enum unwind_method method, bool no_guess)
{
	struct unwind_options opt = {.method = method, .no_guess = no_guess, .arch = "x86_64"};
	struct unwinder *u;

	assert_int_equal(unwinder_new(&u, w->modules, &opt, NULL), 0);
	return u;
}

/* Frame 0 is inside take(); the callers are what libgcc saw from there. */
static void assert_truth(const struct snapshot *s, const struct stack_trace *t, size_t n)
{
	size_t i;

	assert_true(t->n >= n && n <= s->n_truth);
	assert_true(t->frames[0].ip == s->regs[8]);
	assert_int_equal(t->frames[0].how, FRAME_SAMPLE);
	assert_false(t->frames[0].is_return_address);
	for (i = 1; i < n; i++) {
		assert_true(t->frames[i].ip == s->truth[i]);
		assert_non_null(t->frames[i].map);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_thread),    cmocka_unit_test(test_other_thread),
		cmocka_unit_test(test_signal),	       cmocka_unit_test(test_cut),
		cmocka_unit_test(test_missing_binary), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_frame_pointers),
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
