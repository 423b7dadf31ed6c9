/* test_runtime_watch.c - records of one process that come in another order than they were made, as
 * those of each processor are read one after another: what is mapped after an execve() belongs to
 * the new program. And what is kept of processes that have ended. */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/attr.h"
#include "capture/runtime_watch.h"
#include "reader/recorded_code.h"

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

/* How many frames the records hold; all are of this process. */
static size_t count(const struct bytes *records, uint32_t pid)
{
	struct recorded_code h;
	size_t n = 0;

	for (size_t at = 0; at < records->vec.n; at += h.header.size) {
		assert_true(at + sizeof h <= records->vec.n);
		memcpy(&h, records->vec.v + at, sizeof h);
		assert_memory_equal(h.magic, RECORDED_CODE_MAGIC, 8);
		assert_true(h.header.size >= RECORDED_CODE_BYTES_MIN && h.header.size % 8 == 0);
		if (h.packed)
			assert_int_equal(h.pid, pid);
		n += h.packed && !h.at;
	}
	return n;
}

/* Is the code copied, after a sample there? */
static bool is_copied(struct runtime_watch *w)
{
	const struct sample_facts f = {.pid = (uint32_t)getpid(), .ip = (uintptr_t)code + 16};
	struct capture_result r = {0};
	struct bytes records = {0};
	bool any;

	runtime_watch_sample(w, &f);
	runtime_watch_finish(w, &records, &r);
	any = count(&records, (uint32_t)getpid()) > 0;
	bytes_done(&records);
	runtime_watch_free(w);
	return any;
}

static struct runtime_watch *begin(void)
{
	struct runtime_watch *w = NULL;
	struct err err = {0};

	assert_int_equal(runtime_watch_new(&w, false, &err), 0);
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

static void exits(struct runtime_watch *w, uint32_t pid, uint64_t time_ns)
{
	struct bytes b = {0};

	bytes_u32(&b, pid);
	bytes_u32(&b, pid);
	bytes_u32(&b, pid);
	bytes_u32(&b, pid);
	bytes_u64(&b, time_ns);
	give(w, (struct perf_event_header){.type = PERF_RECORD_EXIT}, &b, time_ns);
	bytes_done(&b);
}

static size_t finish(struct runtime_watch *w, uint32_t pid)
{
	struct capture_result r = {0};
	struct bytes records = {0};
	size_t n;

	runtime_watch_finish(w, &records, &r);
	n = count(&records, pid);
	bytes_done(&records);
	runtime_watch_free(w);
	return n;
}

/* A process that has the code, was sampled in it, and has ended a while ago: at 1000. */
static uint32_t has_ended(struct runtime_watch *w)
{
	const pid_t pid = fork();
	const struct sample_facts f = {.pid = (uint32_t)pid, .ip = (uintptr_t)code + 16};

	assert_true(pid >= 0);
	if (!pid) {
		pause();
		_exit(0);
	}
	maps_code(w, (uint32_t)pid, 100);
	runtime_watch_sample(w, &f);
	usleep(1000000); /* it is read at once, unless nothing runs for that long */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	exits(w, (uint32_t)pid, 1000);
	return (uint32_t)pid;
}

enum { TRIES = 60, TRY_US = 50000 };

static void ended_is_kept(void **state)
{
	struct runtime_watch *w = begin();
	const uint32_t pid = has_ended(w);

	(void)state;
	for (int i = 0; i < TRIES; i++) { /* it ended after that time */
		runtime_watch_forget(w, 1000);
		usleep(TRY_US);
	}
	assert_int_equal(finish(w, pid), 1);
}

static void ended_is_forgotten(void **state)
{
	struct runtime_watch *w = begin();
	const uint32_t pid = has_ended(w);

	(void)state;
	for (int i = 0; i < TRIES; i++) {
		runtime_watch_forget(w, 1001);
		usleep(TRY_US);
	}
	assert_int_equal(finish(w, pid), 0);
}

/* What both have had is in one log, as readers know one of each number. */
static void number_is_given_again(void **state)
{
	struct runtime_watch *w = begin();
	const uint32_t pid = has_ended(w);

	(void)state;
	usleep(TRIES * TRY_US);
	maps_code(w, pid, 2000);
	assert_int_equal(finish(w, pid), 1);
}

/* Its first thread has ended, and it runs. */
static void others_run(void **state)
{
	struct runtime_watch *w = begin();
	const uint32_t pid = (uint32_t)getpid();

	(void)state;
	maps_code(w, pid, 100);
	exits(w, pid, 1000);
	for (int i = 0; i < TRIES / 2; i++) {
		runtime_watch_forget(w, 2000);
		usleep(TRY_US);
	}
	assert_true(is_copied(w));
}

static size_t taken(struct runtime_watch *w, uint32_t pid)
{
	struct bytes records = {0};
	size_t n;

	runtime_watch_take(w, &records);
	n = count(&records, pid);
	bytes_done(&records);
	return n;
}

/* Waits for records of what was read; 0: none came. */
static size_t wait_for_some(struct runtime_watch *w, uint32_t pid)
{
	size_t n = 0;

	for (int i = 0; i < 4 * TRIES && !n; i++) {
		usleep(TRY_US);
		n = taken(w, pid);
	}
	return n;
}

/* What is read is written while its process runs, once; another file gets it again. */
static void is_written_while_it_runs(void **state)
{
	const uint32_t pid = (uint32_t)getpid();
	const struct sample_facts f = {.pid = pid, .ip = (uintptr_t)code + 16};
	struct runtime_watch *w = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(runtime_watch_new(&w, true, &err), 0);
	maps_code(w, pid, 100);
	runtime_watch_sample(w, &f);
	assert_int_equal(wait_for_some(w, pid), 1);
	assert_int_equal(wait_for_some(w, pid), 0);
	runtime_watch_begin_file(w);
	assert_int_equal(wait_for_some(w, pid), 1);
	assert_int_equal(finish(w, pid), 0);
}

/* And of one that has ended nothing is kept. */
static void ended_is_written(void **state)
{
	struct runtime_watch *w = NULL;
	struct err err = {0};
	uint32_t pid;

	(void)state;
	assert_int_equal(runtime_watch_new(&w, true, &err), 0);
	pid = has_ended(w);
	assert_int_equal(wait_for_some(w, pid), 1);
	usleep(TRIES * TRY_US);
	assert_int_equal(taken(w, pid), 0);
	assert_int_equal(finish(w, pid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exec_comes_late),
		cmocka_unit_test(exec_ends_what_was),
		cmocka_unit_test(fork_comes_late),
		cmocka_unit_test(fork_comes_after_exec),
		cmocka_unit_test(ended_is_kept),
		cmocka_unit_test(ended_is_forgotten),
		cmocka_unit_test(number_is_given_again),
		cmocka_unit_test(others_run),
		cmocka_unit_test(is_written_while_it_runs),
		cmocka_unit_test(ended_is_written),
	};

	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	memset(code, 0x90, CODE_BYTES);
	if (mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
