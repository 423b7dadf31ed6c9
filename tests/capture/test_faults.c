/* test_faults.c - system calls that fail, by functions that take the place of the C library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "capture/child.h"

static int send_errno, poll_errno; /* 0: works */
static unsigned n_polls;

ssize_t send(int fd, const void *p, size_t n, int flags)
{
	errno = send_errno;
	return send_errno ? -1 : sendto(fd, p, n, flags, NULL, 0);
}

int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

	n_polls++;
	errno = poll_errno;
	return n && poll_errno ? -1 : ppoll(fds, n, timeout_ms < 0 ? NULL : &t, NULL);
}

/* Without being told the command would wait for ever, and capture for it. */
static void command_that_cannot_be_released(void **state)
{
	char *const argv[] = {(char[]){"true"}, NULL};
	struct child c;
	struct err err = {0};

	(void)state;
	assert_int_equal(child_fork(&c, argv, false, &err), 0);
	send_errno = ENOBUFS;
	alarm(60); /* of a test that hangs */
	assert_int_equal(child_go(&c, argv[0], &err), -ERR_IO);
	alarm(0);
	send_errno = 0;
	assert_non_null(strstr(err.what, "cannot start the command: "));
	assert_string_equal(err.source, "true");
	child_done(&c); /* waits for it */
}

static void command_that_was_killed(void **state)
{
	char *const argv[] = {(char[]){"true"}, NULL};
	struct child c;
	struct err err = {0};
	siginfo_t info;
	int status;

	(void)state;
	assert_int_equal(child_fork(&c, argv, false, &err), 0);
	kill(c.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(child_go(&c, argv[0], &err), 0);
	assert_true(child_reap(&c, &status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	child_done(&c);
}

/* The rings are read all the same, at intervals: before that as often as the processor could, with
 * real-time priority. */
static void poll_without_memory(void **state)
{
	char *const argv[] = {(char[]){"sleep"}, (char[]){"0.2"}, NULL};
	struct capture_options o = {.frequency_hz = 99,
				    .events = {"cpu-clock:u"},
				    .n_events = 1,
				    .output = "faults.data",
				    .command = argv,
				    .recorder_argv = argv,
				    .recorder_argc = 2};
	struct capture_result result;
	struct err err = {0};
	volatile int stop = 0;
	int rc;

	(void)state;
	poll_errno = ENOMEM;
	rc = capture_run(&o, &stop, &result, &err);
	poll_errno = 0;
	if (rc == -ERR_PERMISSION || rc == -ERR_UNSUPPORTED) /* an emulator has no events */
		skip();
	assert_int_equal(rc, 0);
	assert_true(WIFEXITED(result.child_status) && !WEXITSTATUS(result.child_status));
	assert_in_range(n_polls, 1, 100000); /* 5 ms each; without a pause there were 720,034 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_that_cannot_be_released),
		cmocka_unit_test(command_that_was_killed),
		cmocka_unit_test(poll_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
