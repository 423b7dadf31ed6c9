/* test_functab.c - the radix sort, and the table of functions against a brute-force model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "functions/functions.h"
#include "base/sort.h"
#include "tests/random.h"

static int by_key(const void *a, const void *b)
{
	const struct sort_pair *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->index < y->index ? -1 : 1; /* indices rise, so this is what stable means */
}

static void sort_agrees_with_qsort(void **unused)
{
	static const uint64_t masks[] = {0xff,	  0xfff, 0xffffffff, UINT64_MAX, 0xff00000000000000,
					 0x7ff800};
	static const size_t sizes[] = {0, 1, 2, 47, 48, 49, 5000};
	uint64_t state = 1;
	size_t m, s, i;

	(void)unused;
	for (m = 0; m < sizeof masks / sizeof *masks; m++)
		for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			size_t n = sizes[s];
			struct sort_pair *a = calloc(n + 1, sizeof *a),
					 *b = calloc(n + 1, sizeof *b);

			for (i = 0; i < n; i++)
				a[i] = b[i] = (struct sort_pair){next_random(&state) & masks[m],
								 (uint32_t)i};
			assert_int_equal(sort_pairs(a, n), 0);
			qsort(b, n, sizeof *b, by_key);
			for (i = 0; i < n; i++) {
				assert_int_equal(a[i].key, b[i].key);
				assert_int_equal(a[i].index, b[i].index);
			}
			free(a);
			free(b);
		}
}

static void add(struct functab *t, uint64_t start, uint64_t end, const char *name, unsigned flags)
{
	struct func f = {.start = start, .end = end, .name = name, .flags = flags & 7};

	assert_int_equal(functab_add(t, &f), 0);
}

static const char *name_at(const struct functab *t, uint64_t addr)
{
	struct func_cursor c = {0};
	const struct func *f = functab_find(t, addr, &c);

	return f ? f->name : "";
}

/* Each pair of names at one address; the first is the one perf's choose_best_symbol() takes. */
static void aliases_as_perf_chooses(void **unused)
{
	static const struct {
		const char *better, *worse;
		unsigned better_flags, worse_flags;
	} rows[] = {
		{"local", "weak", 0, FUNC_WEAK},
		{"global", "local_longer", FUNC_GLOBAL, 0},
		{"read", "__read", FUNC_GLOBAL, FUNC_GLOBAL},
		{"__read", "read", FUNC_GLOBAL, FUNC_WEAK},
		{"longer_name", "short", 0, 0},
		{"_a_very_long_name", "__a_even_longer_name", 0, 0},
		{"__x64_sys_read", "SyS_read_______", FUNC_GLOBAL, 0},
		{"ksys_rd", "SyS_rea", 0, 0},
		{"sized", "without_size", FUNC_WEAK, FUNC_GLOBAL | FUNC_SIZELESS},
	};
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		unsigned order;

		for (order = 0; order < 2; order++) {
			struct functab t = {0};

			if (order)
				add(&t, 100, 200, rows[i].worse, rows[i].worse_flags);
			add(&t, 100, 200, rows[i].better, rows[i].better_flags);
			if (!order)
				add(&t, 100, 200, rows[i].worse, rows[i].worse_flags);
			assert_int_equal(functab_finish(&t), 0);
			assert_string_equal(name_at(&t, 150), rows[i].better);
			functab_done(&t);
		}
	}
}

static void equal_aliases_first_wins(void **unused)
{
	struct functab t = {0};

	(void)unused;
	add(&t, 1, 9, "abc", FUNC_GLOBAL);
	add(&t, 1, 9, "xyz", FUNC_GLOBAL);
	assert_int_equal(functab_finish(&t), 0);
	assert_string_equal(name_at(&t, 1), "abc");
	functab_done(&t);
}

/* As perf: kallsyms lists __ia32_sys_vfork before __x64_sys_vfork. */
static void sizeless_aliases_last_wins(void **unused)
{
	struct functab t = {0};

	(void)unused;
	add(&t, 1, 9, "__ia32_sys_vfork", FUNC_GLOBAL | FUNC_SIZELESS);
	add(&t, 1, 9, "__x64_sys_vfork", FUNC_GLOBAL | FUNC_SIZELESS);
	assert_int_equal(functab_finish(&t), 0);
	assert_string_equal(name_at(&t, 5), "__x64_sys_vfork");
	functab_done(&t);
}

static void nesting_and_holes(void **unused)
{
	struct functab t = {0};

	(void)unused;
	add(&t, 100, 200, "outer", 0);
	add(&t, 120, 140, "inner", 0);
	add(&t, 150, 400, "label", FUNC_SIZELESS);
	add(&t, 300, 310, "next", 0);
	add(&t, 320, 500, "last", FUNC_SIZELESS);
	assert_int_equal(functab_finish(&t), 0);
	assert_string_equal(name_at(&t, 99), "");
	assert_string_equal(name_at(&t, 100), "outer");
	assert_string_equal(name_at(&t, 119), "outer");
	assert_string_equal(name_at(&t, 120), "inner");
	assert_string_equal(name_at(&t, 140), "outer");
	assert_string_equal(name_at(&t, 160),
			    "outer"); /* a label inside of a function is not one */
	assert_string_equal(name_at(&t, 200), "label");
	assert_string_equal(name_at(&t, 299), "label");
	assert_string_equal(name_at(&t, 305), "next");
	assert_string_equal(name_at(&t, 310), ""); /* the label ended at "next" */
	assert_string_equal(name_at(&t, 499), "last");
	assert_string_equal(name_at(&t, 500), "");
	functab_done(&t);
}

/* The innermost sized function: latest start, of equal starts the better name (all names here
 * differ in length only); else the sizeless function that starts last, if nothing starts after it.
 */
static const struct func *model(const struct func *v, size_t n, uint64_t addr)
{
	const struct func *best = NULL, *last = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		if (v[i].start <= addr &&
		    (!last || v[i].start > last->start ||
		     (v[i].start == last->start && v[i].flags & FUNC_SIZELESS)))
			last = &v[i];
		if (v[i].flags & FUNC_SIZELESS || v[i].start > addr || v[i].end <= addr)
			continue;
		if (!best || v[i].start > best->start ||
		    (v[i].start == best->start && strlen(v[i].name) > strlen(best->name)))
			best = &v[i];
	}
	if (best)
		return best;
	for (i = 0; i < n; i++)
		if (last && v[i].flags & FUNC_SIZELESS && v[i].start == last->start &&
		    addr < v[i].end)
			best = &v[i];
	return best;
}

static void random_tables_agree_with_model(void **unused)
{
	uint64_t state = 7;
	unsigned round;

	(void)unused;
	for (round = 0; round < 300; round++) {
		size_t n = 1 + next_random(&state) % 60, i;
		uint64_t space = round % 2 ? 100 : 5000;
		struct func v[60] = {0};
		char names[60][64];
		struct functab t = {0};
		struct func_cursor cursor = {0};

		for (i = 0; i < n; i++) {
			v[i].start = next_random(&state) % space;
			v[i].end = v[i].start + 1 + next_random(&state) % (space / 4);
			v[i].flags = next_random(&state) % 4 ? 0 : FUNC_SIZELESS;
			v[i].name = names[i];
			memset(names[i], 'n', i + 1); /* every length once */
			names[i][i + 1] = 0;
			assert_int_equal(functab_add(&t, &v[i]), 0);
		}
		assert_int_equal(functab_finish(&t), 0);
		for (i = 0; i < space + 10; i++) {
			struct func_cursor fresh = {0};
			const struct func *want = model(v, n, i);
			const struct func *got = functab_find(&t, i, &cursor);

			assert_string_equal(got ? got->name : "", want ? want->name : "");
			assert_ptr_equal(got, functab_find(&t, i, &fresh));
		}
		functab_done(&t);
	}
}

/* JIT code: of overlapping functions the one with the highest tag. */
static void latest_wins(void **unused)
{
	uint64_t state = 3;
	unsigned round;

	(void)unused;
	for (round = 0; round < 100; round++) {
		struct functab t = {.latest_wins = true};
		struct func v[40] = {0};
		uint64_t addr;
		size_t i;

		for (i = 0; i < 40; i++) {
			v[i].start = next_random(&state) % 200;
			v[i].end = v[i].start + 1 + next_random(&state) % 50;
			v[i].tag = i & FUNC_TAG_MAX;
			v[i].name = "x";
			assert_int_equal(functab_add(&t, &v[i]), 0);
		}
		assert_int_equal(functab_finish(&t), 0);
		for (addr = 0; addr < 260; addr++) {
			struct func_cursor c = {0};
			const struct func *got = functab_find(&t, addr, &c);
			int want = -1;

			for (i = 0; i < 40; i++)
				if (addr >= v[i].start && addr < v[i].end)
					want = (int)i;
			assert_int_equal(got ? (int)got->tag : -1, want);
		}
		functab_done(&t);
	}
}

static void functions_of_the_same_bytes(void **unused)
{
	struct func_cursor c = {0};
	struct functab t = {0};
	const struct func *aliases[3];

	(void)unused;
	add(&t, 5, 10, "before", 0);
	add(&t, 10, 20, "a", FUNC_GLOBAL);
	add(&t, 10, 20, "bb", 0);
	add(&t, 10, 12, "short", 0);
	add(&t, 10, 30, "sizeless", FUNC_SIZELESS);
	add(&t, 11, 12, "after", 0);
	assert_int_equal(functab_finish(&t), 0);
	assert_int_equal(functab_aliases(&t, functab_find(&t, 10, &c), aliases, 3), 2);
	assert_string_equal(aliases[0]->name, "a");
	assert_string_equal(aliases[1]->name, "bb");
	assert_int_equal(functab_aliases(&t, functab_find(&t, 15, &c), aliases, 1), 1);
	/* "after", then the group of a, bb and sizeless */
	assert_int_equal(functab_covering(&t, 11, aliases, 3), 3);
	assert_string_equal(aliases[0]->name, "after");
	assert_string_equal(aliases[1]->name, "a");
	assert_int_equal(functab_covering(&t, 25, aliases, 3), 1);
	assert_string_equal(aliases[0]->name, "sizeless");
	assert_int_equal(functab_covering(&t, 4, aliases, 3), 0);
	assert_int_equal(functab_aliases(&t, &t.funcs.v[t.groups.v[0].first], aliases, 3), 1);
	functab_done(&t);
}

/* A million functions at one start and a staircase of overlapping ones: lookups stay bounded. */
static void hostile_tables_are_bounded(void **unused)
{
	struct functab same = {0}, stairs = {0};
	struct func_cursor c = {0};
	uint64_t i;

	(void)unused;
	for (i = 0; i < 200000; i++) {
		add(&same, 10, 11 + i, "f", 0);
		add(&stairs, i, 1 << 20, "f", 0);
	}
	assert_int_equal(functab_finish(&same), 0);
	assert_int_equal(functab_finish(&stairs), 0);
	for (i = 0; i < 2000; i++) {
		functab_find(&same, 10 + i * 100, &c);
		functab_find(&stairs, i * 100, &c);
	}
	functab_done(&same);
	functab_done(&stairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sort_agrees_with_qsort),
		cmocka_unit_test(aliases_as_perf_chooses),
		cmocka_unit_test(equal_aliases_first_wins),
		cmocka_unit_test(sizeless_aliases_last_wins),
		cmocka_unit_test(nesting_and_holes),
		cmocka_unit_test(random_tables_agree_with_model),
		cmocka_unit_test(latest_wins),
		cmocka_unit_test(functions_of_the_same_bytes),
		cmocka_unit_test(hostile_tables_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
