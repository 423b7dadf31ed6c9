/* test_machine_oom.c - every allocation of the process model fails once: an error, never a crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "reader/machine.h"
#include "tests/reader/machine_facts.h"
#include "tests/failing_malloc.h"

#ifdef SANITIZED

int main(void)
{
	puts("1..1\nok 1 - out of memory # SKIP the sanitizer's allocator cannot be replaced");
	return 0;
}

#else

static int feed_process(struct machine *m, uint32_t pid)
{
	struct machine_mmap r = {.pid = pid, .tid = pid, .len = 0x3000, .is_exec = true};
	static const char *const paths[] = {"/a", "//anon", "/b", "[vdso]"};
	int rc = machine_comm(m, pid, pid, "name", true);

	for (unsigned i = 0; i < 200 && !rc; i++) {
		r.start = i * 89 % 200 * 0x1000;
		r.path = paths[i % 4];
		rc = machine_mmap(m, &r);
		if (!rc && i % 3 == 0 && !machine_space(m, pid))
			rc = -ERR_NOMEM;
	}
	if (!rc)
		rc = machine_fork(m, pid + 1, pid, pid + 1, pid);
	if (!rc)
		rc = machine_exit(m, pid, pid);
	return rc;
}

static int feed(struct machine *m)
{
	static const struct build_id id = {2, {1, 2}};
	int rc = machine_add_build_id(m, "/a", &id, 0);

	for (uint32_t pid = 1; pid < 100 && !rc; pid += 33) {
		machine_next_epoch(m);
		rc = feed_process(m, pid);
		machine_reclaim(m, pid / 33);
	}
	if (!rc)
		rc = machine_ksymbol(m, 0x1000, 0x1000, "bpf", false);
	if (!rc)
		rc = machine_ksymbol(m, 0x1000, 0x1000, "bpf", true);
	if (!rc && (!machine_kernel(m) || !machine_comm_of(m, 7, 8)))
		rc = -ERR_NOMEM;
	return rc;
}

static void test_out_of_memory(void **state)
{
	unsigned failures = 0;
	int rc = -1;

	(void)state;
	for (long n = 0; rc; n++) {
		struct machine *m = NULL;

		allocations_left = n;
		rc = machine_new(&m);
		if (!rc)
			rc = feed(m);
		allocations_left = -1;
		machine_free(m); /* asserts that no version leaked */
		assert_true(rc == 0 || rc == -ERR_NOMEM);
		failures += rc != 0;
	}
	assert_true(failures > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_out_of_memory)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
