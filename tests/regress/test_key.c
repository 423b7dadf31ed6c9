/* test_key.c - names of one function in different builds have one key, those of different ones
 * differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "regress/key.h"

static char *key(const char *name, enum key_kind kind)
{
	struct text t = {0};

	key_function(&t, name, strlen(name), kind);
	text_char(&t, '\0');
	assert_false(t.failed);
	return t.s;
}

static void expect(const char *name, enum key_kind kind, const char *want)
{
	char *k = key(name, kind);

	if (strcmp(k, want))
		fail_msg("%s: %s, not %s", name, k, want);
	free(k);
}

static void test_compilers(void **state)
{
	static const char *const same[] = {"foo",
					   "foo.isra.0",
					   "foo.constprop.12",
					   "foo.part.3.isra.0",
					   "foo.cold",
					   "foo.constprop.0.cold",
					   "foo.lto_priv.7",
					   "foo.llvm.12345678901234567890",
					   "foo.__uniq.1234.llvm.99",
					   "foo [clone .isra.0]",
					   "foo@plt",
					   "foo@@VER_1.2",
					   "foo [+3]"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof same / sizeof *same; i++)
		expect(same[i], KEY_USER, "foo");
	/* Go's names have dots. */
	expect("runtime.mallocgc", KEY_USER, "runtime.mallocgc");
	expect("runtime.part", KEY_USER, "runtime.part");
	expect("main.(*T).Hot", KEY_USER, "main.(*T).Hot");
	expect("main.run.func1.2", KEY_USER, "main.run.func");
}

static void test_javascript(void **state)
{
	static const char *const same[] = {
		"JS:*count file:///home/a/app.js:12:3",
		"JS:~count /app/app.js:13:1",
		"JS:count /other/@scope/app.js:12",
		"JS:^count app.js:1:2",
		"JS:+count app.js",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof same / sizeof *same; i++) {
		expect(same[i], KEY_JIT, "JS:count app.js");
		expect(same[i], KEY_USER, "JS:count app.js"); /* of folded stacks */
	}
	expect("LazyCompile:*get size /a b/c.js:1:2", KEY_JIT, "LazyCompile:get size c.js");
	expect("JS:~ node:internal/main/run_main_module:1:1", KEY_JIT, "JS: run_main_module");
	expect("JS:*f /app/node_modules/left/index.js:1:2", KEY_JIT, "JS:f left/index.js");
	expect("JS:*count", KEY_JIT, "JS:count");
	expect("JS:", KEY_JIT, "JS:");
	expect("Script:~ /app/app.js:1:1", KEY_JIT, "Script: app.js");
}

static void test_languages(void **state)
{
	(void)state;
	expect("ns::f(int, std::vector<int>)", KEY_USER, "ns::f");
	expect("ns::g<int>(int)", KEY_USER, "ns::g<int>");
	expect("(anonymous namespace)::h()", KEY_USER, "(anonymous namespace)::h");
	expect("f[abi:cxx11]()", KEY_USER, "f");
	expect("f()::{lambda(int)#2}::operator()(int) const", KEY_USER,
	       "f::{lambda(int)}::operator()");
	expect("krate::f::h0123456789abcdef", KEY_USER, "krate::f");
	expect("krate[0123456789abcdef]::f", KEY_USER, "krate::f");
	expect("krate::f::{closure#1}", KEY_USER, "krate::f::{closure}");
	expect("f()::{lambda(int)@12:5}::operator()(int) const", KEY_USER,
	       "f::{lambda(int)}::operator()");
	expect("main::$_0::operator()() const", KEY_USER, "main::{lambda}::operator()");
	expect("__memmove_avx512_unaligned_erms", KEY_USER, "__memmove");
	expect("__memcmp_evex_movbe", KEY_USER, "__memcmp");
	expect("__strlen_avx2", KEY_USER, "__strlen");
	expect("__sin_fma", KEY_USER, "__sin");
	expect("my_avx2", KEY_USER, "my_avx2");
	expect("LazyCompile:*fib /a.js:3", KEY_JIT, "LazyCompile:fib a.js");
	expect("Lambda$14/0x7f12ab", KEY_JIT, "Lambda$14/0x");
	expect("__x64_sys_read", KEY_KERNEL, "sys_read");
	expect("__do_sys_clone", KEY_KERNEL, "sys_clone");
	expect("vfs_read", KEY_KERNEL, "vfs_read");
}

static void test_modules(void **state)
{
	static const char *const rows[][2] = {{"/usr/lib/libfoo.so.1.2.3", "[libfoo.so]"},
					      {"/opt/a/libfoo.so", "[libfoo.so]"},
					      {"/home/x/app", "[app]"},
					      {"[vdso]", "[vdso]"},
					      {"/tmp/perf-2838.map", "[perf.map]"},
					      {"[perf-11.map]", "[perf.map]"},
					      {"/home/x/perf-1a.map", "[perf-1a.map]"},
					      {"/home/x/perf-.map", "[perf-.map]"},
					      {"libsource.c", "[libsource.c]"}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct text t = {0};

		key_module(&t, rows[i][0], strlen(rows[i][0]));
		text_char(&t, '\0');
		assert_string_equal(t.s, rows[i][1]);
		text_done(&t);
	}
	assert_true(key_is_async("finish_task_switch", 18));
	assert_false(key_is_async("vfs_read", 8));
}

static void test_entries(void **state)
{
	static const struct {
		const char *name;
		enum key_entry entry;
	} rows[] = {
		{"asm_sysvec_apic_timer_interrupt", ENTRY_INTERRUPT},
		{"asm_common_interrupt", ENTRY_INTERRUPT},
		{"__irq_exit_rcu", ENTRY_INTERRUPT},
		{"rcu_core", ENTRY_INTERRUPT},
		{"rcu_core_other", ENTRY_NONE},
		{"common_interrupt_return", ENTRY_NONE}, /* of system calls, too */
		{"handle_softirqs", ENTRY_NONE},	 /* either */
		{"entry_SYSCALL_64_after_hwframe", ENTRY_PROGRAM},
		{"do_syscall_64", ENTRY_PROGRAM},
		{"asm_exc_page_fault", ENTRY_PROGRAM},
		{"task_work_run", ENTRY_PROGRAM},
		{"___free_pages", ENTRY_NONE},
		{"", ENTRY_NONE},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(key_entry(rows[i].name, strlen(rows[i].name)), rows[i].entry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compilers), cmocka_unit_test(test_javascript),
		cmocka_unit_test(test_languages), cmocka_unit_test(test_modules),
		cmocka_unit_test(test_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
