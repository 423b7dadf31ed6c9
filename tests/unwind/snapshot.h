/* snapshot.h - this process's registers, stack and maps at one moment, as a sample. For tests;
 * include after cmocka's headers.
 *
 * The truth is what _Unwind_Backtrace() says at the same place: libgcc's unwinder, an
 * implementation of CFI that shares no code with libdw or us. */
#ifndef TESTS_UNWIND_SNAPSHOT_H
#define TESTS_UNWIND_SNAPSHOT_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include "reader/machine.h"
#include "tests/reader/machine_facts.h"
#include "unwind/unwind.h"

#define STACK_MAX (64u << 10)

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

static inline uint64_t stack_top(void)
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
__attribute__((noinline, unused)) static void take(struct snapshot *s, uint64_t top)
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

/* ---- the sample --------------------------------------------------------------------------- */

struct world {
	struct machine *machine;
	struct modules *modules;
	struct perf_event event;
	struct perf_sample sample;
	uint64_t packed[24];
};

/* The executable mappings of this process; `hide` names one whose file is said to be elsewhere. */
static inline void add_maps(struct machine *m, const char *hide)
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

static inline void world_init(struct world *w, struct snapshot *s, const char *hide)
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

static inline void world_done(struct world *w)
{
	modules_free(w->modules);
	machine_free(w->machine);
}

static inline struct unwinder *make(struct world *w, enum unwind_method method, bool no_guess)
{
	struct unwind_options opt = {.method = method, .no_guess = no_guess, .arch = "x86_64"};
	struct unwinder *u;

	assert_int_equal(unwinder_new(&u, w->modules, &opt, NULL), 0);
	return u;
}

/* Frame 0 is inside take(); the callers are what libgcc saw from there. */
static inline void assert_truth(const struct snapshot *s, const struct stack_trace *t, size_t n)
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

#endif
