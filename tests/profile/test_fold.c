/* test_fold.c - function names as flame graphs show them. Expectations marked "inferno" are lines
 * of inferno-collapse-perf's own test results; the others follow from profile/fold.c's stated
 * rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "profile/profile.h"

static const char *folded(const char *name)
{
	static char buf[512];
	struct text t = {0};

	fold_function(&t, name, strlen(name));
	fold_finish(&t, 0);
	assert_false(t.failed);
	assert_in_range(t.n, 1, sizeof buf - 1);
	memcpy(buf, t.s, t.n);
	buf[t.n] = 0;
	text_done(&t);
	return buf;
}

static void argument_lists_go(void **state)
{
	static const char *const cases[][2] = {
		{"main", "main"},
		{"std::ostream::sentry::sentry(std::ostream&)",
		 "std::ostream::sentry::sentry"}, /* inferno */
		{"std::function<int (int, int)>::operator+(int, int) const",
		 "std::function<int (int, int)>::operator+"},
		{"std::_Function_handler<int (int, int), main::{lambda(int, "
		 "int)#1}>::_M_invoke(std::_Any_data "
		 "const&, int&&, int&&)",
		 "std::_Function_handler<int (int, int), main::{lambda(int, "
		 "int)#1}>::_M_invoke"}, /* inferno */
		{"std::endl<char, std::char_traits<char> >(std::basic_ostream<char>&)",
		 "std::endl<char, std::char_traits<char> >"},
		{"ns::W<int>::run(int) [clone .isra.0]", "ns::W<int>::run"},
		{"foo<(Kind)3>(bar<(1 > 0)>)", "foo<(Kind)3>"},
		{"f(void (*)(int))", "f"},
		{"memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14"},
		{"int[] java.util.Map.get(java.lang.Object, int)", "java.util.Map.get"},
		{"void J.<init>()", "J.<init>"},
		{"java.lang.Object java.lang.invoke.LambdaForm$MH+0x00007f20b8002400.invoke()",
		 "java.lang.invoke.LambdaForm$MH+0x00007f20b8002400.invoke"},
		{"non-virtual thunk to A::f.cold(int)", "non-virtual thunk to A::f.cold"},
		{"f(", "f"},
		{"f(()", "f"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(folded(cases[i][0]), cases[i][1]);
}

static void other_parentheses_stay(void **state)
{
	static const char *const cases[][2] = {
		{"(anonymous namespace)::Bar<int>::baz()", "(anonymous namespace)::Bar<int>::baz"},
		{"ns::(anonymous namespace)::f(int)", "ns::(anonymous namespace)::f"},
		{"ns::f(int) [+2]", "ns::f [+2]"},
		{"ns::f(int) [clone .isra.0] [+12]", "ns::f [+12]"},
		{"f [+2]", "f [+2]"},
		{"operator new(unsigned long)@plt", "operator new@plt"},
		{"std::string::_M_append(char const*, unsigned long)@plt",
		 "std::string::_M_append@plt"},
		{"A<int>::f(int) const@plt", "A<int>::f@plt"},
		{"rand@plt", "rand@plt"},
		{"net/http.(*conn).serve", "net/http.(*conn).serve"},
		{"main.(*T[...]).Do.func1", "main.(*T[...]).Do.func1"},
		{"F::operator()(int) const", "F::operator()"},
		{"F::operator()<int>(int) const", "F::operator()<int>"},
		{"operator<< <char>(std::ostream&)", "operator<< <char>"},
		{"operator< <int>(A<int> const&)", "operator< <int>"},
		{"A::operator->() const", "A::operator->"},
		{"A::operator[](unsigned long)", "A::operator[]"},
		{"A::operator bool() const", "A::operator bool"},
		{"operator new(unsigned long)", "operator new"},
		{"my_operator(int)", "my_operator"},
		{"decltype(auto)", "decltype(auto)"},
		{"foo<decltype (a->b)>::bar(int)", "foo<decltype (a->b)>::bar"},
		{"void (*signal(int))(int)", "void (*signal(int))"},
		/* A lambda is not its function. */
		{"run(int)::{lambda(int)#1}::operator()(int) const",
		 "run::{lambda(int)#1}::operator()"},
		{"A::f(int) const &::B::g()", "A::f::B::g"},
		{"(*", "(*"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(folded(cases[i][0]), cases[i][1]);
}

static void return_types_go(void **state)
{
	static const char *const cases[][2] = {
		{"void std::vector<int>::_M_realloc_insert<int const&>(int*, int const&)",
		 "std::vector<int>::_M_realloc_insert<int const&>"},
		{"std::map<int, long>& f<(Kind)3>(bar<(1 > 0)>)", "f<(Kind)3>"},
		{"unsigned long const* (anonymous namespace)::f<int>()",
		 "(anonymous namespace)::f<int>"},
		{"bool operator< <int>(A<int> const&)", "operator< <int>"},
		{"bool ns::operator==<int>(A<int> const&)", "ns::operator==<int>"},
		{"A::operator std::map<int, B>() const", "A::operator std::map<int, B>"},
		{"ns::A<int>::operator unsigned long<B>()",
		 "ns::A<int>::operator unsigned long<B>"},
		{"void* operator new<A>(unsigned long, A&)", "operator new<A>"},
		{"decltype(auto) std::get<0>(x&)", "std::get<0>"},
		{"decltype ((f<A>)(declval<B>())) g<A>(B)", "g<A>"},
		{"void run<int>(int)::{lambda(int)#1}::operator()(int) const",
		 "run<int>::{lambda(int)#1}::operator()"},
		{"auto f<A>(A)::{lambda(auto:1)#1}::operator()<int>(int) const",
		 "f<A>::{lambda(auto:1)#1}::operator()<int>"},
		{"auto work(long)::$_1::operator()<double>(double) const",
		 "work::$_1::operator()<double>"},
		{"void A::f(int)::{lambda(auto:1)@3:4}::operator()<int>(int)::{lambda()@4:4}::"
		 "operator()() const",
		 "A::f::{lambda(auto:1)@3:4}::operator()<int>::{lambda()@4:4}::operator()"},
		{"void f<int>(int) [clone .cold]", "f<int>"},
		/* What is not written for its return type. */
		{"non-virtual thunk to A<int>::f(int)", "non-virtual thunk to A<int>::f"},
		{"int (*f<int>(int))()", "int (*f<int>(int))"},
		{"unsigned long", "unsigned long"},
		{"a < b", "a < b"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(folded(cases[i][0]), cases[i][1]);
}

static void frames_cannot_break_lines(void **state)
{
	(void)state;
	assert_string_equal(folded("a;b"), "a:b");
	assert_string_equal(folded("a\nb\x1b[31m"), "a_b_[31m");
	assert_string_equal(folded("a\u2028b\u2029c"), "a_b_c");
	assert_string_equal(folded("\u202etxt\u2066\u200b\ufeff"), "_txt___");
	assert_string_equal(folded("\u200c\u200d\u2010\u20ac\U0001f525"),
			    "\u200c\u200d\u2010\u20ac\U0001f525");
	assert_string_equal(folded("item 12"), "item_12");
	assert_string_equal(folded("item 1.5"), "item_1.5");
	assert_string_equal(folded("item 12a"), "item 12a");
	assert_string_equal(folded("12"), "12");
	assert_string_equal(folded("f  "), "f");
	assert_string_equal(folded(""), "[unknown]");
	assert_string_equal(folded("  "), "[unknown]");
	assert_string_equal(folded("caf\xc3\xa9"), "caf\xc3\xa9");
	assert_string_equal(folded("caf\xc3"), "caf\xef\xbf\xbd");
}

static void languages_follow_from_their_names(void **state)
{
	static const struct {
		const char *name;
		bool rust;
	} rust[] = {
		{"_RNvNtCs1234_7mycrate3foo3bar", true},
		{"_ZN4core3ptr4drop17h0123456789abcdefE", true},
		{"_ZN4core3ptr4drop17h0123456789abcdeFE", false},
		{"_ZN3foo3barEv", false},
		{"_ZN17h0123456789abcdefE", false},
		{"main", false},
		{"", false},
	};
	static const struct {
		const char *name;
		bool java;
	} java[] = {
		{"Lcom/example/Main;::run", true},
		{"Lcom/example/Main::run", true},
		{"LMain;::run", false},
		{"LMain::run", false},
		{"LazyCompile:*tick /srv/app.js:12", false},
		{"LazyCompile:*a;b /srv/app.js:12", false},
		{"com/example/Main;::run", false},
		{"", false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rust / sizeof *rust; i++)
		assert_int_equal(fold_is_rust(rust[i].name), rust[i].rust);
	for (i = 0; i < sizeof java / sizeof *java; i++)
		assert_int_equal(fold_is_java(java[i].name, strlen(java[i].name)), java[i].java);
}

/* Every name of four characters out of those the scanner knows: it must end, stay inside (ASan)
 * and keep its promises. */
static void all_short_names(void **state)
{
	static const char alphabet[] = "a(){}<>[]:.*&; -9";
	size_t n = sizeof alphabet - 1, i, k, rest;
	char name[5] = {0};

	(void)state;
	for (i = 0; i < n * n * n * n; i++) {
		const char *s;

		for (rest = i, k = 0; k < 4; k++, rest /= n)
			name[k] = alphabet[rest % n];
		s = folded(name);
		assert_null(strchr(s, ';'));
		s = strrchr(s, ' ');
		assert_true(!s || strspn(s + 1, "0123456789.") != strlen(s + 1));
	}
}

static void utf8_is_checked(void **state)
{
	static const struct {
		const char *s;
		size_t length;
	} cases[] = {
		{"a", 1},
		{"\xc3\xa9", 2},
		{"\xe2\x82\xac", 3},
		{"\xf0\x9f\x94\xa5", 4},
		{"\x80", 0},
		{"\xc0\x80", 0},
		{"\xe0\x80\x80", 0},
		{"\xed\xa0\x80", 0},
		{"\xf4\x90\x80\x80", 0},
		{"\xf8\x88\x80\x80\x80", 0},
		{"\xe2\x82", 0},
		{"", 0},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(utf8_length(cases[i].s, strlen(cases[i].s)), cases[i].length);
}

static void json_strings(void **state)
{
	static const char in[] = "a\"b\\c\n\x7f\xc2\x85\u2028\u202e\xff/";
	static const char out[] = "\"a\\\"b\\\\c\\u000a\\u007f\\u0085\\u2028\\u202e\xef\xbf\xbd/\"";
	struct text t = {0};

	(void)state;
	text_json(&t, in, sizeof in - 1);
	assert_int_equal(t.n, sizeof out - 1);
	assert_memory_equal(t.s, out, t.n);
	text_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(argument_lists_go),
		cmocka_unit_test(other_parentheses_stay),
		cmocka_unit_test(return_types_go),
		cmocka_unit_test(frames_cannot_break_lines),
		cmocka_unit_test(languages_follow_from_their_names),
		cmocka_unit_test(all_short_names),
		cmocka_unit_test(utf8_is_checked),
		cmocka_unit_test(json_strings),
	};

	return cmocka_run_group_tests_name("fold", tests, NULL, NULL);
}
