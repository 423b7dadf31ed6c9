/* test_rooted.c - names from recordings: no device is opened, and links of a container stay in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/rooted.h"

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void expect(const char *path, const char *text)
{
	char buf[64] = "";
	int fd = rooted_open(NULL, path, true);

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	assert_true(read(fd, buf, sizeof buf - 1) >= 0);
	close(fd);
	assert_string_equal(buf, text);
}

static void expect_error(const char *path, bool follow, int e)
{
	assert_int_equal(rooted_open(NULL, path, follow), -1);
	assert_int_equal(errno, e);
}

static void test_what_is_opened(void **state)
{
	(void)state;
	write_file("file", "text");
	expect("file", "text");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	expect_error("fifo", true, ENODEV); /* and does not wait for a writer */
	expect_error("/dev/null", true, ENODEV);
	expect_error(".", true, ENODEV);
	expect_error("none", true, ENOENT);
	assert_int_equal(symlink("file", "link"), 0);
	expect("link", "text");
	expect_error("link", false, ELOOP);
}

static void expect_below(const char *path, const char *text)
{
	char buf[64] = "";
	int fd = rooted_open("sys", path, true);

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	assert_true(read(fd, buf, sizeof buf - 1) >= 0);
	close(fd);
	assert_string_equal(buf, text);
}

/* As --symfs has it. */
static void test_given_root(void **state)
{
	char cwd[PATH_MAX], real[PATH_MAX];

	(void)state;
	assert_int_equal(mkdir("sys", 0755) | mkdir("sys/usr", 0755) | mkdir("sys/usr/lib", 0755),
			 0);
	write_file("top", "outside");
	write_file("sys/usr/lib/x", "inside");
	assert_int_equal(symlink("/usr/lib", "sys/lib"), 0);
	assert_int_equal(symlink("../../../../../../../../top", "sys/usr/lib/up"), 0);
	assert_non_null(getcwd(cwd, sizeof cwd));
	assert_int_equal(symlink(cwd, "sys/out"), 0);
	expect_below("sys/lib/x", "inside");
	expect_below("sys/lib/../lib/x", "inside");
	assert_int_equal(rooted_open("sys", "sys/usr/lib/up", true), -1);
	assert_int_equal(rooted_open("sys", "sys/../top", true), -1);
	assert_int_equal(rooted_open("sys", "sys/out/top", true), -1);
	expect_below("top", "outside"); /* not below it */
	assert_true(rooted_real("sys", "sys/lib/x", real));
	assert_string_equal(real, "sys/usr/lib/x");
	assert_false(rooted_real("sys", "sys/usr/lib/none", real));
	assert_true(rooted_real(NULL, "top", real));
	assert_int_equal(real[0], '/');
}

/* A hole at the end alone is allowed to who stops before it. */
static void check_data_end(off_t want)
{
	struct stat st;
	int fd = rooted_open_to_data_end(NULL, "sparse");

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_size > want);
	assert_int_equal(rooted_data_end(fd, &st), want);
	close(fd);
}

static void test_sparse(void **state)
{
	char page[4096] = {1};
	int fd = open("sparse", O_WRONLY | O_CREAT, 0600), i;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, page, sizeof page), sizeof page);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	close(rooted_open(NULL, "sparse", true)); /* small ones may be */
	assert_int_equal(truncate("sparse", 1ll << 32), 0);
	expect_error("sparse", true, EFBIG);
	check_data_end(sizeof page);
	/* A tenth of it in pieces of 64 KiB. */
	assert_int_equal(truncate("sparse", 100 << 20), 0);
	for (i = 0; i < 160 * 16; i++)
		assert_int_equal(
			pwrite(fd, page, sizeof page, (off_t)i / 16 * 640 * 1024 + i % 16 * 4096),
			sizeof page);
	close(fd);
	fd = rooted_open(NULL, "sparse", true);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, page, 1), 1); /* from the beginning */
	assert_int_equal(page[0], 1);
	close(fd);
}

/* A process with another root has a link that would lead to the machine's files. */
static void test_container(void **state)
{
	char path[128];
	int ready[2];
	pid_t pid;

	(void)state;
	if (geteuid()) {
		print_message("only root can change its root\n");
		skip();
	}
	assert_int_equal(mkdir("c", 0755) | mkdir("c/tmp", 0755) | mkdir("c/secret", 0755), 0);
	assert_int_equal(mkdir("outside", 0755), 0);
	write_file("outside/map", "outside");
	write_file("c/secret/map", "inside");
	assert_int_equal(symlink("/secret/map", "c/tmp/absolute"), 0);
	assert_int_equal(symlink("../../../../../../../../etc/passwd", "c/tmp/up"), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		if (chroot("c") || chdir("/") || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], path, 1), 1);
	snprintf(path, sizeof path, "/proc/%d/root/tmp/absolute", (int)pid);
	expect(path, "inside");
	snprintf(path, sizeof path, "/proc/%d/root/tmp/up", (int)pid);
	expect_error(path, true, ENOENT);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

static int enter_folder(void **state)
{
	static char dir[] = "rooted-XXXXXX";

	(void)state;
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_opened),
		cmocka_unit_test(test_given_root),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_container),
	};

	return cmocka_run_group_tests(tests, enter_folder, NULL);
}
