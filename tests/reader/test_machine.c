/* test_machine.c - the rules of the process model, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/hash.h"
#include "reader/dso.h"
#include "reader/machine.h"
#include "tests/reader/machine_facts.h"

static int setup(void **state)
{
	return machine_new((struct machine **)state);
}

static int teardown(void **state)
{
	machine_free(*state);
	return 0;
}

static void put(struct machine *m, const struct machine_mmap *r)
{
	assert_int_equal(machine_mmap(m, r), 0);
}

/* An executable mapping of a file. */
static void map_file(struct machine *m, uint32_t pid, uint64_t start, uint64_t len, uint64_t pgoff,
		     const char *path)
{
	put(m, &(struct machine_mmap){.pid = pid,
				      .tid = pid,
				      .start = start,
				      .len = len,
				      .pgoff = pgoff,
				      .prot = PROT_READ | PROT_EXEC,
				      .is_exec = true,
				      .path = path});
}

static void map_data(struct machine *m, uint32_t pid, uint64_t start, uint64_t len)
{
	put(m, &(struct machine_mmap){.pid = pid,
				      .tid = pid,
				      .start = start,
				      .len = len,
				      .prot = PROT_READ | PROT_WRITE,
				      .path = "//anon"});
}

static void map_kernel(struct machine *m, uint64_t start, uint64_t len, uint64_t pgoff,
		       const char *path)
{
	put(m, &(struct machine_mmap){.pid = UINT32_MAX,
				      .start = start,
				      .len = len,
				      .pgoff = pgoff,
				      .kernel = true,
				      .is_exec = true,
				      .path = path});
}

/* Whatever happened since the last time, it is what the questions one by one tell. */
static const struct machine_place *place(struct machine *m, uint32_t pid, uint32_t tid)
{
	const struct machine_place *p = machine_place(m, pid, tid);

	assert_ptr_equal(p->space, machine_space(m, pid));
	assert_ptr_equal(p->kernel, machine_kernel(m));
	return p;
}

static const struct map *find(struct machine *m, uint32_t pid, uint64_t ip)
{
	return address_space_find(place(m, pid, pid)->space, ip);
}

/* What an address shows: "path+off", or "-". */
static void expect(struct machine *m, uint32_t pid, uint64_t ip, const char *want)
{
	const struct map *map = find(m, pid, ip);
	char got[256] = "-";

	if (map)
		snprintf(got, sizeof got, "%s+%lx", map->dso->path,
			 (unsigned long)map_ip_to_off(map, ip));
	assert_string_equal(got, want);
}

static void expect_comm(struct machine *m, uint32_t pid, uint32_t tid, const char *want)
{
	assert_string_equal(place(m, pid, tid)->comm, want);
}

static uint64_t layout(struct machine *m, uint32_t pid)
{
	return address_space_layout(machine_space(m, pid));
}

/* ---- maps -------------------------------------------------------------------------------- */

static void test_bounds(void **state)
{
	struct machine *m = *state;

	map_file(m, 5, 0x1000, 0x1000, 0x3000, "/a");
	expect(m, 5, 0xfff, "-");
	expect(m, 5, 0x1000, "/a+3000");
	expect(m, 5, 0x1fff, "/a+3fff");
	expect(m, 5, 0x2000, "-");
	expect(m, 6, 0x1000, "-");
	/* A length that wraps around is cut at the end of the address space. */
	map_file(m, 5, UINT64_MAX - 0xff, 0x1000, 0, "/end");
	expect(m, 5, UINT64_MAX - 1, "/end+fe");
	map_file(m, 5, UINT64_MAX, 5, 0, "/beyond");
	map_kernel(m, UINT64_MAX, 5, 0, "[beyond]");
	machine_ksymbol(m, UINT64_MAX, 5, "beyond", false);
	assert_int_equal(address_space_count(machine_kernel(m)), 0);
	assert_int_equal(address_space_count(machine_space(m, 5)), 2);
	map_file(m, 5, 0x9000, 0, 0, "/empty");
	expect(m, 5, 0x9000, "-");
}

static void test_cut(void **state)
{
	struct machine *m = *state;

	map_file(m, 1, 0x1000, 0x4000, 0x10000, "/a");
	map_file(m, 1, 0x2000, 0x1000, 0, "/b"); /* hole in the middle */
	expect(m, 1, 0x1fff, "/a+10fff");
	expect(m, 1, 0x2000, "/b+0");
	expect(m, 1, 0x3000, "/a+12000");
	assert_int_equal(address_space_count(machine_space(m, 1)), 3);
	map_file(m, 1, 0x4000, 0x2000, 0, "/c"); /* end */
	expect(m, 1, 0x3fff, "/a+12fff");
	expect(m, 1, 0x4000, "/c+0");
	map_file(m, 1, 0x800, 0x1000, 0, "/d"); /* beginning */
	expect(m, 1, 0x17ff, "/d+fff");
	expect(m, 1, 0x1800, "/a+10800");
	map_file(m, 1, 0, 0x10000, 0, "/e"); /* everything */
	assert_int_equal(address_space_count(machine_space(m, 1)), 1);
	expect(m, 1, 0x2345, "/e+2345");
}

static void test_data_removes_code(void **state)
{
	struct machine *m = *state;

	/* not over the program's own code: see test_machine_copies.c */
	map_file(m, 1, 0x100000, 0x1000, 0, "/program");
	map_file(m, 1, 0x1000, 0x3000, 0, "/a");
	map_data(m, 1, 0x2000, 0x1000);
	expect(m, 1, 0x1fff, "/a+fff");
	expect(m, 1, 0x2000, "-");
	expect(m, 1, 0x3000, "/a+2000");
	map_data(m, 1, 0x9000, 0x1000);
	assert_int_equal(address_space_count(machine_space(m, 1)), 3);
}

static void test_at_is_sorted(void **state)
{
	struct machine *m = *state;
	const struct address_space *as;

	for (uint64_t i = 0; i < 1000; i++)
		map_file(m, 1, 0x1000 * (i * 389 % 1000), 0x1000, 0, "/a");
	as = machine_space(m, 1);
	assert_int_equal(address_space_count(as), 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(address_space_at(as, i)->start, 0x1000 * i);
}

static void test_versions_are_immutable(void **state)
{
	struct machine *m = *state;
	const struct address_space *before, *after;
	uint64_t epoch = machine_next_epoch(m);

	map_file(m, 1, 0x1000, 0x1000, 0, "/a");
	before = machine_space(m, 1);
	assert_ptr_equal(machine_space(m, 1), before); /* nothing changed: same version */
	map_file(m, 1, 0x1000, 0x1000, 0, "/b");
	after = machine_space(m, 1);
	assert_ptr_not_equal(before, after);
	assert_string_equal(address_space_find(before, 0x1000)->dso->path, "/a");
	assert_string_equal(address_space_find(after, 0x1000)->dso->path, "/b");
	machine_reclaim(m, epoch); /* still held */
	assert_string_equal(address_space_find(before, 0x1000)->dso->path, "/a");
}

static void test_layout(void **state)
{
	struct machine *m = *state;
	uint64_t l;

	map_file(m, 1, 0x1000, 0x1000, 0, "/a");
	l = layout(m, 1);
	assert_int_not_equal(l, 0);
	map_file(m, 1, 0x2000, 0x1000, 0, "/b"); /* free space */
	assert_int_equal(layout(m, 1), l);
	map_file(m, 1, 0x1000, 0x1000, 0, "/a"); /* told twice */
	assert_int_equal(layout(m, 1), l);
	assert_int_equal(address_space_count(machine_space(m, 1)), 2);
	map_file(m, 1, 0x1800, 0x100, 0x800, "/a"); /* part of what is there */
	assert_int_equal(layout(m, 1), l);
	map_file(m, 1, 0x1000, 0x1000, 0x1000, "/a"); /* same file, other bytes */
	assert_int_not_equal(layout(m, 1), l);
	l = layout(m, 1);
	map_data(m, 1, 0x2fff, 1);
	assert_int_not_equal(layout(m, 1), l);
	l = layout(m, 1);
	map_data(m, 1, 0x8000, 0x1000); /* hits nothing */
	assert_int_equal(layout(m, 1), l);
	machine_comm(m, 1, 1, "x", true);
	assert_int_not_equal(layout(m, 1), l);
	/* The child's space is its own, even while it equals the parent's. */
	machine_fork(m, 2, 1, 2, 1);
	assert_int_not_equal(layout(m, 2), layout(m, 1));
}

/* ---- processes --------------------------------------------------------------------------- */

static void test_fork(void **state)
{
	struct machine *m = *state;

	machine_comm(m, 1, 1, "parent", true);
	map_file(m, 1, 0x1000, 0x1000, 0, "/a");
	machine_fork(m, 2, 1, 2, 1);
	expect_comm(m, 2, 2, "parent");
	expect(m, 2, 0x1000, "/a+0");
	assert_ptr_equal(find(m, 2, 0x1000), find(m, 1, 0x1000));
	/* From now on both go their own way. */
	map_file(m, 2, 0x5000, 0x1000, 0, "/child");
	map_file(m, 1, 0x1000, 0x1000, 0, "/b");
	expect(m, 1, 0x5000, "-");
	expect(m, 2, 0x1000, "/a+0");
	expect(m, 1, 0x1000, "/b+0");
}

static void test_exec(void **state)
{
	struct machine *m = *state;

	map_file(m, 1, 0x1000, 0x1000, 0, "/a");
	machine_comm(m, 1, 1, "renamed", false); /* prctl(PR_SET_NAME) */
	expect(m, 1, 0x1000, "/a+0");
	machine_comm(m, 1, 1, "new", true);
	expect(m, 1, 0x1000, "-");
	expect_comm(m, 1, 1, "new");
}

static void test_threads(void **state)
{
	struct machine *m = *state;

	machine_comm(m, 1, 1, "main", true);
	machine_fork(m, 1, 1, 7, 1);
	expect_comm(m, 1, 7, "main");
	machine_comm(m, 1, 7, "worker", false);
	machine_fork(m, 1, 1, 8, 7);
	expect_comm(m, 1, 8, "worker");
	expect_comm(m, 1, 1, "main");
	/* A mapping made by a thread is all threads'. */
	put(m, &(struct machine_mmap){.pid = 1,
				      .tid = 7,
				      .start = 0x1000,
				      .len = 0x1000,
				      .is_exec = true,
				      .path = "/a"});
	expect(m, 1, 0x1000, "/a+0");
}

static void test_unknown_comm(void **state)
{
	struct machine *m = *state;

	expect_comm(m, 12, 34, ":34");
	expect_comm(m, UINT32_MAX, UINT32_MAX, ":-1");
	expect_comm(m, 0, 0, "swapper");
	machine_fork(m, 40, 12, 40, 12); /* of a parent without a name */
	expect_comm(m, 40, 40, ":40");
	machine_comm(m, 40, 40, "late", false);
	expect_comm(m, 40, 40, "late");
	machine_comm(m, 0, 0, "swapper/1", false);
	expect_comm(m, 0, 0, "swapper/1");
	/* Of processes outside of the recorder's PID namespace: any of them. */
	machine_comm(m, 0, 0, "bash", true);
	expect_comm(m, 0, 0, ":0");
	map_file(m, 0, 0x1000, 0x1000, 0, "/bin/bash");
	assert_int_equal(address_space_count(machine_space(m, 0)), 0);
}

/* perf's picture of the system at the start (synthetic-events.c). */
static void test_synthesized_forks(void **state)
{
	struct machine *m = *state;

	machine_comm(m, 1, 1, "init", false);
	map_file(m, 1, 0x1000, 0x1000, 0, "/init");
	machine_fork_found(m, 9, 1, 9, 1); /* has long since called exec */
	expect(m, 9, 0x1000, "-");
	expect_comm(m, 9, 9, "init");
	machine_comm(m, 9, 9, "sh", false);
	map_file(m, 9, 0x2000, 0x1000, 0, "/sh");
	machine_fork_found(m, 9, 9, 10, 9);
	expect_comm(m, 9, 10, "sh");
	expect(m, 9, 0x2000, "/sh+0");
	/* Older: pid == ppid == tid == ptid. */
	machine_fork(m, 9, 9, 9, 9);
	expect(m, 9, 0x2000, "/sh+0");
	expect_comm(m, 9, 9, "sh");
}

static void test_late_samples(void **state)
{
	struct machine *m = *state;

	machine_comm(m, 1, 1, "old", true);
	map_file(m, 1, 0x1000, 0x1000, 0, "/old");
	machine_exit(m, 1, 1);
	expect(m, 1, 0x1000, "/old+0");
	expect_comm(m, 1, 1, "old");
	/* The pid comes again. */
	machine_comm(m, 2, 2, "shell", true);
	map_file(m, 2, 0x2000, 0x1000, 0, "/shell");
	machine_fork(m, 1, 2, 1, 2);
	expect(m, 1, 0x1000, "-");
	expect(m, 1, 0x2000, "/shell+0");
	expect_comm(m, 1, 1, "shell");
	/* Of a parent that is not known. */
	machine_exit(m, 1, 1);
	machine_fork(m, 1, 77, 1, 77);
	expect(m, 1, 0x2000, "-");
	expect_comm(m, 1, 1, ":1");
}

static void test_reuse_without_fork(void **state)
{
	struct machine *m = *state;

	map_file(m, 1, 0x1000, 0x1000, 0, "/old");
	machine_fork(m, 1, 1, 2, 1);
	machine_exit(m, 1, 1); /* pthread_exit() of main: the process lives on */
	map_file(m, 1, 0x2000, 0x1000, 0, "/lib");
	expect(m, 1, 0x1000, "/old+0");
	machine_exit(m, 1, 1);
	machine_exit(m, 1, 2);
	map_file(m, 1, 0x3000, 0x1000, 0, "/new");
	expect(m, 1, 0x1000, "-");
	expect(m, 1, 0x3000, "/new+0");
}

/* ---- kinds and identity ------------------------------------------------------------------ */

static void test_user_kinds(void **state)
{
	struct machine *m = *state;
	static const struct {
		const char *name, *path;
		enum dso_kind kind;
	} cases[] = {
		{"/usr/bin/cat", "/usr/bin/cat", DSO_FILE},
		{"/usr/bin/cat (deleted)", "/usr/bin/cat (deleted)", DSO_FILE},
		{"/memfd:other (deleted)", "/memfd:other (deleted)", DSO_FILE},
		{"/memfd:doublemapper (deleted)", "/tmp/perf-5.map", DSO_ANON},
		{"/SYSV00000000 (deleted)", "/tmp/perf-5.map", DSO_ANON},
		{"/dev/shm/code", "/dev/shm/code", DSO_FILE},
		{"//anon", "/tmp/perf-5.map", DSO_ANON},
		{"", "/tmp/perf-5.map", DSO_ANON},
		{"[heap]", "/tmp/perf-5.map", DSO_ANON},
		{"[stack]", "/tmp/perf-5.map", DSO_ANON},
		{"[stack:17]", "/tmp/perf-5.map", DSO_ANON},
		{"[anon:v8]", "/tmp/perf-5.map", DSO_ANON},
		{"/dev/zero (deleted)", "/tmp/perf-5.map", DSO_ANON},
		{"/anon_hugepage (deleted)", "/tmp/perf-5.map", DSO_ANON},
		{"[vdso]", "[vdso]", DSO_VDSO},
		{"[vsyscall]", "[vsyscall]", DSO_UNKNOWN},
		{"[uprobes]", "[uprobes]", DSO_UNKNOWN},
		{"/dev/dri/card0", "/dev/dri/card0", DSO_UNKNOWN},
		{"//toolong", "//toolong", DSO_FILE},
		{"//enomem", "//enomem", DSO_UNKNOWN},
		{"anon_inode:[perf_event]", "anon_inode:[perf_event]", DSO_UNKNOWN},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint64_t start = 0x10000 * (i + 1);
		const struct map *map;

		map_file(m, 5, start, 0x1000, 0x7000, cases[i].name);
		map = find(m, 5, start);
		assert_string_equal(map->dso->path, cases[i].path);
		assert_int_equal(map->dso->kind, cases[i].kind);
		if (map->dso->kind == DSO_ANON) {
			assert_int_equal(map->dso->pid, 5);
			assert_int_equal(map_ip_to_off(map, start + 8), start + 8);
		} else {
			assert_int_equal(map->dso->pid, 0);
			assert_int_equal(map_ip_to_off(map, start + 8),
					 cases[i].kind == DSO_VDSO ? 8 : 0x7008);
		}
	}
	/* Each process has its own map file; a child keeps using that of its parent. */
	map_file(m, 6, 0x1000, 0x1000, 0, "//anon");
	machine_fork(m, 7, 6, 7, 6);
	expect(m, 7, 0x1000, "/tmp/perf-6.map+1000");
	put(m, &(struct machine_mmap){.pid = 6,
				      .tid = 6,
				      .start = 0x5000,
				      .len = 0x1000,
				      .flags = MAP_HUGETLB,
				      .is_exec = true,
				      .path = "/huge/x"});
	expect(m, 6, 0x5000, "/tmp/perf-6.map+5000");
}

static void test_identity(void **state)
{
	struct machine *m = *state;
	struct machine_mmap r = {.pid = 1, .tid = 1, .len = 0x1000, .is_exec = true, .path = "/a"};
	const struct dso *plain, *inode;

	r.start = 0x1000;
	put(m, &r);
	plain = find(m, 1, 0x1000)->dso;
	r.pid = r.tid = 2;
	put(m, &r);
	assert_ptr_equal(find(m, 2, 0x1000)->dso, plain);
	r.ino = 77, r.maj = 8, r.min = 1;
	put(m, &r);
	inode = find(m, 2, 0x1000)->dso;
	assert_ptr_not_equal(inode, plain); /* another file of that name */
	/* /proc/PID/maps does not tell the generation, the kernel's record does. */
	r.ino_generation = 1234;
	put(m, &r);
	assert_ptr_equal(find(m, 2, 0x1000)->dso, inode);
	r.ino_generation = 296131123180479480; /* perf's uninitialised memory */
	put(m, &r);
	assert_ptr_equal(find(m, 2, 0x1000)->dso, inode);
	r.ino_generation = 1235; /* the inode's number was used again */
	put(m, &r);
	assert_ptr_not_equal(find(m, 2, 0x1000)->dso, inode);
	r.ino_generation = 1234;
	put(m, &r);
	assert_ptr_equal(find(m, 2, 0x1000)->dso, inode);
	for (r.ino_generation = 5000; r.ino_generation < 105000; r.ino_generation++)
		put(m, &r); /* in time that grows with their number */
	assert_int_equal(machine_dso_count(m), 17);
	r = (struct machine_mmap){.pid = 3,
				  .tid = 3,
				  .start = 0x1000,
				  .len = 0x1000,
				  .is_exec = true,
				  .path = "/a",
				  .build_id = {4, {1, 2, 3, 4}}};
	put(m, &r);
	assert_ptr_not_equal(find(m, 3, 0x1000)->dso, plain);
	assert_int_equal(find(m, 3, 0x1000)->dso->build_id.size, 4);
	assert_int_equal(machine_dso_count(m), 18);
	for (size_t i = 0; i < machine_dso_count(m); i++)
		assert_int_equal(machine_dso(m, i)->id, i);
}

static void test_build_id_by_path(void **state)
{
	struct machine *m = *state;
	static const struct build_id a = {3, {1, 1, 1}}, b = {3, {2, 2, 2}};
	struct machine_mmap own = {.pid = 1,
				   .tid = 1,
				   .start = 0x5000,
				   .len = 0x1000,
				   .is_exec = true,
				   .path = "/a",
				   .build_id = b};

	machine_add_build_id(m, "/a", &a, PERF_CPUMODE_USER);
	machine_add_build_id(m, "[vdso]", &b, PERF_CPUMODE_USER);
	machine_add_build_id(m, "/boot/vmlinux-6.1", &a, PERF_CPUMODE_KERNEL);
	machine_add_build_id(m, "/two", &a, PERF_CPUMODE_USER);
	machine_add_build_id(m, "/two", &b, PERF_CPUMODE_USER);
	machine_add_build_id(m, "/again", &a, PERF_CPUMODE_USER);
	machine_add_build_id(m, "/again", &a, PERF_CPUMODE_USER);
	map_file(m, 1, 0x1000, 0x1000, 0, "/a");
	assert_memory_equal(&find(m, 1, 0x1000)->dso->build_id, &a, sizeof a);
	put(m, &own); /* its own id counts */
	assert_memory_equal(&find(m, 1, 0x5000)->dso->build_id, &b, sizeof b);
	own.build_id = a; /* the same thing as told by the header */
	put(m, &own);
	assert_ptr_equal(find(m, 1, 0x5000)->dso, find(m, 1, 0x1000)->dso);
	map_file(m, 1, 0x2000, 0x1000, 0, "[vdso]");
	assert_memory_equal(&find(m, 1, 0x2000)->dso->build_id, &b, sizeof b);
	map_file(m, 1, 0x3000, 0x1000, 0, "/two"); /* which of the two cannot be known */
	assert_int_equal(find(m, 1, 0x3000)->dso->build_id.size, 0);
	map_file(m, 1, 0x4000, 0x1000, 0, "/again");
	assert_int_equal(find(m, 1, 0x4000)->dso->build_id.size, 3);
	map_kernel(m, 0xffffffff81000000, 0x1000000, 0xffffffff81000000, "[kernel.kallsyms]_text");
	assert_memory_equal(
		&address_space_find(machine_kernel(m), 0xffffffff81000000)->dso->build_id, &a,
		sizeof a);

	/* Pipe mode: an id may come when the dso is in use, which then stays as it is. */
	map_file(m, 2, 0x1000, 0x1000, 0, "/late");
	machine_add_build_id(m, "/late", &a, PERF_CPUMODE_USER);
	map_file(m, 3, 0x1000, 0x1000, 0, "/late");
	assert_ptr_equal(find(m, 2, 0x1000)->dso, find(m, 3, 0x1000)->dso);
	assert_int_equal(find(m, 3, 0x1000)->dso->build_id.size, 0);
}

/* ---- kernel ------------------------------------------------------------------------------ */

static void expect_kernel(struct machine *m, uint64_t ip, const char *path, enum dso_kind kind)
{
	const struct map *map = address_space_find(machine_kernel(m), ip);

	if (!path) {
		assert_null(map);
		return;
	}
	assert_non_null(map);
	assert_string_equal(map->dso->path, path);
	assert_int_equal(map->dso->kind, kind);
}

static void test_kernel(void **state)
{
	struct machine *m = *state;
	const struct map *map;

	map_kernel(m, 0, 0, 0, "[kernel.kallsyms]_text"); /* kptr_restrict */
	assert_int_equal(address_space_count(machine_kernel(m)), 0);
	map_kernel(m, 0xffffffff81000000, 0x1000000, 0xffffffff81000100, "[kernel.kallsyms]_stext");
	map_kernel(m, 0xffffffffc0000000, 0x5000, 0, "[nf_conntrack]");
	map_kernel(m, 0xffffffffc0005000, 0x5000, 0, "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz");
	map_kernel(m, 0xfffffe0000006000, 0x1000, 0, "__entry_SYSCALL_64_trampoline");
	expect_kernel(m, 0xffffffff81000000, "[kernel.kallsyms]", DSO_KERNEL);
	expect_kernel(m, 0xfffffe0000006000, "[kernel.kallsyms]", DSO_KERNEL);
	expect_kernel(m, 0xfffffe0000007000, NULL, 0);
	/* .init.text lies behind the recorded range of .text */
	expect_kernel(m, 0xffffffff82000000, "[kernel.kallsyms]", DSO_KERNEL);
	expect_kernel(m, 0xffffffffbfffffff, "[kernel.kallsyms]", DSO_KERNEL);
	expect_kernel(m, 0xffffffffc0000010, "[nf_conntrack]", DSO_KERNEL_MODULE);
	expect_kernel(m, 0xffffffffc0005010, "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz",
		      DSO_KERNEL_MODULE);
	/* The recording gives the range of .text; .init.text lies behind it. */
	expect_kernel(m, 0xffffffff82000000, "[kernel.kallsyms]", DSO_KERNEL);
	expect_kernel(m, 0xffffffffbfffffff, "[kernel.kallsyms]", DSO_KERNEL);
	expect_kernel(m, 0xffffffff80ffffff, NULL, 0);
	expect_kernel(m, 0xfffffe0000007000, NULL, 0);
	/* The reference symbol's address stays what it is when the map is cut. */
	map_kernel(m, 0xffffffff81000000, 0x1000, 0, "[early]");
	map = address_space_find(machine_kernel(m), 0xffffffff81001000);
	assert_int_equal(map->start, 0xffffffff81001000);
	assert_int_equal(map->pgoff, 0xffffffff81000100);
	/* Kernel maps are no process's. */
	assert_null(find(m, UINT32_MAX, 0xffffffff81001000));
	/* MMAP2 of the kernel: perf leaves prot 0. */
	put(m, &(struct machine_mmap){.pid = UINT32_MAX,
				      .start = 0xffffffffd0000000,
				      .len = 0x1000,
				      .kernel = true,
				      .path = "[mod]"});
	expect_kernel(m, 0xffffffffd0000000, "[mod]", DSO_KERNEL_MODULE);
}

static void test_guest(void **state)
{
	struct machine *m = *state;
	struct machine_mmap r = {.pid = UINT32_MAX,
				 .start = 0xffffffff81000000,
				 .len = 0x1000,
				 .kernel = true,
				 .guest = true,
				 .is_exec = true,
				 .path = "[guest.kernel.kallsyms.77]_text"};
	const struct map *map;

	map_kernel(m, 0xffffffff81000000, 0x1000000, 0, "[kernel.kallsyms]_text");
	put(m, &r);
	expect_kernel(m, 0xffffffff81000000, "[kernel.kallsyms]", DSO_KERNEL);
	map = address_space_find(machine_guest_kernel(m), 0xffffffff81000000);
	assert_string_equal(map->dso->path, "[guest.kernel.kallsyms]");
	assert_int_equal(map->dso->kind, DSO_GUEST_KERNEL);
	/* A process inside the guest is not ours, whatever its pid. */
	r = (struct machine_mmap){.pid = 5,
				  .tid = 5,
				  .start = 0x1000,
				  .len = 0x1000,
				  .guest = true,
				  .is_exec = true,
				  .path = "/x"};
	put(m, &r);
	expect(m, 5, 0x1000, "-");
}

/* From exec to the first sample of the new program, what the kernel interrupted may be of the old
 * one. */
static void test_former_space(void **state)
{
	struct machine *m = *state;
	const struct address_space *former;

	map_file(m, 5, 0x1000, 0x1000, 0, "/old");
	assert_false(place(m, 5, 5)->has_former);
	assert_int_equal(machine_comm(m, 5, 5, "new", true), 0);
	assert_true(place(m, 5, 5)->has_former);
	former = machine_former_space(m, 5, 0x1800);
	assert_non_null(former);
	assert_string_equal(address_space_find(former, 0x1800)->dso->path, "/old");
	map_file(m, 5, 0x1800, 0x1000, 0, "/new");
	assert_ptr_equal(machine_former_space(m, 5, 0x1700), former);
	assert_null(machine_former_space(m, 5, 0x1800)); /* the new program's */
	assert_null(machine_former_space(m, 5, 0x5000)); /* not mapped */
	assert_null(machine_former_space(m, 6, 0x1800));
	machine_runs(m, 5);
	assert_null(machine_former_space(m, 5, 0x1700));
	assert_false(place(m, 5, 5)->has_former);
	/* exec twice without a sample in between, then the process ends */
	assert_int_equal(machine_comm(m, 5, 5, "third", true), 0);
	map_file(m, 5, 0x9000, 0x1000, 0, "/third");
	assert_int_equal(machine_comm(m, 5, 5, "fourth", true), 0);
	assert_null(machine_former_space(m, 5, 0x1900));
	assert_non_null(machine_former_space(m, 5, 0x9000));
	assert_int_equal(machine_fork(m, 5, 1, 5, 1), 0);
	assert_false(place(m, 5, 5)->has_former);
	/* nothing was mapped: what called exec is not known */
	assert_int_equal(machine_comm(m, 7, 7, "x", true), 0);
	assert_true(place(m, 7, 7)->has_former);
	assert_null(machine_former_space(m, 7, 0x1000));
	machine_runs(m, 7);
	assert_false(place(m, 7, 7)->has_former);
}

static void test_ksymbol(void **state)
{
	struct machine *m = *state;
	const struct address_space *before;
	uint64_t l;

	map_kernel(m, 0xffffffff81000000, 0x1000000, 0, "[kernel.kallsyms]_text");
	machine_ksymbol(m, 0xffffffffc0000000, 0x80, "bpf_prog_1_x", false);
	machine_ksymbol(m, 0xffffffffc0000080, 0x40, "bpf_prog_2_y", false);
	machine_ksymbol(m, 0xffffffffc1000080, 0, "bpf_empty", false);
	expect_kernel(m, 0xffffffffc000007f, "bpf_prog_1_x", DSO_BPF);
	expect_kernel(m, 0xffffffffc0000080, "bpf_prog_2_y", DSO_BPF);
	expect_kernel(m, 0xffffffffc1000080, "[kernel.kallsyms]", DSO_KERNEL);
	before = machine_kernel(m);
	l = address_space_layout(before);
	machine_ksymbol(m, 0xffffffffc0000000, 0x80, "bpf_prog_1_x", true);
	/* what was there before: the kernel's map goes on to the first module */
	expect_kernel(m, 0xffffffffc0000000, "[kernel.kallsyms]", DSO_KERNEL);
	expect_kernel(m, 0xffffffffc000007f, "[kernel.kallsyms]", DSO_KERNEL);
	expect_kernel(m, 0xffffffffc0000080, "bpf_prog_2_y", DSO_BPF);
	assert_int_not_equal(address_space_layout(machine_kernel(m)), l);
	assert_non_null(address_space_find(before, 0xffffffffc0000000));
	/* Nothing else can be unregistered. */
	machine_ksymbol(m, 0xffffffff81000000, 0x80, "x", true);
	machine_ksymbol(m, 0xffffffffc0000090, 0x10, "x", true);
	machine_ksymbol(m, 0x10, 0x10, "x", true);
	expect_kernel(m, 0xffffffff81000000, "[kernel.kallsyms]", DSO_KERNEL);
	expect_kernel(m, 0xffffffffc0000090, "bpf_prog_2_y", DSO_BPF);
	/* A program that lay over the edge between the kernel and a module, which is loaded
	 * meanwhile: both are whole again, the module with its offsets. */
	machine_ksymbol(m, 0xffffffffc0100f00, 0x200, "bpf_prog_3_z", false);
	map_kernel(m, 0xffffffffc0101000, 0x1000, 0, "[mod]");
	machine_ksymbol(m, 0xffffffffc0100f00, 0x200, "bpf_prog_3_z", false);
	machine_ksymbol(m, 0xffffffffc0100f00, 0x200, "bpf_prog_3_z", true);
	expect_kernel(m, 0xffffffffc0100fff, "[kernel.kallsyms]", DSO_KERNEL);
	expect_kernel(m, 0xffffffffc0101000, "[mod]", DSO_KERNEL_MODULE);
	assert_int_equal(map_ip_to_off(address_space_find(machine_kernel(m), 0xffffffffc0101050),
				       0xffffffffc0101050),
			 0x50);
	expect_kernel(m, 0xffffffffc0101100, "[mod]", DSO_KERNEL_MODULE);
	assert_int_equal(map_ip_to_off(address_space_find(machine_kernel(m), 0xffffffffc0101100),
				       0xffffffffc0101100),
			 0x100);
}

/* What is hashed before the inode, and what hash_mix() makes of it: see dso.c. */
static uint64_t before_inode(const struct dso_key *k)
{
	uint64_t h = hash_bytes(k->path, strlen(k->path));

	h = hash_mix(h, (uint64_t)k->kind << 32 | k->pid);
	return hash_mix(h, (uint64_t)k->maj << 32 | k->min) * 0x9e3779b97f4a7c15u;
}

/* Inodes chosen so that without a secret all files had one hash: each would be looked for behind
 * all others. */
static void test_inodes_cannot_be_chosen_to_collide(void **state)
{
	struct dso_key one = {.kind = DSO_FILE, .path = "/one", .ino = 1}, two = one;
	struct dso_table t = {0};
	uint64_t keys[2];
	size_t n = 0;

	(void)state;
	two.path = "/two";
	two.ino = before_inode(&one) ^ one.ino ^ before_inode(&two);
	assert_non_null(dso_table_get(&t, &one));
	assert_non_null(dso_table_get(&t, &two));
	assert_int_equal(t.entries.n, 2);
	for (size_t i = 0; i <= t.index.mask; i++)
		if (t.index.slots[i].value != HASH_NONE)
			keys[n++] = t.index.slots[i].key;
	assert_int_equal(n, 2);
	assert_true(keys[0] != hash_mix(keys[1], 1) && keys[1] != hash_mix(keys[0], 1));
	dso_table_done(&t);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(bounds),
		T(cut),
		T(data_removes_code),
		T(at_is_sorted),
		T(versions_are_immutable),
		T(layout),
		T(fork),
		T(exec),
		T(former_space),
		T(threads),
		T(unknown_comm),
		T(synthesized_forks),
		T(late_samples),
		T(reuse_without_fork),
		T(user_kinds),
		T(identity),
		T(build_id_by_path),
		T(kernel),
		T(guest),
		T(ksymbol),
		cmocka_unit_test(test_inodes_cannot_be_chosen_to_collide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
