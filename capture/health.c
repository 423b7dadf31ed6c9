/* health.c - the process that runs a command again and again. */
#include "capture/health.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 20, NOT_FOUND = 127 };

static void run(const char *command) __attribute__((noreturn));

static void run(const char *command)
{
	const int none = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	for (int fd = 0; fd < 3 && none >= 0; fd++)
		dup2(none, fd);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(NOT_FOUND);
}

/* Returns the exit status; 128 for a signal. */
static int run_once(const char *command)
{
	const pid_t pid = fork();
	int status = 0, waited = 0;
	pid_t got = 0;

	if (!pid) {
		setpgid(0, 0);
		run(command);
	}
	if (pid < 0)
		return 0; /* it says nothing about what is watched */
	setpgid(pid, pid);
	while (!(got = waitpid(pid, &status, WNOHANG)) && waited < HEALTH_MAX_MS) {
		poll(NULL, 0, LOOK_MS);
		waited += LOOK_MS;
	}
	if (got == pid)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	return 128;
}

static void watch(const char *command, int fd) __attribute__((noreturn));

/* Until capture has ended. */
static void watch(const char *command, int fd)
{
	struct pollfd p = {.fd = fd};
	unsigned char status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* of the terminal: capture decides when it ends */
	do {
		status = (unsigned char)run_once(command);
	} while (write(fd, &status, 1) == 1 && poll(&p, 1, HEALTH_EVERY_MS) == 0);
	_exit(0);
}

int health_start(struct health *h, const char *command, struct err *err)
{
	int fds[2];

	*h = (struct health){.fd = -1};
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return err_errno(err, errno, NULL, "create a pipe");
	h->pid = fork();
	if (!h->pid) {
		close(fds[0]);
		watch(command, fds[1]);
	}
	close(fds[1]);
	h->fd = fds[0];
	if (h->pid < 0) {
		h->pid = 0;
		close(h->fd);
		h->fd = -1;
		return err_errno(err, errno, NULL, "fork");
	}
	return 0;
}

enum health_state health_look(struct health *h)
{
	enum health_state state = HEALTH_SAME;
	unsigned char status;

	while (h->fd >= 0 && read(h->fd, &status, 1) == 1) {
		if (status == NOT_FOUND || status == NOT_FOUND - 1)
			return HEALTH_NO_COMMAND;
		if (status && !h->was_bad)
			state = HEALTH_FAILS;
		h->was_bad = status != 0;
	}
	return state;
}

void health_stop(struct health *h)
{
	if (h->fd >= 0)
		close(h->fd);
	if (h->pid) {
		kill(h->pid, SIGKILL);
		waitpid(h->pid, NULL, 0);
	}
	*h = (struct health){.fd = -1};
}
