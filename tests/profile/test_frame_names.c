/* test_frame_names.c - names that differ by what is left out: when they stay apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "profile/profile.h"

struct named {
	const char *name;
	bool is_folded, is_foreign;
	enum dso_kind kind;
	const char *want; /* frames, root first, with spaces between them */
};

static void check(const struct named *v, size_t n, const struct stack_style *style)
{
	struct profile *p = profile_new(0);
	struct frame_names got = {0};
	size_t i, k;

	assert_non_null(p);
	for (i = 0; i < n; i++) {
		struct profile_mapping m = {.path = profile_string(p, "x", 1), .kind = v[i].kind};
		struct profile_function f = {
			.name = profile_string(p, v[i].name, strlen(v[i].name)),
			.is_folded = v[i].is_folded,
			.is_foreign = v[i].is_foreign,
		};
		struct profile_location l = {.ip = i};
		struct profile_line line = {0};
		uint32_t id;

		assert_int_equal(profile_add_mapping(p, &m, &l.mapping, NULL), 0);
		assert_int_equal(profile_add_function(p, &f, &line.function, NULL), 0);
		assert_int_equal(profile_add_location(p, &l, &line, 1, &id, NULL), 0);
		assert_int_equal(id, i);
	}
	assert_int_equal(frame_names(&got, p, style, NULL), 0);
	assert_int_equal(got.first.n, n + 1);
	for (i = 0; i < n; i++) {
		struct text t = {0};

		for (k = got.first.v[i]; k < got.first.v[i + 1]; k++) {
			text_str(&t, k > got.first.v[i] ? " " : "");
			text_str(&t, strtab_get(&got.names, got.frames.v[k].name));
			assert_int_equal(got.frames.v[k].line, i);
		}
		text_char(&t, '\0');
		assert_false(t.failed);
		assert_string_equal(t.s, v[i].want);
		text_done(&t);
	}
	frame_names_done(&got);
	profile_free(p);
}

static const struct named ours[] = {
	{"f(int)", false, false, DSO_FILE, "f"},
	{"f(char)", false, false, DSO_FILE, "f"},
	{"g(int)", false, false, DSO_FILE, "g"},
};

static void overloads_are_one_in_flame_graphs(void **state)
{
	(void)state;
	check(ours, 3, &(struct stack_style){0});
}

static void overloads_stay_apart_on_request(void **state)
{
	static const struct named v[] = {
		{"f(int)", false, false, DSO_FILE, "f(int)"},
		{"f(char) [clone .isra.0]", false, false, DSO_FILE, "f(char)"},
		{"f(int) [clone .cold]", false, false, DSO_FILE, "f(int)"},
		{"g(int)", false, false, DSO_FILE, "g"},
		{"g(int) [clone .cold]", false, false, DSO_FILE, "g"},
		{"void t<int>(int)", false, false, DSO_FILE, "void t<int>(int)"},
		{"int t<int>(int)", false, false, DSO_FILE, "int t<int>(int)"},
		{"h", false, false, DSO_FILE, "h"},
		{"h(long)", false, false, DSO_FILE, "h(long)"},
		{"La/B;::m(I)->La/C;::k(I)", false, false, DSO_ANON, "a/B:::m(I) a/C:::k"},
		{"La/B;::m(J)", false, false, DSO_ANON, "a/B:::m(J)"},
	};

	(void)state;
	check(v, sizeof v / sizeof *v, &(struct stack_style){.keep_apart = true, .unmarked = true});
}

static void foreign_names_stay_apart(void **state)
{
	static const struct named v[] = {
		{"f(int)", false, true, DSO_FILE, "f(int)"},
		{"f(char)", false, true, DSO_FILE, "f(char)"},
		{"g(int)", false, true, DSO_FILE, "g"},
		{"k(int)", true, false, DSO_FILE, "k(int)"},
		{"k(long)", true, false, DSO_FILE, "k(long)"},
	};

	(void)state;
	check(v, sizeof v / sizeof *v, &(struct stack_style){0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overloads_are_one_in_flame_graphs),
		cmocka_unit_test(overloads_stay_apart_on_request),
		cmocka_unit_test(foreign_names_stay_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
