/* test_load_oom.c - memory runs out at any place on the way from an input to a profile: an error,
 * never a crash, nothing left behind, and never a smaller profile that looks whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/failing_malloc.h"

#include "load/load.h"
#include "tests/load/recordings.h"

#ifdef SANITIZED

int main(void)
{
	puts("1..1\nok 1 - out of memory # SKIP the sanitizer's allocator cannot be replaced");
	return 0;
}

#else

enum { TRIALS = 150 }; /* of the places where memory can run out, evenly */

/* What a profile is, in a number: weights, and how many there are of each. */
static uint64_t sum_of(const struct profile *p)
{
	uint64_t sum = p->nodes.n * 31 + p->locations.n * 37 + p->lines.n * 41 + p->mappings.n;

	for (size_t i = 0; i < p->samples.n; i++)
		sum += p->samples.v[i].count * 1000 + p->samples.v[i].period;
	return sum;
}

/* Loads and detaches. *ret: the sum of the profile. */
static int run(const char *path, uint64_t *ret)
{
	const struct load_options opt = {.modules.symfs = "/nonexistent", .n_threads = 1};
	struct loaded in;
	struct err err;
	int rc = load_profile(&opt, path, &in, &err);

	if (!rc)
		rc = loaded_detach(&in, 0, &err);
	if (!rc)
		*ret = sum_of(in.profile);
	loaded_done(&in);
	return rc;
}

/* How many allocations a run takes. */
static long count(const char *path, uint64_t *whole)
{
	const long most = 1L << 40;
	long used;

	allocations_left = most;
	assert_int_equal(run(path, whole), 0);
	used = most - allocations_left;
	allocations_left = -1;
	return used;
}

static void fail_in(const char *path)
{
	uint64_t whole, sum = 0;
	long n, i, live, failed = 0;

	/* What libraries keep for good is there after one run. */
	assert_int_equal(run(path, &whole), 0);
	n = count(path, &whole);
	live = allocations_live;
	for (i = 0; i < TRIALS && i < n; i++) {
		int rc;

		allocations_left = n <= TRIALS ? i : i * n / TRIALS;
		rc = run(path, &sum);
		allocations_left = -1;
		assert_true(rc == 0 || rc == -ERR_NOMEM);
		failed += rc != 0;
		if (!rc)
			assert_int_equal(sum, whole);
		assert_int_equal(allocations_live, live);
	}
	assert_true(failed > 0);
}

static void recording(void **state)
{
	(void)state;
	fail_in(in_tree("testdata/recordings/cpp-perf/perf.data.xz"));
}

static void text(void **state)
{
	char path[64];

	(void)state;
	fail_in(written(path, "a;main;f 3\na;main 4\nb;main;g;h 5\n"));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(recording), cmocka_unit_test(text)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
