/* test_runtime_watch.c - records of one process that come in another order than they were made, as
 * those of each processor are read one after another: what is mapped after an execve() belongs to
 * the new program. */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/attr.h"
#include "capture/runtime_watch.h"

static uint8_t *code;
enum { CODE_BYTES = 4096 };

/* The record with its trailer. */
static void give(struct runtime_watch *w, struct perf_event_header h, const struct bytes *body,
		 uint64_t time_ns)
{
	struct bytes b = {0};

	h.size = (uint16_t)(sizeof h + body->vec.n + ATTR_SAMPLE_ID_BYTES);
	bytes_put(&b, &h, sizeof h);
	bytes_put(&b, body->vec.v, body->vec.n);
	bytes_u64(&b, 0);
	bytes_u64(&b, time_ns);
	bytes_u64(&b, 0);
	bytes_u64(&b, 0);
	assert_false(b.failed);
	runtime_watch_record(w, b.vec.v, b.vec.n);
	bytes_done(&b);
}

static void maps_code(struct runtime_watch *w, uint32_t pid, uint64_t time_ns)
{
	struct bytes b = {0};

	bytes_u32(&b, pid);
	bytes_u32(&b, pid);
	bytes_u64(&b, (uintptr_t)code);
	bytes_u64(&b, CODE_BYTES);
	for (int i = 0; i < 4; i++) /* offset, device, inode, its generation */
		bytes_u64(&b, 0);
	bytes_u32(&b, PROT_READ | PROT_EXEC);
	bytes_u32(&b, MAP_PRIVATE);
	bytes_put(&b, "//anon\0", 8);
	give(w, (struct perf_event_header){.type = PERF_RECORD_MMAP2}, &b, time_ns);
	bytes_done(&b);
}

static void executes(struct runtime_watch *w, uint32_t pid, uint64_t time_ns)
{
	struct bytes b = {0};

	bytes_u32(&b, pid);
	bytes_u32(&b, pid);
	bytes_put(&b, "program", 8);
	give(w,
	     (struct perf_event_header){.type = PERF_RECORD_COMM,
					.misc = PERF_RECORD_MISC_COMM_EXEC},
	     &b, time_ns);
	bytes_done(&b);
}

static void forks(struct runtime_watch *w, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	struct bytes b = {0};

	bytes_u32(&b, pid);
	bytes_u32(&b, parent);
	bytes_u32(&b, pid);
	bytes_u32(&b, parent);
	bytes_u64(&b, time_ns);
	give(w, (struct perf_event_header){.type = PERF_RECORD_FORK}, &b, time_ns);
	bytes_done(&b);
}

/* Is the code copied, after a sample there? */
static bool is_copied(struct runtime_watch *w)
{
	const struct sample_facts f = {.pid = (uint32_t)getpid(), .ip = (uintptr_t)code + 16};
	struct capture_result r = {0};
	struct bytes section = {0};
	bool any;

	runtime_watch_sample(w, &f);
	runtime_watch_finish(w, &section, &r);
	any = section.vec.n > 0;
	bytes_done(&section);
	runtime_watch_free(w);
	return any;
}

static struct runtime_watch *begin(void)
{
	struct runtime_watch *w = NULL;
	struct err err = {0};

	assert_int_equal(runtime_watch_new(&w, &err), 0);
	return w;
}

static void exec_comes_late(void **state)
{
	const uint32_t pid = (uint32_t)getpid();
	struct runtime_watch *w = begin();

	(void)state;
	maps_code(w, pid, 200);
	executes(w, pid, 100);
	assert_true(is_copied(w));
}

static void exec_ends_what_was(void **state)
{
	const uint32_t pid = (uint32_t)getpid();
	struct runtime_watch *w = begin();

	(void)state;
	maps_code(w, pid, 100);
	executes(w, pid, 200);
	maps_code(w, pid, 150); /* of the program before, and late */
	assert_false(is_copied(w));
}

static void fork_comes_late(void **state)
{
	const uint32_t pid = (uint32_t)getpid();
	struct runtime_watch *w = begin();

	(void)state;
	maps_code(w, (uint32_t)getppid(), 50);
	maps_code(w, pid, 200);
	forks(w, pid, (uint32_t)getppid(), 100);
	assert_true(is_copied(w));
}

static void fork_comes_after_exec(void **state)
{
	const uint32_t pid = (uint32_t)getpid(), parent = (uint32_t)getppid();
	struct runtime_watch *w = begin();

	(void)state;
	maps_code(w, parent, 50);
	maps_code(w, pid, 60);
	executes(w, pid, 200);
	forks(w, pid, parent, 100);
	assert_false(is_copied(w)); /* the parent's code is not that of the new program */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exec_comes_late),
		cmocka_unit_test(exec_ends_what_was),
		cmocka_unit_test(fork_comes_late),
		cmocka_unit_test(fork_comes_after_exec),
	};

	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	memset(code, 0x90, CODE_BYTES);
	if (mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
