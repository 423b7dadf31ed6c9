/* test_oom.c - every allocation on the way from samples to text fails once: an error, never a
 * crash, nothing left behind, and never a shorter output that looks whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/failing_malloc.h"
#include "tests/output/written.h"
#include "tests/profile/synthetic.h"

#ifdef SANITIZED

int main(void)
{
	puts("1..1\nok 1 - out of memory # SKIP the sanitizer's allocator cannot be replaced");
	return 0;
}

#else

static char output[1 << 18];

/* What was begun when memory ran out is not there twice. */
static void assert_no_twins(const struct profile *p)
{
	size_t i, k;

	for (i = 1; i < p->nodes.n; i++)
		for (k = 1; k < i; k++)
			assert_false(p->nodes.v[i].parent == p->nodes.v[k].parent &&
				     p->nodes.v[i].location == p->nodes.v[k].location);
}

/* A profile, named, written: 0 or the first error. Goes on after a failed profile_add(),
 * as the profile must stay usable. */
static int run(const struct output_format *f, size_t *size)
{
	struct output_options opt = {.style.with_tid = true, .generator = "test"};
	unsigned keep = f->keep | PROFILE_KEEP_TIDS;
	struct profile *p = profile_new(keep);
	FILE *out = fmemopen(output, sizeof output, "w");
	struct err err = {0};
	size_t i;
	int rc = p && out ? 0 : -ERR_NOMEM, one;

	for (i = 0; p && i < N_SYNTHETIC_SAMPLES; i++) {
		one = synthetic_add(p, &synthetic_samples[i]);
		if (one) /* again, with memory */
			synthetic_add(p, &synthetic_samples[i]);
		rc = rc ? rc : one;
	}
	if (p)
		assert_no_twins(p);
	if (!rc)
		rc = synthetic_name(p);
	if (!rc)
		rc = output_write(f, p, &opt, out, &err);
	if (out) {
		fflush(out);
		*size = (size_t)ftell(out);
		fclose(out);
	}
	profile_free(p);
	return rc;
}

static void every_allocation_fails_once(void **state)
{
	const struct output_format *const *f;
	char whole[sizeof output];
	size_t size, whole_size;
	long k, live;
	int rc;

	(void)state;
	for (f = output_formats; *f; f++) {
		assert_int_equal(run(*f, &whole_size), 0);
		assert_in_range(whole_size, 1, sizeof whole - 1);
		memcpy(whole, output, whole_size);
		for (k = 0;; k++) {
			live = allocations_live;
			allocations_left = k;
			rc = run(*f, &size);
			assert_int_equal(allocations_live, live);
			if (allocations_left >= 0)
				break; /* there are only k allocations */
			allocations_left = -1;
			if (rc) {
				assert_int_equal(rc, -ERR_NOMEM);
				continue;
			}
			/* Only the stream's own buffer may be done without. */
			assert_int_equal(size, whole_size);
			assert_memory_equal(output, whole, size);
		}
		allocations_left = -1;
		assert_in_range(k, 50, 10000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_fails_once),
	};

	return cmocka_run_group_tests_name("out of memory", tests, NULL, NULL);
}

#endif
