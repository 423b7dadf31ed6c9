/* test_rooted.c - names from recordings: no device is opened, and links of a container stay in it. */
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
	int fd = rooted_open(path, true);

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	assert_true(read(fd, buf, sizeof buf - 1) >= 0);
	close(fd);
	assert_string_equal(buf, text);
}

static void expect_error(const char *path, bool follow, int e)
{
	assert_int_equal(rooted_open(path, follow), -1);
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
		cmocka_unit_test(test_container),
	};

	return cmocka_run_group_tests(tests, enter_folder, NULL);
}
