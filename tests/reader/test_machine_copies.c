/* test_machine_copies.c - anonymous memory in the place of a file's code: its copy, or other code?
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "reader/machine.h"

#define HUGE 0x200000ull
#define LIB  0x7f0000000000ull

enum { PID = 7, RX = PROT_READ | PROT_EXEC, RW = PROT_READ | PROT_WRITE };

/* A program with 4 huge pages of code, then a library with as much. */
static int setup(void **state)
{
	static const struct machine_mmap files[] = {
		{.start = 0x401000, .len = 4 * HUGE, .pgoff = 0x1000, .path = "/bin/program"},
		{.start = LIB, .len = 4 * HUGE, .pgoff = 0x3000, .path = "/lib/library.so"},
	};
	struct machine *m;
	size_t i;

	if (machine_new(&m))
		return -1;
	for (i = 0; i < 2; i++) {
		struct machine_mmap r = files[i];

		r.pid = r.tid = PID;
		r.prot = RX;
		r.flags = MAP_PRIVATE;
		r.is_exec = true;
		if (machine_mmap(m, &r))
			return -1;
	}
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	machine_free(*state);
	return 0;
}

static void map_anon(struct machine *m, uint64_t start, uint64_t len, uint32_t prot,
		     const char *path)
{
	const struct machine_mmap r = {.pid = PID,
				       .tid = PID,
				       .start = start,
				       .len = len,
				       .pgoff = start,
				       .prot = prot,
				       .flags = MAP_PRIVATE | MAP_ANONYMOUS,
				       .is_exec = prot & PROT_EXEC,
				       .path = path};

	assert_int_equal(machine_mmap(m, &r), 0);
}

/* What an address shows: "path+off", or "-". */
static void expect(struct machine *m, uint32_t pid, uint64_t ip, const char *want)
{
	const struct map *map = address_space_find(machine_space(m, pid), ip);
	char got[256] = "-";

	if (map)
		snprintf(got, sizeof got, "%s+%lx", map->dso->path,
			 (unsigned long)map_ip_to_off(map, ip));
	assert_string_equal(got, want);
}

static void test_program(void **state)
{
	struct machine *m = *state;
	uint64_t layout = address_space_layout(machine_space(m, PID));

	/* node: writable and executable, then executable; any size */
	map_anon(m, 0x402000, 0x3000, RX | PROT_WRITE, "//anon");
	map_anon(m, 0x402000, 0x3000, RX, "//anon");
	expect(m, PID, 0x402010, "/bin/program+2010");
	/* written to before it is executable, where data are recorded; named; of hugetlbfs */
	map_anon(m, 0x600000, HUGE, RW, "//anon");
	map_anon(m, 0x600000, HUGE, RX, "[anon:hugepage text]");
	expect(m, PID, 0x600010, "/bin/program+200010");
	map_anon(m, 0x600000, HUGE, RX, "/anon_hugepage (deleted)");
	expect(m, PID, 0x600010, "/bin/program+200010");
	assert_int_equal(address_space_layout(machine_space(m, PID)), layout);
	/* its children have the same code */
	assert_int_equal(machine_fork(m, 8, PID, 8, PID), 0);
	expect(m, 8, 0x600010, "/bin/program+200010");
}

/* The linker, or mprotect(), may have parted the code. */
static void test_parts(void **state)
{
	struct machine *m = *state;
	struct machine_mmap r = {.pid = PID,
				 .tid = PID,
				 .start = 0x500000,
				 .len = 0x1000,
				 .pgoff = 0x100000,
				 .prot = RX | PROT_WRITE,
				 .flags = MAP_PRIVATE,
				 .is_exec = true,
				 .path = "/bin/program"};

	assert_int_equal(machine_mmap(m, &r), 0);
	map_anon(m, 0x4ff000, 0x3000, RX, "//anon");
	expect(m, PID, 0x4ff000, "/bin/program+ff000");
	expect(m, PID, 0x501000, "/bin/program+101000");
	/* but not another part of it, or other files */
	r.pgoff = 0x200000;
	assert_int_equal(machine_mmap(m, &r), 0);
	map_anon(m, 0x4ff000, 0x3000, RX, "//anon");
	expect(m, PID, 0x4ff000, "/tmp/perf-7.map+4ff000");
}

static void test_library(void **state)
{
	struct machine *m = *state;

	map_anon(m, LIB + HUGE, 2 * HUGE, RX, "//anon");
	expect(m, PID, LIB + HUGE + 16, "/lib/library.so+203010");
	/* It may have been unmapped, without a record. */
	map_anon(m, LIB + HUGE, HUGE + 0x1000, RX, "//anon");
	expect(m, PID, LIB + HUGE + 16, "/tmp/perf-7.map+7f0000200010");
	map_anon(m, LIB + 0x1000, HUGE, RX, "//anon");
	expect(m, PID, LIB + 0x1000, "/tmp/perf-7.map+7f0000001000");
	expect(m, PID, LIB + 0xfff, "/lib/library.so+3fff");
}

static void test_no_copy(void **state)
{
	struct machine *m = *state;
	struct machine_mmap r = {.pid = PID,
				 .tid = PID,
				 .start = 0x403000,
				 .len = 0x1000,
				 .prot = RX,
				 .flags = MAP_PRIVATE,
				 .is_exec = true,
				 .path = "/lib/other.so"};

	/* beyond the code */
	map_anon(m, 0xa00000, 2 * HUGE, RX, "//anon");
	expect(m, PID, 0xa00010, "/tmp/perf-7.map+a00010");
	/* another file */
	assert_int_equal(machine_mmap(m, &r), 0);
	expect(m, PID, 0x403010, "/lib/other.so+10");
	/* another program */
	assert_int_equal(machine_comm(m, PID, PID, "x", true), 0);
	map_anon(m, 0x402000, 0x1000, RX, "//anon");
	expect(m, PID, 0x402010, "/tmp/perf-7.map+402010");
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(program), T(parts), T(library), T(no_copy)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
