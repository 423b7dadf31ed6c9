/* test_modules.c - the module table from many threads at once, and what it owns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/threads.h"
#include "modules/modules.h"

#define N_DSOS 6
#define ROUNDS 400

static const char *const paths[N_DSOS] = {
	"/proc/self/exe", "/bin/sh", "/usr/bin/env", "/nonexistent", "/etc/passwd", "/bin/cat",
};

struct shared {
	struct modules *modules;
	struct dso dsos[N_DSOS];
	struct module *_Atomic first[N_DSOS];
	atomic_uint wrong;
};

static void work(void *arg, size_t i, unsigned worker)
{
	struct shared *s = arg;
	size_t k = i % N_DSOS;
	struct module *m = modules_get(s->modules, &s->dsos[k]), *expected = NULL;
	struct elf_section sec;

	(void)worker;
	if (!atomic_compare_exchange_strong(&s->first[k], &expected, m) && expected != m)
		atomic_fetch_add(&s->wrong, 1);
	if (!m || (k < 3) != (m->image != NULL))
		atomic_fetch_add(&s->wrong, k != 5);
	if (i % 3 == 0)
		module_debug(s->modules, m);
	if (m->image && !elf_image_section(m->image, ".text", &sec, NULL))
		atomic_fetch_add(&s->wrong, 1);
	if (!module_tried_count(m) || !*module_tried(m, 0).text)
		atomic_fetch_add(&s->wrong, 1);
}

static void test_threads(void **state)
{
	struct shared s = {0};
	size_t i;

	(void)state;
	assert_int_equal(modules_new(&s.modules, NULL, NULL), 0);
	for (i = 0; i < N_DSOS; i++)
		s.dsos[i] = (struct dso){.path = paths[i]};
	threads_for(4, ROUNDS * N_DSOS, work, &s);
	assert_int_equal(s.wrong, 0);
	modules_free(s.modules);
}

static atomic_uint done_calls;

static void state_done(struct module_state *state)
{
	(void)state;
	done_calls++;
}

static void test_state_is_released(void **state)
{
	static struct module_state mine = {state_done};
	struct dso dso = {.path = "/proc/self/exe"};
	struct modules *modules;

	(void)state;
	assert_int_equal(modules_new(&modules, NULL, NULL), 0);
	atomic_store(&modules_get(modules, &dso)->unwind_state, &mine);
	modules_free(modules);
	assert_int_equal(done_calls, 1);
	modules_free(NULL);
}

static void test_texts(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < MODULE_MISS_N; i++)
		assert_true(strlen(module_miss_text((enum module_miss)i)) > 3);
	assert_string_equal(module_miss_text(MODULE_MISS_N), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_state_is_released),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
