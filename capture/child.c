/* child.c - forks the command, holds it back until everything is ready, and reaps it. */
#include "capture/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void run(int fd, char *const argv[], bool stdout_taken) __attribute__((noreturn));

static void run(int fd, char *const argv[], bool stdout_taken)
{
	ssize_t n;
	int failed;
	char go;

	do
		n = read(fd, &go, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1 && (!stdout_taken || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)) {
		execvp(argv[0], argv);
		failed = errno;
		(void)!write(fd, &failed, sizeof failed);
	}
	_exit(127);
}

int child_fork(struct child *c, char *const argv[], bool stdout_taken, struct err *err)
{
	int fds[2];
	pid_t pid;

	*c = (struct child){0, -1, -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return err_errno(err, errno, NULL, "create a socket pair");
	pid = fork();
	if (!pid) {
		close(fds[0]);
		run(fds[1], argv, stdout_taken);
	}
	close(fds[1]);
	if (pid < 0) {
		int saved = errno;

		close(fds[0]);
		return err_errno(err, saved, NULL, "fork");
	}
	c->pid = pid;
	c->fd = fds[0];
#ifdef SYS_pidfd_open
	c->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
#endif
	return 0;
}

int child_go(struct child *c, const char *name, struct err *err)
{
	int failed = 0;
	ssize_t n;

	do
		n = send(c->fd, "", 1, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	/* If the child was killed meanwhile (EPIPE), child_reap() finds out. After any other error
	 * the child would wait forever, so the error is returned. */
	if (n < 0 && errno != EPIPE)
		return err_errno(err, errno, name, "start the command");
	do
		n = read(c->fd, &failed, sizeof failed);
	while (n < 0 && errno == EINTR);
	close_fd(&c->fd);
	if (n == (ssize_t)sizeof failed)
		return err_errno(err, failed, name, "run the command");
	return 0;
}

bool child_reap(struct child *c, int *status)
{
	int st;

	if (!c->pid || waitpid(c->pid, &st, WNOHANG) != c->pid)
		return false;
	if (WIFSTOPPED(st)) { /* later than thread_state_read() waits for it */
		ptrace(PTRACE_DETACH, c->pid, NULL, NULL);
		return false;
	}
	*status = st;
	c->pid = 0;
	return true;
}

bool child_stop(struct child *c, unsigned timeout_ms, int *status)
{
	struct pollfd p = {.fd = c->pid_fd, .events = POLLIN};

	if (!c->pid)
		return true;
	kill(c->pid, SIGTERM);
	for (unsigned waited = 0;; waited += 20) {
		if (child_reap(c, status))
			return true;
		if (waited >= timeout_ms)
			return false;
		poll(&p, 1, 20); /* without a pid_fd this is only the pause */
	}
}

void child_done(struct child *c)
{
	bool released = c->fd < 0;
	int status;

	close_fd(&c->fd);
	close_fd(&c->pid_fd);
	if (c->pid && !released)
		waitpid(c->pid, &status, 0);
}
