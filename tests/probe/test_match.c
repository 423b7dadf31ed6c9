/* test_match.c - patterns and names. The mangled names are those that g++ 12, rustc and Go 1.19
 * wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "probe/match.h"
#include "probe/places.h"
#include "probe/probe.h"

static bool means(const char *text, const char *symbol)
{
	struct pattern p;
	bool is;

	pattern_init(&p, text, strlen(text));
	is = pattern_matches(&p, symbol);
	pattern_done(&p);
	return is;
}

static bool means_last_part(const char *text, const char *symbol)
{
	struct pattern p;
	bool is;

	pattern_init(&p, text, strlen(text));
	p.last_part = true;
	is = pattern_matches(&p, symbol);
	pattern_done(&p);
	return is;
}

static bool means_laxly(const char *text, const char *symbol)
{
	struct pattern p;
	bool is;

	pattern_init(&p, text, strlen(text));
	p.is_lax = true;
	is = pattern_matches(&p, symbol);
	pattern_done(&p);
	return is;
}

/* Lists of template arguments: spaces, and what is left out. */
static void templates(void **unused)
{
	static const char
		f_long[] = "_ZN1AIiLi5EE1fIlEET_S2_", /* long A<int, 5>::f<long>(long) */
		g[] = "_ZN1AIiLi5EE1gEi", st[] = "_ZN1AIiLi5EE2stEPKci",
		add[] = "_ZN2ns3addIiEET_S1_S1_", less[] = "_ZNK2ns1BltERKS0_",
		vec[] = "_ZN2ns3vecERKSt6vectorIiSaIiEEPSt3mapINSt7__cxx1112basic_stringIcSt11char_"
			"traitsIcESaIcEEEmSt4lessIS9_ESaISt4pairIKS9_mEEE";
	static const struct {
		const char *text, *symbol;
		bool is, is_laxly;
	} rows[] = {
		{"A<int,5>::f", f_long, true, true},
		{"A<int, 5>::f", f_long, true, true},
		{"A<int,5>::f<long>", f_long, true, true},
		{"A::f<long>", f_long, true, true},
		{"A::f<char>", f_long, false, false},
		{"A<int,6>::f", f_long, false, false},
		{"A<double,5>::f", f_long, false, false},
		{"A<int,*>::f", f_long, true, true},
		{"A<int,5>::*", f_long, true, true},
		{"A<int,5>::f(long)", f_long, true, true},
		{"A<int,5>::f(int)", f_long, false, false},
		{"A<int,5>::g", g, true, true},
		{"A<int,5>::f", g, false, false},
		{"A<int>::g", g, false, true},
		{"A<>::g", g, false, false},
		{"A::st(const char*,int)", st, true, true},
		{"ns::add(int,int)", add, true, true},
		{"ns::add<int>(int,int)", add, true, true},
		{"ns::add(int,long)", add, false, false},
		{"ns::B::operator<", less, true, true},
		{"ns::B::operator<(const ns::B&)", less, false, true},
		{"ns::B::operator<(const ns::B&) const", less, true, true},
		{"ns::vec(const std::vector<int>&, std::map<std::string, unsigned long>*)", vec,
		 false, true},
		{"ns::vec(const std::vector<long>&, std::map<std::string, unsigned long>*)", vec,
		 false, false},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		print_message("%s\n", rows[i].text);
		assert_int_equal(means(rows[i].text, rows[i].symbol), rows[i].is);
		assert_int_equal(means_laxly(rows[i].text, rows[i].symbol), rows[i].is_laxly);
	}
}

static void names(void **unused)
{
	static const struct {
		const char *text, *symbol;
		bool is;
	} rows[] = {
		{"func_d", "func_d", true},
		{"func_d", "func_dd", false},
		{"func", "func.isra.0", true},
		{"func", "func.constprop.0.isra.3", true},
		{"func_*", "func_a", true},
		{"f?nc", "func", true},
		{"f?nc", "fuunc", false},
		{"*", "x", true},
		{"ns::W::run", "_ZN2ns1W3runEi", true},
		{"ns::W::run", "_ZN2ns1W3runEPKc.isra.0", true},
		{"ns::W::run(int)", "_ZN2ns1W3runEi", true},
		{"ns::W::run(int)", "_ZN2ns1W3runEPKc", false},
		{"_ZN2ns1W3runEi", "_ZN2ns1W3runEi", true},
		{"ns::W::gen", "_ZN2ns1W3genIiEET_S2_", true},
		{"ns::W::gen<int>", "_ZN2ns1W3genIiEET_S2_", true},
		{"ns::W::gen<int>(int)", "_ZN2ns1W3genIiEET_S2_", true},
		{"ns::W::gen<double>", "_ZN2ns1W3genIiEET_S2_", false},
		{"ns::foo", "_ZNK2ns3fooEiPKc", true},
		{"(anonymous namespace)::bar", "_ZN12_GLOBAL__N_13barEv", true},
		{"std::vector::operator[]", "_ZNSt6vectorIiSaIiEEixEm", true},
		{"Foo::operator()", "_ZN3FooclEi", true},
		{"ns::W::operator+", "_ZN2ns1WplEi", true},
		{"ns::foo(int, char const*)", "_ZNK2ns3fooEiPKc", false}, /* const at its end */
		{"ns::foo(int,const char *) const", "_ZNK2ns3fooEiPKc", true},
		{"ns::W::run(const char*)", "_ZN2ns1W3runEPKc", true},
		{"ns::W::run(char const *)", "_ZN2ns1W3runEPKc", true},
		{"ns::W::run(char*)", "_ZN2ns1W3runEPKc", false},
		{"ns::*(const char*)", "_ZN2ns1W3runEPKc", true},
		{"ns::*(const char*)", "_ZN2ns1W3runEi", false},
		{"f(const std::string&)",
		 "_Z1fRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", true},
		{"f(std::string)", "_Z1fRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
		 false},
		{"ns::W::operator->*", "_ZN2ns1WpmEi", true},
		{"ns::W::operator*", "_ZN2ns1WmlEi", true},
		{"std::main::foo", "_RNvNtC3std4main3foo", true},
		{"main.(*T).Method", "main.(*T).Method", true},
		{"main.(*T).Method", "main.(xT).Method", false},
		{"main.sum[...]", "main.sum[go.shape.int_0]", true},
		{"main.sum[go.shape.int_0]", "main.sum[go.shape.int_0]", true},
		{"main.sum", "main.sum[go.shape.int_0]", false},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (means(rows[i].text, rows[i].symbol) != rows[i].is)
			fail_msg("%s %s %s", rows[i].text,
				 rows[i].is ? "must mean" : "must not mean", rows[i].symbol);
}

static void last_parts(void **unused)
{
	(void)unused;
	assert_true(means_last_part("run", "_ZN2ns1W3runEi"));
	assert_true(means_last_part("W::run", "_ZN2ns1W3runEi"));
	assert_false(means_last_part("un", "_ZN2ns1W3runEi"));
	assert_true(means_last_part("Method", "main.(*T).Method"));
	assert_false(means_last_part("thod", "main.(*T).Method"));
}

static void globs(void **unused)
{
	(void)unused;
	assert_true(glob_matches("a*b*c", 5, "axxbyyc", 7));
	assert_false(glob_matches("a*b*c", 5, "axxbyy", 6));
	assert_true(glob_matches("**", 2, "", 0));
	assert_false(glob_matches("?", 1, "", 0));
	/* Quadratic at most: each star is a point to come back to, not a branch. */
	assert_false(glob_matches("*a*a*a*a*a*a*a*a*b", 18,
				  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 44));
}

static void parts(void **unused)
{
	static const char *const rows[][2] = {
		{"f", "f"},
		{"ns::W<int>::run<a::b>(int, c::d) const", "run"},
		{"ns::(anonymous namespace)::hidden(int) [clone .isra.0]", "hidden"},
		{"<r::S as r::Tr>::tr", "tr"},
		{"int vari<int, double>(int, double)", "vari"},
		{"ns::V<int>::operator->*(int)", "operator->*"},
		{"ns::V<int>::operator()(int)", "operator()"},
		{"main.(*T).Method", "Method"},
		{"", ""},
		{"a::", ""},
		{"<<<(", "<"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n;
		const char *part = spelling_last_part(rows[i][0], strlen(rows[i][0]), &n);

		if (n != strlen(rows[i][1]) || memcmp(part, rows[i][1], n) != 0)
			fail_msg("%s: %.*s", rows[i][0], (int)n, part);
	}
}

static void distances(void **unused)
{
	(void)unused;
	assert_int_equal(name_distance("funcd", 5, "func_d", 6, 3), 1);
	assert_int_equal(name_distance("abc", 3, "abc", 3, 3), 0);
	assert_int_equal(name_distance("kitten", 6, "sitting", 7, 5), 3);
	assert_int_equal(name_distance("abcdefgh", 8, "a", 1, 3), 4);
}

static void specs(void **unused)
{
	struct probe_spec s;
	struct err err;

	(void)unused;
	assert_true(probe_is_spec("uprobe:./a:b") && probe_is_spec("U:./a:b:c"));
	assert_false(probe_is_spec("sched:sched_switch"));
	assert_int_equal(probe_spec_length("uprobe:./a:f(int, char),cycles"), 23);
	assert_int_equal(probe_spec_length("u:./a:f/a0 < 3/,cycles"), 15);
	assert_int_equal(probe_spec_length("u:./a:f/s0 == \"x/,\"/,cycles"), 20);
	assert_int_equal(probe_spec_length("u:./a:x.y/z.F,cycles"), 13);
	assert_int_equal(probe_before_filter("u:./a:f/a0==1/", 14), 7);
	assert_int_equal(probe_before_filter("u:./a:x.y/z.F/(a0&1)/", 21), 13);
	assert_int_equal(probe_before_filter("u:./a0==1/a:b/", 14), 14);
	assert_int_equal(probe_before_filter("u:./a:V::operator/", 18), 18);
	assert_int_equal(probe_before_filter("u:./a:V::operator//a0==1/", 25), 18);
	assert_int_equal(probe_parse(&s, "uprobe:./a:ns::f+0x10", 21, &err), 0);
	assert_int_equal(s.kind, PROBE_ENTRY);
	assert_memory_equal(s.file, "./a", s.file_len);
	assert_int_equal(s.what_len, 5);
	assert_int_equal(s.plus, 0x10);
	assert_int_equal(probe_parse(&s, "uprobe:./a:ns::operator+", 24, &err), 0);
	assert_int_equal(s.what_len, 13);
	assert_int_equal(probe_parse(&s, "uretprobe:libc.so.6:0x1234", 26, &err), 0);
	assert_true(s.has_address && s.plus == 0x1234 && s.kind == PROBE_RETURN);
	assert_int_equal(probe_parse(&s, "usdt:./a:prov:name", 18, &err), 0);
	assert_int_equal(s.what_len, 9);
	assert_true(probe_parse(&s, "uprobe:./a", 10, &err) < 0);
	assert_true(probe_parse(&s, "uprobe::f", 9, &err) < 0);
	assert_int_equal(probe_parse(&s, "uprobe:./a:src/x.c:42", 21, &err), 0);
	assert_int_equal(s.line, 42);
	assert_int_equal(s.what_len, 7);
	assert_true(probe_parse(&s, "call:./a:x.c:42", 15, &err) < 0);
	assert_true(probe_parse(&s, "uretprobe:./a:f+4", 17, &err) < 0);
}

static void vector_instructions(void **state)
{
	static const struct {
		uint8_t bytes[8];
		bool in_64, in_32;
	} rows[] = {
		{{0x62, 0xf2, 0x7d, 0x28, 0x7a, 0xc6}, true, true}, /* vpbroadcastb %esi, %ymm0 */
		{{0xc5, 0xf9, 0x6e, 0xc6}, true, true},		    /* vmovd %esi, %xmm0 */
		{{0xc4, 0xe2, 0x7d, 0x78, 0xc0}, true, true},	    /* vpbroadcastb */
		{{0x64, 0xc5, 0xf9, 0x6e, 0x00}, true, true},	    /* behind %fs: */
		{{0xc4, 0x45, 0x08}, true, false},		    /* les 8(%ebp), %eax */
		{{0x8f, 0xe8, 0x78, 0xc0, 0xc1, 0x01}, true, true}, /* vprotb, XOP */
		{{0x8f, 0xc0}, false, false},			    /* pop %rax */
		{{0xf3, 0x0f, 0x1e, 0xfa}, false, false},	    /* endbr64 */
		{{0x66, 0x0f, 0x6e, 0xc6}, false, false},	    /* movd */
		{{0x7a, 0x10}, false, false},			    /* jp */
		{{0xc5}, false, false},				    /* cut */
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const size_t n = i + 1 == sizeof rows / sizeof *rows ? 1 : sizeof rows[i].bytes;

		assert_int_equal(is_vector_insn(rows[i].bytes, n, true), rows[i].in_64);
		assert_int_equal(is_vector_insn(rows[i].bytes, n, false), rows[i].in_32);
	}
}

/* Mangled names that lack a plain word are not demangled, but for those that the ABI abbreviates.
 */
static void words(void **unused)
{
	static const struct {
		const char *text, *symbol;
		bool is_demangled, is_meant;
	} rows[] = {
		{"malloc", "_ZN2ns1W3runEi", false, false},
		{"malloc", "_ZN2ns6malloc3runEi", true, false},
		{"malloc", "_Z6mallocm", true, true},
		{"ns::malloc", "_ZN2ns1W3runEi", true, false},
		{"mall*", "_ZN2ns1W3runEi", true, false},
		{"basic_string", "_ZNSsC1Ev", true, false},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct pattern p;

		pattern_init(&p, rows[i].text, strlen(rows[i].text));
		assert_int_equal(pattern_matches(&p, rows[i].symbol), rows[i].is_meant);
		assert_int_equal(p.demangler.full.s != NULL, rows[i].is_demangled);
		pattern_done(&p);
	}
	assert_true(means_last_part("basic_string", "_ZNSsC1Ev"));
}

static void far_calls(void **state)
{
	static const struct {
		uint8_t bytes[8];
		bool in_64, in_32;
	} rows[] = {
		{{0xff, 0x1d, 0x10}, true, true},	/* lcall *0x10(%rip) */
		{{0x48, 0xff, 0x18}, true, false},	/* rex.W lcall *(%rax) */
		{{0x66, 0x64, 0xff, 0x18}, true, true}, /* lcallw *%fs:(%rax) */
		{{0xff, 0x15, 0x10}, false, false},	/* call *0x10(%rip) */
		{{0xff, 0x2d, 0x10}, false, false},	/* ljmp *0x10(%rip) */
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(is_far_call(rows[i].bytes, 8, true), rows[i].in_64);
		assert_int_equal(is_far_call(rows[i].bytes, 8, false), rows[i].in_32);
	}
	assert_false(is_far_call((const uint8_t[]){0xff}, 1, true)); /* cut */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_instructions),
		cmocka_unit_test(far_calls),
		cmocka_unit_test(names),
		cmocka_unit_test(templates),
		cmocka_unit_test(last_parts),
		cmocka_unit_test(globs),
		cmocka_unit_test(distances),
		cmocka_unit_test(parts),
		cmocka_unit_test(specs),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
