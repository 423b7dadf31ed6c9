/* test_unwind_chain.c - recorded call chains. The chains are built by hand from the source:
 * perf_event.h, enum perf_callchain_context, and kernel/events/callchain.c get_perf_callchain(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "reader/machine.h"
#include "tests/reader/machine_facts.h"
#include "unwind/unwind.h"

#define KERNEL_IP(n) (0xffffffff81000000ull + (n))
#define USER_IP(n)   (0x400000ull + (n))
#define MARK(n)	     ((uint64_t) - (n))

struct fixture {
	struct machine *machine;
	struct modules *modules;
	struct unwinder *u;
	struct perf_event event;
	struct perf_sample sample;
	struct stack_trace trace;
};

static void add_map(struct machine *m, bool kernel, uint64_t start, const char *path)
{
	struct machine_mmap map = {.pid = kernel ? UINT32_MAX : 5,
				   .tid = 5,
				   .start = start,
				   .len = 0x100000,
				   .prot = PROT_READ | PROT_EXEC,
				   .kernel = kernel,
				   .is_exec = true,
				   .path = path};

	assert_int_equal(machine_mmap(m, &map), 0);
}

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof f);
	assert_int_equal(machine_new(&f.machine), 0);
	add_map(f.machine, true, KERNEL_IP(0), "[kernel.kallsyms]_text");
	add_map(f.machine, false, USER_IP(0), "/bin/prog");
	assert_int_equal(modules_new(&f.modules, NULL, NULL), 0);
	assert_int_equal(unwinder_new(&f.u, f.modules, NULL, NULL), 0);
	f.sample = (struct perf_sample){
		.pid = 5,
		.tid = 5,
		.event = &f.event,
		.has_callchain = true,
		.space = machine_space(f.machine, 5),
		.kernel = machine_kernel(f.machine),
	};
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unwinder_free(f->u);
	modules_free(f->modules);
	machine_free(f->machine);
	return 0;
}

static void run(struct fixture *f, enum perf_cpumode mode, uint64_t ip, const uint64_t *ips,
		size_t n)
{
	f->sample.cpumode = (uint8_t)mode;
	f->sample.ip = ip;
	f->sample.ips = ips;
	f->sample.n_ips = n;
	unwind_sample(f->u, &f->sample, &f->trace);
}

static void expect(const struct stack_trace *t, size_t i, uint64_t ip, bool kernel, bool is_return,
		   enum frame_how how)
{
	assert_true(i < t->n);
	assert_true(t->frames[i].ip == ip);
	assert_int_equal(t->frames[i].is_kernel, kernel);
	assert_int_equal(t->frames[i].is_return_address, is_return);
	assert_int_equal(t->frames[i].how, how);
	assert_true(frame_lookup_ip(&t->frames[i]) == ip - is_return);
	assert_non_null(t->frames[i].map);
}

/* perf record -g, in the kernel: both parts; the first address of each is exact. */
static void test_kernel_and_user(void **state)
{
	const uint64_t ips[] = {PERF_CHAIN_KERNEL, KERNEL_IP(1), KERNEL_IP(2), KERNEL_IP(3),
				PERF_CHAIN_USER,   USER_IP(1),	 USER_IP(2)};
	struct fixture *f = *state;
	const struct stack_trace *t = &f->trace;

	run(f, PERF_CPUMODE_KERNEL, KERNEL_IP(1), ips, 7);
	assert_int_equal(t->n, 5);
	assert_int_equal(t->n_kernel, 3);
	assert_int_equal(t->stop, UNWIND_STOP_NONE);
	expect(t, 0, KERNEL_IP(1), true, false, FRAME_KERNEL_CHAIN);
	expect(t, 1, KERNEL_IP(2), true, true, FRAME_KERNEL_CHAIN);
	expect(t, 2, KERNEL_IP(3), true, true, FRAME_KERNEL_CHAIN);
	expect(t, 3, USER_IP(1), false, false, FRAME_USER_CHAIN);
	expect(t, 4, USER_IP(2), false, true, FRAME_USER_CHAIN);
	assert_int_equal(unwinder_stats(f->u)->user_stacks, 0);
	assert_int_equal(unwinder_stats(f->u)->frames, 5);
}

/* A marker of the same context twice in one chain starts nothing new; another kernel context does.
 */
static void test_markers(void **state)
{
	const uint64_t twice[] = {PERF_CHAIN_USER, USER_IP(1), USER_IP(2), PERF_CHAIN_USER,
				  USER_IP(3)};
	const uint64_t hypervisor[] = {MARK(32), KERNEL_IP(9), PERF_CHAIN_KERNEL, KERNEL_IP(1),
				       KERNEL_IP(2)};
	const uint64_t none[] = {USER_IP(7), USER_IP(8)};
	const uint64_t unknown[] = {PERF_CHAIN_USER, USER_IP(1), MARK(1000), 0x1234};
	/* What a frame pointer that is none led to: -32 is PERF_CONTEXT_HV elsewhere. */
	const uint64_t garbage[] = {PERF_CHAIN_KERNEL, KERNEL_IP(1), PERF_CHAIN_USER,
				    USER_IP(1),	       MARK(32),     USER_IP(2)};
	/* The word after PERF_CONTEXT_USER_DEFERRED is a cookie. */
	const uint64_t deferred[] = {PERF_CHAIN_KERNEL, KERNEL_IP(1), MARK(640), 0xc00c1e};
	struct fixture *f = *state;
	const struct stack_trace *t = &f->trace;

	run(f, PERF_CPUMODE_USER, USER_IP(1), twice, 5);
	assert_int_equal(t->n, 3);
	expect(t, 2, USER_IP(3), false, true, FRAME_USER_CHAIN);
	run(f, PERF_CPUMODE_KERNEL, KERNEL_IP(9), hypervisor, 5);
	assert_int_equal(t->n, 3);
	expect(t, 0, KERNEL_IP(9), true, false, FRAME_KERNEL_CHAIN);
	expect(t, 1, KERNEL_IP(1), true, false, FRAME_KERNEL_CHAIN);
	run(f, PERF_CPUMODE_USER, USER_IP(7), none, 2);
	assert_int_equal(t->n, 2);
	assert_int_equal(t->n_kernel, 0);
	expect(t, 1, USER_IP(8), false, true, FRAME_USER_CHAIN);
	run(f, PERF_CPUMODE_USER, USER_IP(1), unknown, 4);
	assert_int_equal(t->n_kernel, 0);
	assert_int_equal(t->n, 1);
	run(f, PERF_CPUMODE_KERNEL, KERNEL_IP(1), garbage, 6);
	assert_int_equal(t->n, 2);
	expect(t, 0, KERNEL_IP(1), true, false, FRAME_KERNEL_CHAIN);
	expect(t, 1, USER_IP(1), false, false, FRAME_USER_CHAIN);
	run(f, PERF_CPUMODE_KERNEL, KERNEL_IP(1), deferred, 4);
	assert_int_equal(t->n, 1);
}

/* Neither chain nor dump: the sample's address. */
static void test_no_chain(void **state)
{
	struct fixture *f = *state;
	const struct stack_trace *t = &f->trace;

	run(f, PERF_CPUMODE_USER, USER_IP(5), NULL, 0);
	assert_int_equal(t->n, 1);
	assert_int_equal(t->n_kernel, 0);
	expect(t, 0, USER_IP(5), false, false, FRAME_SAMPLE);
	run(f, PERF_CPUMODE_KERNEL, KERNEL_IP(5), NULL, 0);
	assert_int_equal(t->n, 1);
	assert_int_equal(t->n_kernel, 1);
	expect(t, 0, KERNEL_IP(5), true, false, FRAME_SAMPLE);
}

/* --call-graph lbr, as the reader gives it: the leaf, then the calls themselves. A kernel part is
 * of return addresses as ever. */
static void test_branches(void **state)
{
	const uint64_t ips[] = {PERF_CHAIN_KERNEL, KERNEL_IP(1), KERNEL_IP(2), PERF_CHAIN_USER,
				USER_IP(1),	   USER_IP(11),	 USER_IP(12)};
	const struct perf_branch branches[] = {{USER_IP(11), USER_IP(0), 0},
					       {USER_IP(12), USER_IP(10), 0}};
	const struct perf_sample_extra extra = {.branches = branches, .n_branches = 2};
	struct fixture *f = *state;
	const struct stack_trace *t = &f->trace;

	f->event.attr.branch_sample_type = 1ull << 11 | 1; /* CALL_STACK | USER */
	f->sample.extra = &extra;
	f->sample.chain_is_lbr = true;
	run(f, PERF_CPUMODE_USER, USER_IP(1), ips, 7);
	assert_int_equal(t->n, 5);
	expect(t, 1, KERNEL_IP(2), true, true, FRAME_KERNEL_CHAIN);
	expect(t, 2, USER_IP(1), false, false, FRAME_USER_CHAIN);
	expect(t, 3, USER_IP(11), false, false, FRAME_BRANCH_STACK);
	expect(t, 4, USER_IP(12), false, false, FRAME_BRANCH_STACK);
	/* No user part was recorded: branches alone are no stack. */
	f->sample.chain_is_lbr = false;
	run(f, PERF_CPUMODE_KERNEL, KERNEL_IP(1), ips, 3);
	assert_int_equal(t->n, 2);
	assert_int_equal(t->n_kernel, 2);
}

static void run_long(struct fixture *f, size_t half)
{
	static uint64_t ips[4 * UNWIND_FRAMES_MAX];
	size_t i;

	for (i = 0; i < 2 * half; i++)
		ips[i] = i < half ? KERNEL_IP(i) : USER_IP(i);
	ips[0] = PERF_CHAIN_KERNEL;
	ips[half] = PERF_CHAIN_USER;
	run(f, PERF_CPUMODE_KERNEL, KERNEL_IP(1), ips, 2 * half);
}

/* As many entries as a record can hold, all of which are frames; and more. */
static void test_long(void **state)
{
	struct fixture *f = *state;

	run_long(f, 4000);
	assert_int_equal(f->trace.n_kernel, 3999);
	assert_int_equal(f->trace.n, 2 * 3999);
	run_long(f, 2 * UNWIND_FRAMES_MAX);
	assert_int_equal(f->trace.n_kernel, UNWIND_FRAMES_MAX);
	assert_int_equal(f->trace.n, 2 * UNWIND_FRAMES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kernel_and_user, setup, teardown),
		cmocka_unit_test_setup_teardown(test_markers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_branches, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
