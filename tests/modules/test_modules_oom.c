/* test_modules_oom.c - every allocation fails once: a module is the same as ever, or there is none
 * any more; and nothing is leaked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "modules/modules.h"
#include "tests/failing_malloc.h"

#ifdef SANITIZED

int main(void)
{
	puts("1..1\nok 1 - out of memory # SKIP the sanitizer's allocator cannot be replaced");
	return 0;
}

#else

/* An image with its symbols, one without, the vDSO, and no file. */
static const struct dso dsos[] = {
	{.id = 0, .kind = DSO_FILE, .path = "/proc/self/exe"},
	{.id = 1, .kind = DSO_FILE, .path = "/bin/sh"},
	{.id = 2, .kind = DSO_VDSO, .path = "[vdso]"},
	{.id = 3, .kind = DSO_FILE, .path = "/nonexistent"},
};

enum { N_DSOS = sizeof dsos / sizeof *dsos };

struct found {
	bool image, debug;
	enum module_miss image_miss, debug_miss;
	size_t n_tried;
};

/* False when out of memory; then no later module is found, either. */
static bool find_all(struct found found[N_DSOS])
{
	const struct modules_options opt = {.os_release = ""};
	struct modules *modules;
	bool nomem = false;

	if (modules_new(&modules, &opt, NULL))
		return false;
	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < N_DSOS; i++) {
			struct module *m = modules_get(modules, &dsos[i]);

			assert_false(nomem && m);
			if (!m || !module_debug(modules, m)) {
				nomem = true;
				continue;
			}
			found[i] = (struct found){m->image, m->debug, m->image_miss, m->debug_miss,
						  module_tried_count(m)};
		}
	modules_free(modules);
	return !nomem;
}

static void out_of_memory(void **state)
{
	struct found want[N_DSOS], got[N_DSOS];
	long live, failures = 0;

	(void)state;
	assert_true(find_all(want));
	assert_true(want[0].image && want[0].debug && want[1].image && !want[3].image);
	live = allocations_live;
	for (long n = 0;; n++) {
		bool ok;

		allocations_left = n;
		ok = find_all(got);
		if (allocations_left >= 0)
			break; /* it needed no more than n */
		allocations_left = -1;
		assert_int_equal(allocations_live, live);
		failures += !ok;
		for (size_t i = 0; ok && i < N_DSOS; i++) {
			assert_int_equal(got[i].image, want[i].image);
			assert_int_equal(got[i].debug, want[i].debug);
			assert_int_equal(got[i].image_miss, want[i].image_miss);
			assert_int_equal(got[i].debug_miss, want[i].debug_miss);
			assert_int_equal(got[i].n_tried, want[i].n_tried);
		}
	}
	allocations_left = -1;
	assert_true(failures > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(out_of_memory)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
