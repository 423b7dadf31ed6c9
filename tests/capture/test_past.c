/* test_past.c - processes that fork, exec, map and end at random: what is dropped of their records
 * changes nothing about those that live, and what is kept does not grow. The oracle replays all
 * records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/attr.h"
#include "capture/past.h"
#include "reader/format.h"
#include "tests/random.h"

enum { PIDS = 40, MAPS = 24, OPS = 60000, STEP_NS = 20000000 };

struct trailer {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t id;
};

struct task_record { /* FORK, EXIT */
	struct perf_event_header h;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns;
	struct trailer t;
};

struct comm_record {
	struct perf_event_header h;
	uint32_t pid, tid;
	char comm[8];
	struct trailer t;
};

struct map_record {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t start, bytes, pgoff, ids[3];
	uint32_t prot, flags;
	uint64_t name;
	struct trailer t;
};

_Static_assert(sizeof(struct trailer) == ATTR_SAMPLE_ID_BYTES, "as the kernel's");

/* A process as the records say: which map is at which place. */
struct process {
	bool lives, leader_ended;
	int threads;
	uint64_t maps[MAPS]; /* names; 0: none */
};

struct world {
	struct process processes[PIDS];
	struct past past;
	uint64_t now_ns, seed, names, bytes;
};

static struct trailer trailer(const struct world *w, uint32_t pid, uint32_t tid)
{
	return (struct trailer){pid, tid, w->now_ns, 0, 0, 77};
}

static void add(struct world *w, const void *rec, size_t n)
{
	past_add(&w->past, rec, n);
	w->bytes += n;
	w->now_ns += STEP_NS;
}

static void add_task(struct world *w, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid)
{
	const struct task_record r = {{type, 0, sizeof r}, pid, ppid, tid, ppid, w->now_ns,
				      trailer(w, pid, tid)};

	add(w, &r, sizeof r);
}

static void add_map(struct world *w, uint32_t pid)
{
	const size_t place = next_random(&w->seed) % MAPS;
	struct map_record r = {.h = {PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, sizeof r},
			       .pid = pid,
			       .tid = pid,
			       .start = 0x1000 * (place + 1),
			       .bytes = 0x1000,
			       .name = ++w->names,
			       .t = trailer(w, pid, pid)};

	w->processes[pid].maps[place] = r.name;
	add(w, &r, sizeof r);
}

static void add_exec(struct world *w, uint32_t pid)
{
	const struct comm_record r = {{PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, sizeof r},
				      pid,
				      pid,
				      "prog",
				      trailer(w, pid, pid)};

	memset(w->processes[pid].maps, 0, sizeof w->processes[pid].maps);
	add(w, &r, sizeof r);
}

static void step(struct world *w)
{
	const uint32_t pid = (uint32_t)(1 + next_random(&w->seed) % (PIDS - 1));
	const uint32_t other = (uint32_t)(1 + next_random(&w->seed) % (PIDS - 1));
	struct process *p = &w->processes[pid];
	const unsigned what = (unsigned)(next_random(&w->seed) % 16);

	if (!p->lives && w->processes[other].lives && pid != other) {
		*p = w->processes[other];
		p->threads = 0;
		p->leader_ended = false;
		add_task(w, PERF_RECORD_FORK, pid, other, pid);
	} else if (!p->lives) {
		return;
	} else if (what < 9) {
		add_map(w, pid);
	} else if (what < 11) {
		add_exec(w, pid);
	} else if (what < 13 && !p->leader_ended) {
		p->threads++;
		add_task(w, PERF_RECORD_FORK, pid, pid, 1000 + pid * 100 + (uint32_t)p->threads);
	} else if (p->threads) {
		add_task(w, PERF_RECORD_EXIT, pid, pid, 1000 + pid * 100 + (uint32_t)p->threads);
		p->threads--;
		p->lives = p->threads || !p->leader_ended;
	} else if (pid != 1) {
		add_task(w, PERF_RECORD_EXIT, pid, pid, pid);
		p->lives = false;
	}
}

/* What the records say about processes that live. */
static void replay(const struct past *past, struct process *to)
{
	const uint8_t *p = past->records.vec.v;
	struct perf_event_header h;

	memset(to, 0, PIDS * sizeof *to);
	for (size_t at = 0; at < past->records.vec.n; at += h.size) {
		struct task_record task;
		struct map_record map;

		memcpy(&h, p + at, sizeof h);
		memcpy(&task, p + at, h.size < sizeof task ? h.size : sizeof task);
		if (h.type == PERF_RECORD_FORK && task.pid != task.ppid)
			to[task.pid] = to[task.ppid];
		else if (h.type == PERF_RECORD_COMM)
			memset(to[task.pid].maps, 0, sizeof to->maps);
		if (h.type != PERF_RECORD_MMAP2)
			continue;
		memcpy(&map, p + at, sizeof map);
		to[map.pid].maps[map.start / 0x1000 - 1] = map.name;
	}
}

static void check(const struct world *w)
{
	struct process got[PIDS];

	replay(&w->past, got);
	for (size_t i = 0; i < PIDS; i++)
		if (w->processes[i].lives)
			assert_memory_equal(got[i].maps, w->processes[i].maps, sizeof got[i].maps);
}

static void lives_stay(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	(void)state;
	w->seed = 20261126;
	w->now_ns = 10000000000;
	w->processes[1].lives = true;
	add_exec(w, 1);
	for (int i = 0; i < OPS; i++) {
		step(w);
		assert_int_equal(past_compact(&w->past), 0);
		if (i % 500 == 0)
			check(w);
	}
	assert_true(w->past.records.vec.n < 3 << 20); /* of which 1 MiB is looked at */
	assert_true(w->bytes > 5 << 20);
	assert_int_equal(past_settle(&w->past), 0);
	check(w);
	assert_true(w->past.records.vec.n < 1 << 20);
	past_done(&w->past);
	free(w);
}

/* Rings of other processors are read later: a fork whose end has come before it. */
static void late(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	struct task_record fork = {{PERF_RECORD_FORK, 0, sizeof fork}, 5, 1, 5, 1, 0, {0}}, end;

	(void)state;
	w->now_ns = 10000000000;
	w->processes[1].lives = true;
	add_exec(w, 1);
	fork.t = trailer(w, 5, 5);
	end = fork;
	end.h.type = PERF_RECORD_EXIT;
	end.ppid = 5;
	end.t.time_ns += STEP_NS;
	for (int i = 0; i < 20000; i++) { /* so that it is looked at in between */
		if (i == 100)
			past_add(&w->past, (const uint8_t *)&end, sizeof end);
		if (i == 120)
			past_add(&w->past, (const uint8_t *)&fork, sizeof fork);
		add_map(w, 1);
		assert_int_equal(past_compact(&w->past), 0);
	}
	assert_int_equal(past_settle(&w->past), 0);
	for (size_t at = 0; at < w->past.records.vec.n;) {
		struct task_record r = {0};

		memcpy(&r, w->past.records.vec.v + at, sizeof r.h + 8);
		assert_int_equal(r.pid, 1);
		at += r.h.size;
	}
	past_done(&w->past);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lives_stay), cmocka_unit_test(late)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
