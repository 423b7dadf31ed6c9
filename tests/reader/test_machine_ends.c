/* test_machine_ends.c - what has ended is forgotten, and what has not is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reader/machine.h"
#include "tests/reader/machine_facts.h"

/* More exits than anything late is waited for, and a bound for what is known then. */
enum { MANY = 10000, KNOWN_MAX = 9000 };

static int setup(void **state)
{
	return machine_new((struct machine **)state);
}

static int teardown(void **state)
{
	machine_free(*state);
	return 0;
}

static void map(struct machine *m, uint32_t pid, uint32_t tid, uint64_t start, const char *path)
{
	struct machine_mmap r = {.pid = pid,
				 .tid = tid,
				 .start = start,
				 .len = 0x1000,
				 .is_exec = true,
				 .path = path};

	assert_int_equal(machine_mmap(m, &r), 0);
}

static void fork_task(struct machine *m, uint32_t pid, uint32_t ppid, uint32_t tid)
{
	assert_int_equal(machine_fork(m, pid, ppid, tid, ppid), 0);
}

/* A program with two maps. */
static void begin(struct machine *m, uint32_t pid, const char *comm)
{
	fork_task(m, pid, 1, pid);
	assert_int_equal(machine_comm(m, pid, pid, comm, true), 0);
	map(m, pid, pid, 0x1000, "/bin");
	map(m, pid, pid, 0x5000, "/lib");
}

static void end(struct machine *m, uint32_t pid, uint32_t tid)
{
	assert_int_equal(machine_exit(m, pid, tid), 0);
}

/* Programs of other pids begin and end; batches come and go. */
static void others(struct machine *m, unsigned n)
{
	static uint32_t pid = 1u << 20;
	unsigned i;

	for (i = 0; i < n; i++, pid++) {
		begin(m, pid, "other");
		assert_non_null(machine_place(m, pid, pid));
		end(m, pid, pid);
		if (i % 100 == 0)
			machine_reclaim(m, machine_next_epoch(m));
	}
}

static void expect(struct machine *m, uint32_t pid, uint32_t tid, const char *comm, size_t maps)
{
	const struct machine_place *p = machine_place(m, pid, tid);

	assert_non_null(p);
	assert_string_equal(p->comm, comm);
	assert_int_equal(address_space_count(p->space), maps);
	assert_true(address_space_layout(p->space) != 0);
}

static void test_little_is_kept(void **state)
{
	struct machine *m = *state;
	size_t bytes, i;

	others(m, MANY);
	bytes = machine_space_bytes(m);
	assert_true(machine_task_count(m) < KNOWN_MAX);
	for (i = 0; i < 4; i++) {
		others(m, MANY);
		assert_true(machine_task_count(m) < KNOWN_MAX);
		assert_true(machine_space_bytes(m) < bytes + bytes / 4);
	}
}

static void test_threads(void **state)
{
	struct machine *m = *state;
	uint32_t tid;

	begin(m, 5, "server");
	for (tid = 100; tid < 100 + 4 * MANY; tid++) {
		fork_task(m, 5, 5, tid);
		expect(m, 5, tid, "server", 2);
		end(m, 5, tid);
	}
	assert_true(machine_task_count(m) < KNOWN_MAX);
	expect(m, 5, 5, "server", 2);
}

static void test_late_sample(void **state)
{
	struct machine *m = *state;
	size_t count;

	begin(m, 5, "late");
	end(m, 5, 5);
	expect(m, 5, 5, "late", 2);
	others(m, 4000);
	expect(m, 5, 5, "late", 2);
	others(m, 1000);
	expect(m, 5, 5, ":5", 0);
	count = machine_task_count(m);
	for (uint32_t tid = 1; tid < MANY; tid++)
		expect(m, 5, tid, tid == 5 ? ":5" : machine_comm_of(m, 5, tid), 0);
	assert_int_equal(machine_task_count(m), count);
}

static void test_reuse(void **state)
{
	struct machine *m = *state;

	begin(m, 5, "old");
	end(m, 5, 5);
	others(m, 2000);
	begin(m, 5, "new");
	others(m, MANY);
	expect(m, 5, 5, "new", 2);
	/* A thread's number, in a process that goes on. */
	fork_task(m, 5, 5, 6);
	end(m, 5, 6);
	others(m, 2000);
	fork_task(m, 5, 5, 6);
	assert_int_equal(machine_comm(m, 5, 6, "again", false), 0);
	others(m, MANY);
	expect(m, 5, 6, "again", 2);
	/* It exits twice: the second counts. */
	end(m, 5, 6);
	others(m, 2000);
	end(m, 5, 6);
	others(m, 3000);
	expect(m, 5, 6, "again", 2);
	others(m, 2000);
	expect(m, 5, 6, ":6", 2);
}

static void test_lost_exit(void **state)
{
	struct machine *m = *state;
	size_t count;

	begin(m, 5, "one");
	count = machine_task_count(m);
	begin(m, 5, "two"); /* the pid comes again */
	assert_int_equal(machine_task_count(m), count);
	expect(m, 5, 5, "two", 2);
	/* And an exit of which nothing began. */
	end(m, 77, 77);
	end(m, 5, 77);
	assert_int_equal(machine_task_count(m), count);
	others(m, MANY);
	expect(m, 5, 5, "two", 2);
	/* A thread of a program that is long gone is not one of the next with its pid. */
	fork_task(m, 5, 5, 6);
	fork_task(m, 5, 1, 5);
	end(m, 5, 5);
	others(m, MANY);
	begin(m, 5, "three");
	end(m, 5, 6);
	others(m, MANY);
	expect(m, 5, 5, "three", 2);
	end(m, 5, 5);
	others(m, MANY);
	expect(m, 5, 5, ":5", 0);
}

static void test_fork_without_exec(void **state)
{
	struct machine *m = *state;
	uint64_t layout;
	const struct map *first;

	begin(m, 5, "parent");
	first = address_space_find(machine_space(m, 5), 0x1000);
	layout = address_space_layout(machine_space(m, 5));
	fork_task(m, 6, 5, 6);
	expect(m, 6, 6, "parent", 2);
	assert_ptr_equal(address_space_find(machine_space(m, 6), 0x1000), first);
	assert_true(address_space_layout(machine_space(m, 6)) != layout);
	end(m, 5, 5);
	others(m, MANY);
	expect(m, 5, 5, ":5", 0);
	expect(m, 6, 6, "parent", 2);
	assert_string_equal(address_space_find(machine_space(m, 6), 0x1000)->dso->path, "/bin");
}

static void test_leader_ends_first(void **state)
{
	struct machine *m = *state;

	begin(m, 5, "main");
	fork_task(m, 5, 5, 6);
	end(m, 5, 5);
	others(m, MANY);
	expect(m, 5, 6, "main", 2);
	map(m, 5, 6, 0x9000, "/more");
	expect(m, 5, 6, "main", 3);
	end(m, 5, 6);
	expect(m, 5, 6, "main", 3);
	others(m, MANY);
	expect(m, 5, 6, ":6", 0);
}

/* Recordings of one thread begin without a word about the others. */
static void test_unknown_thread_goes_on(void **state)
{
	struct machine *m = *state;

	begin(m, 5, "main");
	end(m, 5, 5);
	expect(m, 5, 8, ":8", 2);
	others(m, MANY);
	expect(m, 5, 8, ":8", 2);
	end(m, 5, 8);
	/* Nor is what has lost its numbers a thread. */
	expect(m, 5, 0, "swapper", 2);
	expect(m, 5, UINT32_MAX, ":-1", 2);
	others(m, MANY);
	expect(m, 5, 8, ":8", 0);
}

/* What a batch refers to lives as long as the batch. */
static void test_held_batch(void **state)
{
	struct machine *m = *state;
	const struct address_space *space;
	const struct map *held;
	uint64_t epoch = machine_next_epoch(m);

	begin(m, 5, "held");
	space = machine_place(m, 5, 5)->space;
	held = address_space_find(space, 0x5000);
	end(m, 5, 5);
	for (unsigned i = 0; i < MANY; i++) {
		begin(m, 1000 + i, "other");
		end(m, 1000 + i, 1000 + i);
		machine_reclaim(m, epoch);
	}
	expect(m, 5, 5, ":5", 0);
	assert_ptr_equal(address_space_find(space, 0x5000), held);
	assert_string_equal(held->dso->path, "/lib");
	machine_reclaim(m, machine_next_epoch(m));
}

/* What was found under a layout stays as long as the layout does, also where another map has shown
 * the same since: a reader that has seen only the first still has it. */
static void test_elders(void **state)
{
	struct machine *m = *state;
	struct machine_mmap grown = {.pid = 5,
				     .tid = 5,
				     .start = 0x20000,
				     .len = 0x1000,
				     .is_exec = true,
				     .path = "/grows"};
	const struct map *seen[50];
	uint64_t layout;
	size_t i, bytes;

	begin(m, 5, "jit");
	layout = address_space_layout(machine_space(m, 5));
	for (i = 0; i < 50; i++, grown.len += 0x1000) {
		assert_int_equal(machine_mmap(m, &grown), 0);
		seen[i] = address_space_find(machine_space(m, 5), 0x20000);
		machine_reclaim(m, machine_next_epoch(m));
	}
	assert_int_equal(address_space_layout(machine_space(m, 5)), layout);
	expect(m, 5, 5, "jit", 3);
	others(m, 100);
	for (i = 0; i < 50; i++) {
		assert_string_equal(seen[i]->dso->path, "/grows");
		assert_int_equal(seen[i]->end, 0x20000 + (i + 1) * 0x1000);
	}
	/* A child has them, too, but has seen none of the others. */
	fork_task(m, 6, 5, 6);
	machine_reclaim(m, machine_next_epoch(m));
	bytes = machine_space_bytes(m);
	grown.path = "/other"; /* another layout */
	assert_int_equal(machine_mmap(m, &grown), 0);
	machine_space(m, 5);
	machine_reclaim(m, machine_next_epoch(m));
	assert_true(address_space_layout(machine_space(m, 5)) != layout);
	assert_true(machine_space_bytes(m) + 40 * sizeof(struct map) < bytes);
	expect(m, 6, 6, "jit", 3);
}

/* Threads that had samples are reported when they have exited, once. */
static void test_reports_ends(void **state)
{
	struct machine *m = *state;
	struct perf_threads ended = {0};

	begin(m, 5, "a");
	begin(m, 6, "b");
	fork_task(m, 6, 6, 7);
	fork_task(m, 6, 6, 8);
	expect(m, 5, 5, "a", 2);
	expect(m, 6, 7, "b", 2);
	end(m, 5, 5);
	end(m, 6, 7);
	end(m, 6, 8); /* had no sample */
	machine_take_ended(m, &ended);
	assert_int_equal(ended.n, 2);
	assert_true(ended.v[0].pid == 5 && ended.v[0].tid == 5);
	assert_true(ended.v[1].pid == 6 && ended.v[1].tid == 7);
	end(m, 5, 5);
	machine_take_ended(m, &ended);
	assert_int_equal(ended.n, 0);
	/* A late sample: its thread is reported again when nothing can be late any more. */
	expect(m, 5, 5, "a", 2);
	machine_take_ended(m, &ended);
	assert_int_equal(ended.n, 0);
	others(m, 5000);
	machine_take_ended(m, &ended);
	assert_int_equal(ended.n, 1 + 5000);
	free(ended.v);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(little_is_kept),    T(threads),
		T(late_sample),	      T(reuse),
		T(lost_exit),	      T(fork_without_exec),
		T(leader_ends_first), T(unknown_thread_goes_on),
		T(held_batch),	      T(elders),
		T(reports_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
