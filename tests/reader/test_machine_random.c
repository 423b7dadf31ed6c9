/* test_machine_random.c - the process model against a naive one, at scale, and under other threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "reader/machine.h"
#include "tests/reader/machine_facts.h"

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* ---- against a model that is right by being simple --------------------------------------- */

enum { PIDS = 6, CELLS = 1500, HELD_MAX = 24, FILES = 4 };

/* What each address shows: file number * 2^20 + offset + 1; 0: nothing. */
struct model {
	uint32_t cell[CELLS];
};

struct held {
	const struct address_space *as;
	uint32_t pid;
	uint64_t epoch, layout;
	struct model model;
};

struct world {
	struct machine *m;
	uint64_t seed;
	struct model now[PIDS];
	struct held held[HELD_MAX];
	unsigned n_held;
	uint64_t epoch;
};

static unsigned roll(struct world *w, unsigned n)
{
	return (unsigned)(next_random(&w->seed) % n);
}

static void random_mmap(struct world *w)
{
	/* Mostly small pieces, sometimes one over many. */
	unsigned len = roll(w, 8) ? 1 + roll(w, 6) : 1 + roll(w, 400);
	unsigned start = roll(w, CELLS - len), file = roll(w, FILES), off = roll(w, 3) * 1000;
	uint32_t pid = roll(w, PIDS);
	bool exec = roll(w, 4) > 0;
	char path[8];

	if (!roll(w, 3))
		off = start; /* makes equal views likely */
	snprintf(path, sizeof path, "/%u", file);
	assert_int_equal(machine_mmap(w->m, &(struct machine_mmap){.pid = pid,
								   .tid = pid,
								   .start = start,
								   .len = len,
								   .pgoff = off,
								   .is_exec = exec,
								   .path = path}),
			 0);
	/* Pid 0 is any process outside of the recorder's PID namespace. */
	for (unsigned i = 0; pid && i < len; i++)
		w->now[pid].cell[start + i] = exec ? (file << 20) + off + i + 1 : 0;
}

static void check_cell(const struct address_space *as, const struct model *model, unsigned i)
{
	const struct map *map = address_space_find(as, i);
	uint32_t got = 0;

	if (map)
		got = (uint32_t)(((uint64_t)atoi(map->dso->path + 1) << 20) +
				 map_ip_to_off(map, i) + 1);
	assert_int_equal(got, model->cell[i]);
}

/* All addresses, and the list of maps: sorted, not empty, covering as many cells as the model. */
static void check_space(const struct address_space *as, const struct model *model)
{
	uint64_t end = 0;
	size_t covered = 0, mapped = 0;

	for (unsigned i = 0; i < CELLS; i++) {
		check_cell(as, model, i);
		mapped += model->cell[i] != 0;
	}
	for (size_t i = 0; i < address_space_count(as); i++) {
		const struct map *map = address_space_at(as, i);

		assert_true(map->start >= end && map->start < map->end);
		end = map->end;
		covered += map->end - map->start;
	}
	assert_int_equal(covered, mapped);
}

/* reader.h: under one layout id, whatever was found stays right. */
static void check_layout(const struct held *h, const struct held *later)
{
	if (h->pid != later->pid || h->layout != later->layout)
		return;
	for (unsigned i = 0; i < CELLS; i++)
		if (h->model.cell[i])
			assert_int_equal(h->model.cell[i], later->model.cell[i]);
}

static void capture(struct world *w)
{
	struct held *h = &w->held[w->n_held];
	uint32_t pid = roll(w, PIDS);

	if (w->n_held == HELD_MAX)
		return;
	h->pid = pid;
	/* Some threads are kept in one place. */
	h->as = machine_place(w->m, pid, pid + 64 * roll(w, 3))->space;
	assert_ptr_equal(h->as, machine_space(w->m, pid));
	h->epoch = w->epoch;
	h->layout = address_space_layout(h->as);
	h->model = w->now[pid];
	for (unsigned i = 0; i < w->n_held; i++)
		check_layout(&w->held[i], h);
	w->n_held++;
}

/* Lets go of the older half of what is held, after a last look. */
static void release(struct world *w)
{
	unsigned n = w->n_held / 2;

	for (unsigned i = 0; i < n; i++)
		check_space(w->held[i].as, &w->held[i].model);
	w->n_held -= n;
	memmove(w->held, w->held + n, w->n_held * sizeof w->held[0]);
	machine_reclaim(w->m, w->n_held ? w->held[0].epoch : w->epoch + 1);
	w->epoch = machine_next_epoch(w->m);
}

static void random_step(struct world *w)
{
	unsigned what = roll(w, 100);
	uint32_t pid = roll(w, PIDS), parent = roll(w, PIDS);

	if (what < 80) {
		random_mmap(w);
	} else if (what < 93) {
		capture(w);
	} else if (what < 96) {
		release(w);
	} else if (what < 99 && pid != parent) {
		machine_fork(w->m, pid, parent, pid, parent);
		if (pid)
			w->now[pid] = w->now[parent];
	} else if (!roll(w, 8)) {
		machine_comm(w->m, pid, pid, "exec", true);
		memset(&w->now[pid], 0, sizeof w->now[pid]);
	}
}

static void test_against_model(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		struct world *w = calloc(1, sizeof *w);

		w->seed = 1000 + round;
		assert_int_equal(machine_new(&w->m), 0);
		w->epoch = machine_next_epoch(w->m);
		for (unsigned i = 0; i < 10000; i++)
			random_step(w);
		for (unsigned i = 0; i < w->n_held; i++)
			check_space(w->held[i].as, &w->held[i].model);
		for (uint32_t pid = 0; pid < PIDS; pid++)
			check_space(machine_space(w->m, pid), &w->now[pid]);
		machine_free(w->m);
		free(w);
	}
}

/* ---- scale ------------------------------------------------------------------------------- */

enum { JIT_MAPS = 100000, JIT_SAMPLES_PER_BATCH = 250 };

static void jit_map(struct machine *m, unsigned i, bool exec)
{
	uint64_t start = (uint64_t)(i * 7919ull % JIT_MAPS) << 16;

	assert_int_equal(machine_mmap(m, &(struct machine_mmap){.pid = 1,
								.tid = 1,
								.start = start,
								.len = 0x1000,
								.is_exec = exec,
								.path = "//anon"}),
			 0);
}

/* A sample after each of 100,000 mappings. Eight batches are held at any time, so what lives is
 * bounded by their versions, each of which may have one path of nodes of its own: at most 5 nodes
 * (16^5 > 100,000) of 536 bytes, besides the tree itself and its maps of 64 bytes. */
static void test_jit(void **state)
{
	struct machine *m;
	const size_t tree_max = JIT_MAPS / 15 * 600 + JIT_MAPS * 64, version_max = 5 * 600;
	uint64_t epoch = 0;
	size_t peak = 0, bytes;

	(void)state;
	assert_int_equal(machine_new(&m), 0);
	for (unsigned i = 0; i < JIT_MAPS; i++) {
		if (i % JIT_SAMPLES_PER_BATCH == 0) {
			epoch = machine_next_epoch(m);
			machine_reclaim(m, epoch > 7 ? epoch - 7 : 0);
		}
		jit_map(m, i, true);
		assert_int_equal(address_space_count(machine_space(m, 1)), i + 1);
		bytes = machine_space_bytes(m);
		peak = bytes > peak ? bytes : peak;
	}
	assert_true(peak < tree_max + 8 * JIT_SAMPLES_PER_BATCH * version_max);
	machine_reclaim(m, epoch + 1);
	assert_true(machine_space_bytes(m) < tree_max);
	for (unsigned i = 0; i < JIT_MAPS; i++) {
		jit_map(m, i, false);
		machine_space(m, 1);
	}
	machine_reclaim(m, machine_next_epoch(m));
	assert_int_equal(address_space_count(machine_space(m, 1)), 0);
	assert_true(machine_space_bytes(m) < 1000);
	machine_free(m);
}

/* One mapping over all of them. */
static void test_sweep(void **state)
{
	struct machine *m;

	(void)state;
	assert_int_equal(machine_new(&m), 0);
	for (unsigned i = 0; i < JIT_MAPS; i++)
		jit_map(m, i, true);
	machine_space(m, 1);
	assert_int_equal(machine_mmap(m, &(struct machine_mmap){.pid = 1,
								.tid = 1,
								.start = 0x800,
								.len = UINT64_MAX,
								.is_exec = true,
								.path = "/all"}),
			 0);
	assert_int_equal(address_space_count(machine_space(m, 1)), 2);
	machine_free(m);
}

/* A build makes tens of thousands of processes with the same maps: a fork costs a version, not
 * maps. */
static void test_forks_share(void **state)
{
	struct machine *m;
	size_t before;

	(void)state;
	assert_int_equal(machine_new(&m), 0);
	for (unsigned i = 0; i < 1000; i++)
		jit_map(m, i, true);
	before = machine_space_bytes(m);
	for (uint32_t pid = 2; pid < 50000; pid++) {
		assert_int_equal(machine_fork(m, pid, pid - 1, pid, pid - 1), 0);
		machine_space(m, pid);
		machine_exit(m, pid, pid);
	}
	assert_true(machine_space_bytes(m) < before + 50000 * 100);
	assert_int_equal(machine_map_count(m), 0);
	assert_int_equal(address_space_count(machine_space(m, 49999)), 1000);
	machine_free(m);
}

/* ---- readers on other threads ------------------------------------------------------------ */

struct shared_version {
	_Atomic(const struct address_space *) as;
	atomic_uint count; /* maps that as must have, told together with it */
	atomic_bool done;
	atomic_uint seen;
};

/* Every version has the maps 0 .. count-1, at 0x1000 each. */
static void *reader_thread(void *arg)
{
	struct shared_version *s = arg;

	while (!atomic_load(&s->done)) {
		const struct address_space *as = atomic_load(&s->as);
		unsigned n;

		if (!as)
			continue;
		n = (unsigned)address_space_count(as);
		for (unsigned i = 0; i < n; i++) {
			const struct map *map = address_space_find(as, i * 0x1000ull);

			if (!map || map->start != i * 0x1000ull || map->dso->path[0] != '/')
				return arg;
		}
		atomic_fetch_add(&s->seen, 1);
	}
	return NULL;
}

/* Meaningful with SAN=thread; here it shows that readers see whole versions. */
static void test_readers(void **state)
{
	struct shared_version s = {.as = NULL};
	struct machine *m;
	pthread_t t;
	void *result;
	unsigned i;

	(void)state;
	assert_int_equal(machine_new(&m), 0);
	machine_next_epoch(m);
	assert_int_equal(pthread_create(&t, NULL, reader_thread, &s), 0);
	for (i = 0; i < 2000 || atomic_load(&s.seen) < 20; i++) {
		char path[16];

		snprintf(path, sizeof path, "/%u", i % 97);
		machine_mmap(m, &(struct machine_mmap){.pid = 1,
						       .tid = 1,
						       .start = (i % 2000) * 0x1000ull,
						       .len = 0x1000,
						       .is_exec = true,
						       .path = path});
		machine_comm_of(m, 1, i);
		atomic_store(&s.as, machine_space(m, 1));
	}
	atomic_store(&s.done, true);
	pthread_join(t, &result);
	assert_null(result);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model), cmocka_unit_test(test_jit),
		cmocka_unit_test(test_sweep),	      cmocka_unit_test(test_forks_share),
		cmocka_unit_test(test_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
