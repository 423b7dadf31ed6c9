/* test_jit_ahead.c - frames of code of which only the bytes are known, by jit_ahead_find(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "functions/functions.h"
#include "unwind/jit_ahead.h"

enum { START = 0x10000 };

static uint8_t page[JIT_PAGE_BYTES];

/* The frame at code + at. */
static bool find(const char *code, size_t n, size_t at, struct jit_ahead_frame *ret)
{
	static const uint64_t replaced[JIT_PAGE_BYTES / 64];
	const struct jit_memory m = {
		.start = START, .n = JIT_PAGE_BYTES, .bytes = page, .replaced = replaced};

	memset(page, 0xcc, sizeof page);
	memcpy(page, code, n);
	return jit_ahead_find(NULL, &arch_x86_64, &m, START + at, ret);
}

/* As Mono compiles what calls virtual functions; which one it calls no recording has. */
static const char calls[] = "\x48\x83\xec\x38"	    /* sub $0x38, %rsp */
			    "\x48\x89\x1c\x24"	    /* mov %rbx, (%rsp) */
			    "\xff\x50\x18"	    /* call *0x18(%rax) */
			    "\x48\x8b\x1c\x24"	    /* mov (%rsp), %rbx */
			    "\x48\x83\xc4\x38\xc3"; /* add $0x38, %rsp; ret */

static void test_entry(void **state)
{
	struct jit_ahead_frame f;

	(void)state;
	assert_true(find(calls, sizeof calls - 1, 0, &f));
	assert_int_equal(f.frame.sp, 8);
	assert_int_equal(f.frame.fp_holds, CODE_FP_CALLER);
	assert_true(f.is_entry);
}

static void test_behind_call(void **state)
{
	struct jit_ahead_frame f;

	(void)state;
	assert_true(find(calls, sizeof calls - 1, 11, &f));
	assert_int_equal(f.frame.sp, 0x40);
	assert_false(f.is_entry);
}

/* A call that may not return, and another function behind it: what is on the stack before the call
 * is not known, and behind it no entry. */
static void test_before_another(void **state)
{
	char code[64] = "\xff\x50\x18"; /* call *0x18(%rax) */
	struct jit_ahead_frame f;

	(void)state;
	memcpy(code + 3, calls, sizeof calls - 1);
	assert_false(find(code, 3 + sizeof calls - 1, 0, &f));
	assert_true(find(code, 3 + sizeof calls - 1, 3, &f));
	assert_true(f.is_entry);
}

/* Both ways out of a function, before and behind a call. */
static void test_early_return(void **state)
{
	static const char code[] = "\x85\xff\x74\x14"; /* test %edi, %edi; je to the last return */
	char all[64];
	struct jit_ahead_frame f;

	(void)state;
	memcpy(all, code, 4);
	memcpy(all + 4, calls, sizeof calls - 1);
	memcpy(all + 4 + sizeof calls - 1, "\xc3", 1);
	assert_true(find(all, 4 + sizeof calls, 0, &f));
	assert_int_equal(f.frame.sp, 8);
	assert_false(f.is_entry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entry), cmocka_unit_test(test_behind_call),
		cmocka_unit_test(test_before_another), cmocka_unit_test(test_early_return)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
