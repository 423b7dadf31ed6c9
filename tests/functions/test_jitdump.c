/* test_jitdump.c - jitdump files written here: versions in time, moves, lines, both byte orders,
 * damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "functions/jitdump.h"
#include "tests/functions/jitdump_file.h"
#include "tests/random.h"

/* A jitdump in memory. */
struct image {
	uint8_t bytes[1 << 16];
	size_t n;
	bool swap;
};

static void put(struct image *m, uint64_t v, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		m->bytes[m->n + (m->swap ? size - 1 - i : i)] = (uint8_t)(v >> 8 * i);
	m->n += size;
}

static void put_text(struct image *m, const char *s)
{
	memcpy(m->bytes + m->n, s, strlen(s) + 1);
	m->n += strlen(s) + 1;
}

static void put_header(struct image *m, uint64_t flags)
{
	put(m, 0x4a695444, 4);
	put(m, 1, 4);
	put(m, 40, 4);
	put(m, 62, 4);
	put(m, 0, 4);
	put(m, 1234, 4);
	put(m, 1, 8);
	put(m, flags, 8);
}

static size_t begin(struct image *m, uint32_t id, uint64_t time)
{
	size_t at = m->n;

	put(m, id, 4);
	put(m, 0, 4);
	put(m, time, 8);
	return at;
}

static void end(struct image *m, size_t at)
{
	size_t n = m->n;

	m->n = at + 4;
	put(m, n - at, 4);
	m->n = n;
}

static void put_load(struct image *m, uint64_t time, uint64_t addr, uint64_t size, const char *name)
{
	size_t at = begin(m, 0, time);

	put(m, 1234, 4);
	put(m, 1234, 4);
	put(m, addr, 8);
	put(m, addr, 8);
	put(m, size, 8);
	put(m, m->n, 8);
	put_text(m, name);
	memset(m->bytes + m->n, name[0], size); /* the code */
	m->n += size;
	end(m, at);
}

static void put_move(struct image *m, uint64_t time, uint64_t from, uint64_t to, uint64_t size)
{
	size_t at = begin(m, 1, time);

	put(m, 1234, 4);
	put(m, 1234, 4);
	put(m, to, 8);
	put(m, from, 8);
	put(m, to, 8);
	put(m, size, 8);
	put(m, 0, 8);
	end(m, at);
}

static void put_line(struct image *m, uint64_t addr, uint32_t line, const char *file)
{
	put(m, addr, 8);
	put(m, line, 4);
	put(m, 0, 4);
	put_text(m, file);
}

static void put_lines(struct image *m, uint64_t addr)
{
	size_t at = begin(m, 2, 5);

	put(m, addr, 8);
	put(m, 4, 8);
	put_line(m, addr, 10, "a.js");
	put_line(m, addr + 8, 12, "\xff"); /* the same file */
	put_line(m, addr + 12, 3, "b.js");
	put_line(m, addr + 4, 11, "a.js"); /* out of order */
	end(m, at);
}

/* foo at 0x1000 with lines; bar over its second half later; foo moved to 0x9000. */
/* .eh_frame of 8 bytes, .eh_frame_hdr of 4; what is in them is nothing to this reader. */
static void put_unwinding(struct image *m, uint64_t time, const char *eh_frame, uint64_t size)
{
	size_t at = begin(m, 4, time);

	put(m, size, 8);
	put(m, 4, 8);
	put(m, 0, 8);
	memcpy(m->bytes + m->n, eh_frame, 8);
	m->n += 12;
	end(m, at);
}

static void make(struct image *m, bool swap, uint64_t flags)
{
	size_t at;

	memset(m, 0, sizeof *m);
	m->swap = swap;
	put_header(m, flags);
	put_lines(m, 0x1000);
	put_unwinding(m, 90, "eh_frame", 12);
	put_load(m, 100, 0x1000, 32, "foo");
	at = begin(m, 4, 110); /* too short */
	put(m, 0, 8);
	end(m, at);
	put_load(m, 200, 0x1010, 32, "bar");
	at = begin(m, 77, 250); /* a record of the future */
	put(m, 0, 8);
	end(m, at);
	put_move(m, 300, 0x1000, 0x9000, 32);
	put_load(m, 290, 0x5000, 16, "late");  /* not in order of time */
	put_unwinding(m, 390, "not here", 13); /* more than there is */
	put_load(m, 400, 0x1000, 64, "baz");
	at = begin(m, 3, 500); /* close */
	end(m, at);
}

/* Through a file in memory: thousands of them on a disk take seconds. */
static int read_image(struct jitdump *j, const struct image *m)
{
	int fd = memfd_create("jitdump", 0), rc;
	char path[64];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, m->bytes, m->n), m->n);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	memset(j, 0, sizeof *j);
	rc = jitdump_read(j, path, NULL);
	close(fd);
	return rc;
}

static const char *name_at(const struct jitdump *j, uint64_t ip, uint64_t time)
{
	struct func_cursor c = {0};
	const struct func *f = jitdump_find(j, ip, time, &c);

	return f ? f->name : "";
}

static void check_line(const struct jitdump *j, uint64_t ip, uint64_t time, const char *file,
		       uint32_t line)
{
	struct func_cursor c = {0};
	const struct func *f = jitdump_find(j, ip, time, &c);
	const char *got = NULL;
	uint32_t n = 0;

	assert_non_null(f);
	assert_true(jitdump_line(j, f, ip, &got, &n));
	assert_string_equal(got, file);
	assert_int_equal(n, line);
}

static bool has_line(const struct jitdump *j, const struct func *f, uint64_t ip)
{
	const char *file;
	uint32_t line;

	return jitdump_line(j, f, ip, &file, &line);
}

static void versions_moves_lines(void **unused)
{
	static struct image m;
	int swap;

	(void)unused;
	for (swap = 0; swap < 2; swap++) {
		struct func_cursor c = {0};
		struct jitdump j;

		make(&m, swap, 0);
		assert_int_equal(read_image(&j, &m), 0);
		assert_string_equal(name_at(&j, 0x1000, 150), "foo");
		assert_string_equal(name_at(&j, 0x1018, 150), "foo");
		assert_string_equal(name_at(&j, 0x1018, 200), "bar");
		assert_string_equal(name_at(&j, 0x1018, 399), "bar");
		assert_string_equal(name_at(&j, 0x1018, 400), "baz");
		assert_string_equal(name_at(&j, 0x1018, 0), "baz"); /* no time: the last */
		assert_string_equal(name_at(&j, 0x1000, 1),
				    "foo"); /* before all: the first that came */
		assert_string_equal(name_at(&j, 0x9001, 0), "foo");
		assert_string_equal(name_at(&j, 0x9020, 0), "");
		assert_string_equal(name_at(&j, 0x5000, 0), "late");
		assert_string_equal(name_at(&j, 0x5000, 300), "late");
		check_line(&j, 0x1000, 150, "a.js", 10);
		check_line(&j, 0x1007, 150, "a.js", 11);
		check_line(&j, 0x1008, 150, "a.js", 12);
		check_line(&j, 0x101f, 150, "b.js", 3);
		check_line(&j, 0x9005, 0, "a.js", 11); /* lines move along */
		assert_false(has_line(&j, jitdump_find(&j, 0x1018, 200, &c), 0x1018));
		jitdump_done(&j);
	}
}

/* Call frame information belongs to the function of the next record, also where that moves; so
 * does its code. */
static void unwinding_info(void **unused)
{
	static const char foo[] = "ffffffffffffffffffffffffffffffff";
	static struct image m;
	int swap;

	(void)unused;
	for (swap = 0; swap < 2; swap++) {
		struct jit_unwind_info info;
		struct jitdump j;

		make(&m, swap, 0);
		assert_int_equal(read_image(&j, &m), 0);
		assert_true(jitdump_unwind_info(&j, 0x1018, 150, &info));
		assert_int_equal(info.start, 0x1000);
		assert_int_equal(info.end, 0x1020);
		assert_int_equal(info.size, 8);
		assert_memory_equal(info.eh_frame, "eh_frame", 8);
		assert_int_equal(info.swap, swap);
		assert_memory_equal(info.code, foo, 32);
		assert_true(jitdump_unwind_info(&j, 0x9001, 0, &info));
		assert_int_equal(info.start, 0x9000);
		assert_memory_equal(info.eh_frame, "eh_frame", 8);
		assert_memory_equal(info.code, foo, 32);
		assert_true(jitdump_unwind_info(&j, 0x1018, 200, &info)); /* "bar" by then */
		assert_int_equal(info.size, 0);
		assert_int_equal(info.start, 0x1010);
		assert_true(info.code[0] == 'b' && info.code[31] == 'b');
		assert_true(jitdump_unwind_info(&j, 0x1018, 0, &info)); /* then "baz" */
		assert_int_equal(info.size, 0);
		assert_true(info.code[0] == 'b' && info.code[63] == 'b');
		assert_true(jitdump_unwind_info(&j, 0x5000, 0, &info));
		assert_int_equal(info.size, 0);
		assert_true(info.code[0] == 'l');
		assert_false(jitdump_unwind_info(&j, 0x7000, 0, &info));
		jitdump_done(&j);
	}
}

/* Of code that is not all in its record, or of which a move says that there is more, or less. */
static void code_that_is_not_there(void **unused)
{
	static struct image m;
	struct jit_unwind_info info;
	struct jitdump j;
	size_t at;

	(void)unused;
	memset(&m, 0, sizeof m);
	put_header(&m, 0);
	put_load(&m, 100, 0x1000, 32, "foo");
	at = m.n;
	put_load(&m, 200, 0x2000, 32, "bar");
	m.n--;
	end(&m, at);
	put_move(&m, 300, 0x1000, 0x9000, 33);
	put_move(&m, 300, 0x1000, 0xa000, 31);
	put_move(&m, 300, 0x1000, 0xb000, 32);
	assert_int_equal(read_image(&j, &m), 0);
	assert_true(jitdump_unwind_info(&j, 0x1000, 0, &info));
	assert_false(jitdump_unwind_info(&j, 0x2000, 0, &info));
	assert_false(jitdump_unwind_info(&j, 0x9000, 0, &info));
	assert_false(jitdump_unwind_info(&j, 0xa000, 0, &info));
	assert_true(jitdump_unwind_info(&j, 0xb000, 0, &info));
	jitdump_done(&j);
}

/* The answer is the same for all versions of a span, and another one behind it. */
static void spans_of_versions(void **unused)
{
	static const uint64_t ips[] = {0x1000, 0x1018, 0x1028, 0x1030, 0x9000, 0x5000, 0x7000};
	static const uint64_t times[] = {0, 99, 100, 200, 300, 301, 400};
	static struct image m;
	struct jitdump j;
	size_t i;
	uint32_t v, last;

	(void)unused;
	make(&m, false, 0);
	assert_int_equal(read_image(&j, &m), 0);
	last = jitdump_version(&j, UINT64_MAX);
	assert_int_equal(last, 1 + 5);
	assert_int_equal(jitdump_version(&j, 99), 1);
	for (i = 0; i < sizeof ips / sizeof *ips; i++)
		for (v = 1; v <= last; v++) {
			struct jit_span s = jitdump_span(&j, ips[i], v);

			assert_true(v >= s.from && v < s.until);
			if (s.until <= last)
				assert_true(jitdump_span(&j, ips[i], s.until).made_ns > s.made_ns);
			/* only where code was replaced */
			assert_int_equal(s.made_ns != 0, ips[i] < 0x1040);
			assert_string_equal(name_at(&j, ips[i], s.made_ns),
					    name_at(&j, ips[i], times[v]));
		}
	jitdump_done(&j);
}

/* Code without a name that was replaced at once says that nothing is known of what was there
 * before.
 */
static void replaced_at_the_same_time(void **unused)
{
	static struct image m;
	struct jit_span s;
	struct jitdump j;

	(void)unused;
	memset(&m, 0, sizeof m);
	put_header(&m, 0);
	put_load(&m, 100, 0x1000, 32, "");
	put_load(&m, 100, 0x1000, 32, "foo");
	put_load(&m, 90, 0x2000, 32, ""); /* counts as of 100, too */
	put_load(&m, 95, 0x2000, 32, "bar");
	assert_int_equal(read_image(&j, &m), 0);
	for (uint64_t ip = 0x1010; ip < 0x3000; ip += 0x1000) {
		s = jitdump_span(&j, ip, jitdump_version(&j, 99));
		assert_string_equal(name_at(&j, ip, s.made_ns), "");
		s = jitdump_span(&j, ip, jitdump_version(&j, 100));
		assert_string_equal(name_at(&j, ip, s.made_ns), ip < 0x2000 ? "foo" : "bar");
	}
	jitdump_done(&j);
}

static void processor_clocks_are_no_times(void **unused)
{
	static struct image m;
	struct jitdump j;

	(void)unused;
	make(&m, false, 1);
	assert_int_equal(read_image(&j, &m), 0);
	assert_string_equal(name_at(&j, 0x1018, 150), "baz");
	jitdump_done(&j);
}

/* V8 adds the size of an ELF header to the addresses of lines, and 18.x writes garbage for some
 * functions. */
static void lines_of_v8(void **unused)
{
	static struct image m;
	struct func_cursor c = {0};
	struct jitdump j;
	size_t at;

	(void)unused;
	memset(&m, 0, sizeof m);
	put_header(&m, 0);
	memcpy(m.bytes + 16, "\xef\xbe\xad\xde", 4); /* pad1 */
	at = begin(&m, 2, 5);
	put(&m, 0x1000, 8);
	put(&m, 1, 8);
	put_line(&m, 0x1040, 7, "v8.js");
	end(&m, at);
	put_load(&m, 6, 0x1000, 16, "good");
	at = begin(&m, 2, 7);
	put(&m, 0x2000, 8);
	put(&m, 2, 8);
	put_line(&m, 0x2040, 7, "v8.js");
	put_line(&m, 0x7777777777, 999999, "garbage");
	end(&m, at);
	put_load(&m, 8, 0x2000, 16, "bad");
	assert_int_equal(read_image(&j, &m), 0);
	check_line(&j, 0x1000, 0, "v8.js", 7);
	assert_false(has_line(&j, jitdump_find(&j, 0x2000, 0, &c), 0x2000));
	jitdump_done(&j);
}

static void cut_anywhere(void **unused)
{
	static struct image m;
	struct jitdump j;
	size_t whole, names = 0;

	(void)unused;
	make(&m, false, 0);
	whole = m.n;
	for (m.n = 0; m.n <= whole; m.n++) {
		int rc = read_image(&j, &m);

		assert_true(rc == 0 || rc == -ERR_FORMAT);
		assert_true(j.tab.funcs.n >= names); /* what was whole stays */
		names = j.tab.funcs.n;
		jitdump_done(&j);
	}
	assert_int_equal(names, 5);
}

static void damaged(void **unused)
{
	static struct image good, m;
	uint64_t state = 77;
	unsigned round, i;

	(void)unused;
	make(&good, false, 0);
	for (round = 0; round < 4000; round++) {
		struct jitdump j;
		uint64_t ip;

		m = good;
		for (i = 0; i <= round % 4; i++) {
			static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0x10};

			next_random(&state);
			m.bytes[state % m.n] = values[(state >> 32) % sizeof values];
		}
		(void)read_image(&j, &m);
		for (ip = 0xff8; ip < 0x1048 && j.tab.groups.n; ip += 8) {
			struct func_cursor c = {0};
			const struct func *f = jitdump_find(&j, ip, round % 500, &c);

			if (f)
				(void)has_line(&j, f, ip);
		}
		jitdump_done(&j);
	}
}

static void refused_files(void **unused)
{
	struct jitdump j = {0};

	(void)unused;
	assert_int_equal(jitdump_read(&j, "no-such-file", NULL), -ERR_NOT_FOUND);
	assert_int_equal(jitdump_read(&j, "/dev/zero", NULL), -ERR_UNSUPPORTED);
	assert_int_equal(jitdump_read(&j, "/proc/self/exe", NULL), -ERR_FORMAT);
	remove("fifo");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(jitdump_read(&j, "fifo", NULL), -ERR_UNSUPPORTED);
	jitdump_done(&j);
}

static void file_names(void **unused)
{
	static const struct {
		const char *path;
		uint32_t pid;
	} rows[] = {{"/tmp/jit-12.dump", 12},
		    {"jit-4294967295.dump", UINT32_MAX},
		    {"/home/u/.debug/jit/java-jit-20250101/jit-7.dump", 7},
		    {"jit-4294967296.dump", 0},
		    {"jit-.dump", 0},
		    {"jit--1.dump", 0},
		    {"jit-1.dump.old", 0},
		    {"xjit-1.dump", 0},
		    {"/jit-1.dump/lib.so", 0},
		    {"", 0}};
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint32_t pid = 0;

		assert_int_equal(jitdump_pid(rows[i].path, &pid), rows[i].pid != 0);
		assert_int_equal(pid, rows[i].pid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_moves_lines),
		cmocka_unit_test(unwinding_info),
		cmocka_unit_test(code_that_is_not_there),
		cmocka_unit_test(spans_of_versions),
		cmocka_unit_test(replaced_at_the_same_time),
		cmocka_unit_test(processor_clocks_are_no_times),
		cmocka_unit_test(lines_of_v8),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(damaged),
		cmocka_unit_test(refused_files),
		cmocka_unit_test(file_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
