/* What code_log writes is what functions/ reads, also after damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

#include "functions/functions.h"
#include "runtimes/runtimes.h"

enum { PID = 42, START = 0x10000, BYTECODE = 0x500000, METHOD = 0x400008 };

static void fill(struct code_log *log)
{
	static const uint8_t code[64] = {0x55, 0x48, 0x83, 0xec, 0x10, 0xc3};
	static const struct code_log_method methods[] = {{"LA;outer()V", "A.java"},
							 {"LA;inner()V", NULL}};
	static const struct code_log_scope scopes[] = {{0, 0, 10}, {1, 1, 20}};
	static const struct code_log_pc pcs[] = {{16, 0}, {40, 1}};
	static const struct code_log_line lines[] = {{BYTECODE, 5}, {BYTECODE + 4, 6}};
	const struct code_log_inlined in = {methods, scopes, pcs, 2, 2, 2};
	const struct code_log_frame frame = {JIT_FRAME_COMPILED, 32, 5, 0};
	const struct code_log_frame bytecode = {JIT_FRAME_BYTECODE, 0, 0, METHOD};

	code_log_begin(log, PID, 100);
	code_log_add(log, 200,
		     &(struct code_log_piece){.start = START,
					      .size = sizeof code,
					      .name = "LA;outer()V",
					      .code = code,
					      .frame = &frame,
					      .inlined = &in});
	code_log_add(log, 300,
		     &(struct code_log_piece){.start = BYTECODE,
					      .size = 8,
					      .name = "LA;slow()V",
					      .frame = &bytecode,
					      .lines = lines,
					      .n_lines = 2,
					      .file = "A.java"});
	code_log_add_bytes(log, 400, 0x7000, code, sizeof code); /* no whole page: not used */
	assert_false(log->failed);
}

/* The section of a recording with these bytes as what it holds of the process; the caller frees it.
 */
static uint8_t *section_of(const uint8_t *bytes, size_t n, size_t *size)
{
	size_t room = ZSTD_compressBound(n), packed;
	uint8_t *s = malloc(32 + room);
	const uint32_t head[4] = {RUNTIME_CODE_MAGIC, RUNTIME_CODE_VERSION, PID, 0};
	uint64_t sizes[2] = {n};

	assert_non_null(s);
	packed = ZSTD_compress(s + 32, room, bytes, n, 1);
	assert_false(ZSTD_isError(packed));
	sizes[1] = packed;
	memcpy(s, head, sizeof head);
	memcpy(s + 16, sizes, sizeof sizes);
	*size = 32 + packed;
	return s;
}

static void test_round_trip(void **state)
{
	struct code_log log;
	struct func_cursor cursor = {0};
	struct jit_unwind_info info;
	struct jit_level levels[4];
	struct jit_codes *codes;
	const struct jitdump *d;
	const struct func *f;
	const char *file;
	uint64_t start, end;
	uint32_t line;
	size_t n;
	uint8_t *s;

	(void)state;
	fill(&log);
	s = section_of(log.bytes.v, log.bytes.n, &n);
	assert_int_equal(jit_codes_new(&codes, NULL, true, NULL), 0);
	assert_int_equal(jit_codes_give(codes, s, n, NULL), 0);
	assert_int_equal(jit_codes_recorded(codes, PID + 1, &d, NULL), 0);
	assert_null(d);
	assert_int_equal(jit_codes_recorded(codes, PID, &d, NULL), 0);
	assert_non_null(d);

	f = jitdump_find(d, START + 17, 0, &cursor);
	assert_non_null(f);
	assert_string_equal(f->name, "LA;outer()V");
	assert_true(jitdump_unwind_info(d, START + 17, 0, &info));
	assert_int_equal(info.frame_kind, JIT_FRAME_COMPILED);
	assert_int_equal(info.frame_bytes, 32);
	assert_int_equal(info.complete_bytes, 5);
	assert_int_equal(info.code[0], 0x55);
	/* up to and with offset 16 the outer method alone; then the inner one; nothing behind 40 */
	assert_int_equal(jitdump_chain(d, f, START + 16, levels, 4), 1);
	assert_int_equal(levels[0].line, 10);
	assert_int_equal(jitdump_chain(d, f, START + 17, levels, 4), 2);
	assert_string_equal(levels[0].name, "LA;inner()V");
	assert_string_equal(levels[0].file, "");
	assert_int_equal(levels[0].line, 20);
	assert_string_equal(levels[1].file, "A.java");
	assert_int_equal(jitdump_chain(d, f, START + 41, levels, 4), 0);

	assert_true(jitdump_bytecode(d, METHOD, 0, &start, &end));
	assert_int_equal(start, BYTECODE);
	assert_int_equal(end, BYTECODE + 8);
	assert_false(jitdump_bytecode(d, METHOD + 8, 0, &start, &end));
	f = jitdump_find(d, BYTECODE + 5, 0, &cursor);
	assert_non_null(f);
	assert_true(jitdump_line(d, f, BYTECODE + 5, &file, &line));
	assert_string_equal(file, "A.java");
	assert_int_equal(line, 6);
	jit_codes_free(codes);
	free(s);
	code_log_done(&log);
}

static const struct jitdump *pages_of(const struct code_log *log, struct jit_codes **codes,
				      uint8_t **section)
{
	const struct jitdump *d;
	size_t n;

	assert_false(log->failed);
	*section = section_of(log->bytes.v, log->bytes.n, &n);
	assert_int_equal(jit_codes_new(codes, NULL, true, NULL), 0);
	assert_int_equal(jit_codes_give(*codes, *section, n, NULL), 0);
	assert_int_equal(jit_codes_recorded(*codes, PID, &d, NULL), 0);
	assert_non_null(d);
	return d;
}

/* Pages become one piece without gaps, whatever order they came in. Of a page that came again the
 * code is known that was only added, or given other targets of jumps; not what was replaced. */
static void test_pages(void **state)
{
	static uint8_t page[4 * JIT_PAGE_BYTES];
	uint8_t *section, *const last = page + 2 * JIT_PAGE_BYTES;
	struct jit_codes *codes;
	const struct jitdump *d;
	struct jit_memory m;
	struct code_log log;

	(void)state;
	for (size_t i = 0; i < sizeof page / 2; i++)
		page[i] = (uint8_t)(i * 7 + i / 256);
	code_log_begin(&log, PID, 100);
	code_log_add_bytes(&log, 200, 0x8000, page + JIT_PAGE_BYTES, JIT_PAGE_BYTES);
	code_log_add_bytes(&log, 200, 0x7000, page, JIT_PAGE_BYTES);
	code_log_add_bytes(&log, 200, 0xa000, last, JIT_PAGE_BYTES);
	memcpy(last + 0x400, page, 0x100); /* added */
	memcpy(last + 0x800, page, 0x100);
	memcpy(last + 0xc28, page, 0x40);
	last[0xc26] = 0xfe; /* what was there before that, and is not reached */
	last[0x40f] = 0xe9;
	code_log_add_bytes(&log, 300, 0xa000, last, JIT_PAGE_BYTES);
	last[0x410] ^= 0xff;			   /* another target */
	memcpy(last + 0x800, page + 0x555, 0x100); /* replaced */
	memset(last + 0xc10, 0x33, 0x18);	   /* added beside it */
	code_log_add_bytes(&log, 400, 0xa000, last, JIT_PAGE_BYTES);
	d = pages_of(&log, &codes, &section);
	assert_true(jitdump_has_memory(d));
	assert_false(jitdump_has_functions(d));
	assert_false(jitdump_memory(d, 0x6fff, &m));
	assert_false(jitdump_memory(d, 0x9000, &m));
	assert_true(jitdump_memory(d, 0x8fff, &m));
	assert_int_equal(m.start, 0x7000);
	assert_int_equal(m.n, 2 * JIT_PAGE_BYTES);
	assert_memory_equal(m.bytes, page, 2 * JIT_PAGE_BYTES);
	assert_true(jitdump_memory(d, 0xa410, &m));
	assert_int_equal(m.bytes[0x410], last[0x410]);
	assert_false(jitdump_memory(d, 0xa810, &m));
	assert_true(jitdump_memory(d, 0xa900, &m));
	assert_true(jitdump_memory(d, 0xac10, &m));
	assert_false(jitdump_memory(d, 0xac26, &m));
	assert_true(jitdump_memory(d, 0xac28, &m));
	assert_true(jit_memory_is_sure(&m, 0xac28, 0x40));
	assert_false(jit_memory_is_sure(&m, 0xac20, 0x10));
	assert_false(jit_memory_is_sure(&m, 0xafff, 2));
	jit_codes_free(codes);
	free(section);
	code_log_done(&log);
}

/* Every byte set to 0 and to 0xff, and every length: nothing is read beyond the end, and what is
 * returned fits together (the sanitizers see the rest). */
static void look(const uint8_t *bytes, size_t n)
{
	struct func_cursor cursor = {0};
	struct jit_unwind_info info;
	struct jit_level levels[4];
	struct jit_codes *codes;
	const struct jitdump *d;
	uint64_t start, end;
	size_t size;
	uint8_t *s = section_of(bytes, n, &size);

	assert_int_equal(jit_codes_new(&codes, NULL, true, NULL), 0);
	assert_int_equal(jit_codes_give(codes, s, size, NULL), 0);
	assert_int_equal(jit_codes_recorded(codes, PID, &d, NULL), 0);
	for (uint64_t at = START; d && at < START + 64; at++) {
		const struct func *f = jitdump_find(d, at, 0, &cursor);
		size_t k = f ? jitdump_chain(d, f, at, levels, 4) : 0;

		while (k--)
			assert_non_null(levels[k].name);
		if (jitdump_unwind_info(d, at, 0, &info))
			assert_true(info.frame_kind < JIT_FRAME_KINDS);
	}
	if (d && jitdump_bytecode(d, METHOD, 0, &start, &end))
		assert_true(start <= end);
	jit_codes_free(codes);
	free(s);
}

static void test_damage(void **state)
{
	struct code_log log;

	(void)state;
	fill(&log);
	for (size_t i = 0; i < log.bytes.n; i++) {
		const uint8_t was = log.bytes.v[i];

		look(log.bytes.v, i);
		log.bytes.v[i] = 0;
		look(log.bytes.v, log.bytes.n);
		log.bytes.v[i] = 0xff;
		look(log.bytes.v, log.bytes.n);
		log.bytes.v[i] = was;
	}
	code_log_done(&log);
}

static void test_section_damage(void **state)
{
	struct jit_codes *codes;
	struct code_log log;
	struct err err;
	size_t n;
	uint8_t *s;

	(void)state;
	fill(&log);
	s = section_of(log.bytes.v, log.bytes.n, &n);
	for (size_t cut = 1; cut < n; cut++) {
		const struct jitdump *d;

		assert_int_equal(jit_codes_new(&codes, NULL, true, NULL), 0);
		if (jit_codes_give(codes, s, cut, &err))
			assert_int_equal(err.code, ERR_DAMAGED);
		assert_int_equal(jit_codes_recorded(codes, PID, &d, NULL), 0);
		assert_null(d);
		jit_codes_free(codes);
	}
	s[4] = 9;
	assert_int_equal(jit_codes_new(&codes, NULL, true, NULL), 0);
	assert_int_equal(jit_codes_give(codes, s, n, &err), -ERR_UNSUPPORTED);
	assert_non_null(strstr(err.what, "version 9"));
	jit_codes_free(codes);
	free(s);
	code_log_done(&log);
}

/* What a recorder wrote while it recorded: one jitdump after the other, of which one may be
 * damaged.
 */
static void test_several(void **state)
{
	static const uint8_t later[16] = {0x90};
	enum { LATER = 0x5000 };

	(void)state;
	for (int damaged = 0; damaged < 3; damaged++) {
		struct func_cursor cursor = {0};
		struct code_log log, more;
		struct jit_codes *codes;
		const struct jitdump *d;
		size_t n, n_more;
		uint8_t *s, *t;

		fill(&log);
		code_log_begin(&more, PID, 500);
		code_log_add(&more, 500,
			     &(struct code_log_piece){.start = LATER,
						      .size = sizeof later,
						      .name = "later",
						      .code = later});
		s = section_of(log.bytes.v, log.bytes.n, &n);
		t = section_of(more.bytes.v, more.bytes.n, &n_more);
		if (damaged)
			(damaged == 1 ? s : t)[(damaged == 1 ? n : n_more) - 1] ^= 1;
		assert_int_equal(jit_codes_new(&codes, NULL, true, NULL), 0);
		assert_int_equal(jit_codes_give(codes, s, n, NULL), 0);
		assert_int_equal(jit_codes_give(codes, t, n_more, NULL), 0);
		assert_int_equal(jit_codes_recorded(codes, PID, &d, NULL), 0);
		assert_non_null(d);
		assert_int_equal(!jitdump_find(d, START + 17, 0, &cursor), damaged == 1);
		assert_int_equal(!jitdump_find(d, LATER + 3, 0, &cursor), damaged == 2);
		assert_int_equal(jit_codes_damaged(codes), damaged != 0);
		jit_codes_free(codes);
		free(s);
		free(t);
		code_log_done(&log);
		code_log_done(&more);
	}
}

/* A section of frames that are all of this log, each of another process, from PID on. */
static uint8_t *frames_of(struct code_log *log, size_t frames, size_t *size)
{
	uint8_t *s = NULL;

	*size = 8;
	for (size_t i = 0; i < frames; i++) {
		const uint32_t pid = PID + (uint32_t)i;
		uint8_t *one;
		size_t n;

		memcpy(log->bytes.v + 20, &pid, sizeof pid);
		one = section_of(log->bytes.v, log->bytes.n, &n);
		memcpy(one + 8, &pid, sizeof pid);
		s = realloc(s, *size + n);
		assert_non_null(s);
		memcpy(s, one, 8);
		memcpy(s + *size, one + 8, n - 8);
		*size += n - 8;
		free(one);
	}
	return s;
}

/* Where the i-th begins. */
static uint8_t *frame_at(uint8_t *section, size_t i)
{
	uint8_t *at = section + 8;
	uint64_t packed;

	for (; i; i--) {
		memcpy(&packed, at + 16, sizeof packed);
		at += 24 + packed;
	}
	return at;
}

/* Who has a name, of processes from PID on? A bit for each. */
static unsigned named(struct jit_codes *codes, unsigned n)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < n; i++) {
		struct func_cursor cursor = {0};
		const struct jitdump *d;

		assert_int_equal(jit_codes_recorded(codes, PID + i, &d, NULL), 0);
		if (d && jitdump_find(d, START + 17, 0, &cursor))
			bits |= 1u << i;
	}
	return bits;
}

/* A frame whose size is not what it says is damaged, and no other. */
static void test_sizes(void **state)
{
	struct code_log log;
	size_t n;
	uint8_t *s;

	(void)state;
	fill(&log);
	s = frames_of(&log, 3, &n);
	for (size_t i = 0; i < 7; i++) {
		const uint64_t sizes[] = {0,	     100,	 log.bytes.n - 1, log.bytes.n + 1,
					  200 << 20, 1ull << 40, UINT64_MAX};
		struct jit_codes *codes;

		memcpy(frame_at(s, 1) + 8, &sizes[i], sizeof sizes[i]);
		assert_int_equal(jit_codes_new(&codes, NULL, true, NULL), 0);
		assert_int_equal(jit_codes_give(codes, s, n, NULL), 0);
		assert_int_equal(named(codes, 3), 5);
		assert_int_equal(jit_codes_damaged(codes), 1);
		assert_int_equal(jit_codes_left_out(codes), 0);
		jit_codes_free(codes);
	}
	free(s);
	code_log_done(&log);
}

/* Frames whose records have each other's process: the names of one are no names of the other. */
static void test_other_process(void **state)
{
	const uint32_t second = PID + 1, third = PID + 2;
	struct jit_codes *codes;
	struct code_log log;
	size_t n;
	uint8_t *s;

	(void)state;
	fill(&log);
	s = frames_of(&log, 3, &n);
	memcpy(frame_at(s, 1), &third, sizeof third);
	memcpy(frame_at(s, 2), &second, sizeof second);
	assert_int_equal(jit_codes_new(&codes, NULL, true, NULL), 0);
	assert_int_equal(jit_codes_give(codes, s, n, NULL), 0);
	assert_int_equal(named(codes, 3), 1);
	assert_int_equal(jit_codes_damaged(codes), 2);
	jit_codes_free(codes);
	free(s);
	code_log_done(&log);
}

/* What packs well takes no names of others, however much it is. */
static void test_much(void **state)
{
	enum { LARGE = 6, EACH = 200 << 20 };
	struct jit_codes *codes;
	const struct jitdump *d;
	struct code_log log;
	size_t n;
	uint8_t *s;

	(void)state;
	fill(&log);
	s = frames_of(&log, LARGE + 2, &n);
	for (size_t i = 1; i <= LARGE; i++) {
		const uint64_t bytes = EACH + (uint64_t)i;

		memcpy(frame_at(s, i) + 8, &bytes, sizeof bytes);
	}
	assert_int_equal(jit_codes_new(&codes, NULL, true, NULL), 0);
	assert_int_equal(jit_codes_give(codes, s, n, NULL), 0);
	assert_int_equal(jit_codes_recorded(codes, PID + LARGE, &d, NULL), 0);
	assert_null(d);
	assert_int_equal(jit_codes_damaged(codes), 0); /* not looked at */
	assert_int_equal(jit_codes_left_out(codes), 1);
	assert_int_equal(named(codes, LARGE + 2), 1 | 1 << (LARGE + 1));
	jit_codes_free(codes);
	free(s);
	code_log_done(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_pages),
		cmocka_unit_test(test_damage),	   cmocka_unit_test(test_section_damage),
		cmocka_unit_test(test_several),	   cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_much),	   cmocka_unit_test(test_other_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
