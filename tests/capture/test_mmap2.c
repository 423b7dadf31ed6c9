/* test_mmap2.c - what MMAP2 records say, and what damaged ones do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "capture/mmap2.h"

/* perf_event.h, PERF_RECORD_MMAP2, with a name of 16 bytes. */
struct record {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, generation;
		};
		struct {
			uint8_t size, zero[3], id[20];
		};
	};
	uint32_t prot, flags;
	char path[16];
};

static struct record of_file(void)
{
	return (struct record){
		.h = {PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, sizeof(struct record)},
		.pid = 7,
		.tid = 8,
		.addr = 0x1000,
		.len = 0x3000,
		.pgoff = 0x2000,
		.maj = 254,
		.min = 3,
		.ino = 99,
		.generation = 0x12345678,
		.prot = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE,
		.path = "/bin/true",
	};
}

static bool parse(const struct record *r, struct mmap2 *m)
{
	return mmap2_parse((const uint8_t *)r, sizeof *r, m);
}

static void file(void **state)
{
	const struct record r = of_file();
	struct mmap2 m;

	(void)state;
	assert_true(parse(&r, &m));
	assert_int_equal(m.pid, 7);
	assert_int_equal(m.tid, 8);
	assert_int_equal(m.start, 0x1000);
	assert_int_equal(m.bytes, 0x3000);
	assert_int_equal(m.pgoff, 0x2000);
	assert_int_equal(m.maj, 254);
	assert_int_equal(m.min, 3);
	assert_int_equal(m.ino, 99);
	assert_int_equal(m.ino_generation, 0x12345678);
	assert_false(m.has_build_id);
	assert_false(mmap2_is_data(&m));
	assert_int_equal(m.prot, PROT_READ | PROT_EXEC);
	assert_int_equal(m.flags, MAP_PRIVATE);
	assert_string_equal(m.path, "/bin/true");
}

static void build_id(void **state)
{
	struct record r = of_file();
	struct mmap2 m;

	(void)state;
	r.h.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	/* Linux 6.18 sets the flag over device and inode: the zeros of a build id are not there. */
	assert_true(parse(&r, &m));
	assert_false(m.has_build_id);
	assert_int_equal(m.ino, 99);
	r.size = 20;
	memset(r.zero, 0, sizeof r.zero);
	memset(r.id, 0xab, sizeof r.id);
	assert_true(parse(&r, &m));
	assert_true(m.has_build_id);
	assert_int_equal(m.ino, 0);
	assert_int_equal(m.ino_generation, 0);
	/* Of 16 bytes only if zeros follow. */
	r.size = 16;
	assert_true(parse(&r, &m));
	assert_false(m.has_build_id);
	memset(r.id + 16, 0, 4);
	assert_true(parse(&r, &m));
	assert_true(m.has_build_id);
}

static void damaged(void **state)
{
	struct record r = of_file();
	struct mmap2 m = {.pid = 1};
	size_t n;

	(void)state;
	/* All cuts before the end of the name. */
	for (n = 0; n < offsetof(struct record, path) + sizeof "/bin/true"; n++)
		assert_false(mmap2_parse((const uint8_t *)&r, n, &m));
	assert_true(mmap2_parse((const uint8_t *)&r, n, &m));
	memset(r.path, 'x', sizeof r.path);
	assert_false(parse(&r, &m));
	r = of_file();
	r.h.type = PERF_RECORD_MMAP;
	m = (struct mmap2){.pid = 1};
	assert_false(parse(&r, &m));
	assert_int_equal(m.pid, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file),
		cmocka_unit_test(build_id),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
