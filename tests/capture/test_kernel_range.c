/* test_kernel_range.c - the range of the kernel's code, from lists that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/kernel_range.h"

#define WHOLE                                    \
	"0000000000000000 A fixed_percpu_data\n" \
	"ffffffff81000000 T _text\n"             \
	"ffffffff81000100 T _stext\n"            \
	"ffffffff81000140 t not_text\n"          \
	"ffffffff82200000 T _etext\n"            \
	"ffffffff83000000 D _edata\n"
/* As after another boot, and too short to hold the end. */
#define BEGINNING                    \
	"ffffffff91000000 T _text\n" \
	"ffffffff91000100 T _stext\n"
#define HIDDEN                       \
	"0000000000000000 T _text\n" \
	"ffffffff82200000 T _etext\n"

static const struct build_id this_kernel = {4, "this"}, another = {4, "that"}, unknown = {0};
static char dir[4096], file[4160];

static struct kernel_range range_of(const char *list, const struct build_id *id, const char *cache)
{
	struct kernel_range r;
	FILE *f = fopen("kallsyms", "w");

	assert_non_null(f);
	assert_true(fputs(list, f) >= 0);
	assert_int_equal(fclose(f), 0);
	kernel_range_read(&r, ".", id, cache);
	return r;
}

static void reads_the_list(void **state)
{
	struct kernel_range r = range_of(WHOLE, &unknown, dir);

	(void)state;
	assert_int_equal(r.text, 0xffffffff81000000);
	assert_int_equal(r.stext, 0xffffffff81000100);
	assert_int_equal(r.etext, 0xffffffff82200000);
	/* What has no id is not kept. */
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(range_of(BEGINNING, &unknown, dir).etext, 0);
}

static void remembers_the_end(void **state)
{
	struct kernel_range r;

	(void)state;
	range_of(WHOLE, &this_kernel, dir);
	r = range_of(BEGINNING, &this_kernel, dir);
	assert_int_equal(r.text, 0xffffffff91000000);
	assert_int_equal(r.stext, 0xffffffff91000100);
	assert_int_equal(r.etext, 0xffffffff92200000);
	assert_int_equal(range_of(BEGINNING, &another, dir).etext, 0);
	assert_int_equal(range_of(BEGINNING, &this_kernel, NULL).etext, 0);
}

static void hidden_stays_hidden(void **state)
{
	(void)state;
	range_of(WHOLE, &this_kernel, dir);
	assert_int_equal(range_of(HIDDEN, &this_kernel, dir).etext, 0);
	assert_int_equal(range_of(HIDDEN, &unknown, dir).etext, 0);
}

static void put(const char *bytes, size_t n)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void damaged_files_are_not_used(void **state)
{
	char bytes[256];
	size_t n;
	FILE *f;

	(void)state;
	range_of(WHOLE, &this_kernel, dir);
	f = fopen(file, "r");
	assert_non_null(f);
	n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	assert_in_range(n, 40, sizeof bytes - 1);
	for (size_t i = 0; i < n; i++) {
		bytes[i] ^= 1;
		put(bytes, n);
		assert_int_equal(range_of(BEGINNING, &this_kernel, dir).etext, 0);
		bytes[i] ^= 1;
		put(bytes, i);
		assert_int_equal(range_of(BEGINNING, &this_kernel, dir).etext, 0);
	}
	put(bytes, n + 1);
	assert_int_equal(range_of(BEGINNING, &this_kernel, dir).etext, 0);
	put(bytes, n);
	assert_int_equal(range_of(BEGINNING, &this_kernel, dir).etext, 0xffffffff92200000);
}

static int make_dir(void **state)
{
	char here[] = "/tmp/unspool-range-XXXXXX";

	(void)state;
	if (!mkdtemp(here) || chdir(here))
		return -1;
	snprintf(dir, sizeof dir, "%s/unspool", here);
	snprintf(file, sizeof file, "%s/kernel.range", dir);
	return 0;
}

static int remove_dir(void **state)
{
	char here[4096];

	(void)state;
	snprintf(here, sizeof here, "%.*s", (int)(strrchr(dir, '/') - dir), dir);
	unlink(file);
	unlink("kallsyms");
	rmdir(dir);
	return chdir("/") || rmdir(here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_the_list, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(remembers_the_end, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(hidden_stays_hidden, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(damaged_files_are_not_used, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
