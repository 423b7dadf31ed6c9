/* helper.c - the helper process, and the messages between it and us. */
#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/rooted.h"
#include "base/tempfile.h"

enum what { PLACE, MAPS, TEMP };

struct request {
	enum what what;
	bool follow;
	char path[PATH_MAX];
};

static int helper = -1; /* socket; -1: none */
static pthread_mutex_t helper_lock = PTHREAD_MUTEX_INITIALIZER;

/* The length of "/proc/PID/" at the beginning of a path; 0: it begins with something else. */
static size_t process_of(const char *path)
{
	int n = 0;

	if (sscanf(path, "/proc/%*[0-9]%n", &n) < 0 || n <= 0 || path[n] != '/')
		return 0;
	return (size_t)n + 1;
}

/* Room for one descriptor. */
union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* ---- the helper ------------------------------------------------------------------------------ */

static int open_maps(const char *path)
{
	size_t n = process_of(path);

	if (!n || strcmp(path + n, "maps")) {
		errno = EPERM;
		return -1;
	}
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int serve(const struct request *q)
{
	if (q->what == TEMP)
		return tempfile_open_here();
	if (!process_of(q->path) || strstr(q->path, "/../")) {
		errno = EPERM;
		return -1;
	}
	return q->what == MAPS ? open_maps(q->path) : rooted_place(q->path, q->follow);
}

static ssize_t reply(int to, int fd, int error)
{
	union control c = {.bytes = {0}};
	struct iovec v = {&error, sizeof error};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	if (fd >= 0) {
		m.msg_control = c.bytes;
		m.msg_controllen = sizeof c.bytes;
		c.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS,
					  .cmsg_len = CMSG_LEN(sizeof fd)};
		memcpy(CMSG_DATA(&c.head), &fd, sizeof fd);
	}
	return sendmsg(to, &m, MSG_NOSIGNAL);
}

void helper_close_others(int keep)
{
	enum { CLOSE_RANGE = 436 }; /* Linux 5.9; the same number on all architectures */
	const int first = STDERR_FILENO + 1;
	long max, fd;

	if ((keep == first || !syscall(CLOSE_RANGE, first, keep - 1, 0)) &&
	    !syscall(CLOSE_RANGE, keep + 1, UINT_MAX, 0))
		return;
	max = sysconf(_SC_OPEN_MAX);
	for (fd = first; fd < max; fd++)
		if (fd != keep)
			close((int)fd);
}

/* Signals to the process group are for the parent; its streams must end when it ends. */
static void stand_apart(int keep)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;
	size_t i;

	for (i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	for (fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	helper_close_others(keep);
}

static void run_helper(int from)
{
	struct request q;
	ssize_t n;
	int fd;

	stand_apart(from);
	while ((n = recv(from, &q, sizeof q, 0)) > 0) {
		if (n != (ssize_t)sizeof q || q.path[sizeof q.path - 1])
			break;
		fd = serve(&q);
		if (reply(from, fd, fd < 0 ? errno : 0) < 0)
			break;
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}

/* ---- who asks -------------------------------------------------------------------------------- */

void helper_start(void)
{
	int pair[2];
	pid_t pid;

	if (helper >= 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return;
	pid = fork();
	if (!pid)
		run_helper(pair[1]);
	close(pair[1]);
	if (pid < 0)
		close(pair[0]);
	else
		helper = pair[0];
}

bool helper_has(const char *path)
{
	return helper >= 0 && process_of(path);
}

static int receive(void)
{
	union control c;
	int error = EIO, fd = -1;
	struct iovec v = {&error, sizeof error};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = c.bytes,
			   .msg_controllen = sizeof c.bytes};
	const struct cmsghdr *head;
	ssize_t n;

	do
		n = recvmsg(helper, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	head = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(head), sizeof fd);
	errno = n > 0 ? error : EIO;
	return fd;
}

static int ask(enum what what, const char *path, bool follow)
{
	struct request q = {.what = what, .follow = follow};
	int fd = -1, e;

	if (strlen(path) >= sizeof q.path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(q.path, path, strlen(path) + 1);
	pthread_mutex_lock(&helper_lock);
	if (send(helper, &q, sizeof q, MSG_NOSIGNAL) == (ssize_t)sizeof q)
		fd = receive();
	e = errno;
	pthread_mutex_unlock(&helper_lock);
	errno = e;
	return fd;
}

bool helper_runs(void)
{
	return helper >= 0;
}

int helper_temp(void)
{
	return ask(TEMP, "", false);
}

int helper_place(const char *path, bool follow)
{
	return ask(PLACE, path, follow);
}

int helper_maps(const char *path)
{
	return helper_has(path) ? ask(MAPS, path, true) : open(path, O_RDONLY | O_CLOEXEC);
}
