/* test_perfdata.c - where a recording goes in a folder that others may write to, too. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/perfdata.h"

static const char *planted; /* what renameat() finds in the old file's place right afterwards */

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void expect_file(const char *path, const char *text)
{
	char buf[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fread(buf, 1, sizeof buf - 1, f) == strlen(text));
	fclose(f);
	assert_string_equal(buf, text);
}

/* Takes the place of libc's. */
int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	int rc = (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);

	if (planted)
		write_file(from, planted);
	return rc;
}

static int enter_folder(void **state)
{
	static char dir[] = "perfdata-XXXXXX";

	(void)state;
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static void test_old_file_is_kept(void **state)
{
	struct perfdata f;
	struct stat st;
	struct err err;

	(void)state;
	write_file("kept.data", "before");
	assert_int_equal(perfdata_create(&f, "kept.data", &err), 0);
	assert_int_equal(fstat(f.fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	expect_file("kept.data.old", "before");
	perfdata_discard(&f);
	expect_file("kept.data", "before");
	assert_int_equal(access("kept.data.old", F_OK), -1);
}

/* Another user's file would be readable by that user. */
static void test_planted_file_is_refused(void **state)
{
	struct perfdata f;
	struct err err;

	(void)state;
	write_file("raced.data", "before");
	planted = "theirs";
	assert_int_equal(perfdata_create(&f, "raced.data", &err), -ERR_IO);
	planted = NULL;
	assert_int_equal(f.fd, -1);
	expect_file("raced.data", "theirs");
	expect_file("raced.data.old", "before");
}

static void test_links_of_others(void **state)
{
	struct perfdata f;
	struct err err;

	(void)state;
	if (geteuid()) {
		print_message("only root can make a link another user's\n");
		skip();
	}
	assert_int_equal(mkdir("shared", 0777) | chmod("shared", 01777), 0);
	write_file("victim", "precious");
	assert_int_equal(symlink("../victim", "shared/p.data"), 0);
	assert_int_equal(lchown("shared/p.data", 65534, 65534), 0);
	assert_int_equal(perfdata_create(&f, "shared/p.data", &err), -ERR_PERMISSION);
	assert_int_equal(chdir("shared"), 0);
	assert_int_equal(perfdata_create(&f, "p.data", &err), -ERR_PERMISSION);
	assert_int_equal(chdir(".."), 0);
	expect_file("victim", "precious");
	/* The folder's owner may have links there, and so may a user in a folder that only he can
	 * write to. */
	assert_int_equal(chmod("shared", 0755), 0);
	assert_int_equal(perfdata_create(&f, "shared/p.data", &err), 0);
	perfdata_discard(&f);
	expect_file("victim", "precious");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_old_file_is_kept),
		cmocka_unit_test(test_planted_file_is_refused),
		cmocka_unit_test(test_links_of_others),
	};

	return cmocka_run_group_tests(tests, enter_folder, NULL);
}
