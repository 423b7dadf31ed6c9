/* fetch_process.c - the process, and the messages between it and us. */
#include "modules/fetch_process.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cache_file.h"
#include "base/err.h"
#include "base/helper.h"
#include "base/sandbox.h"
#include "modules/modules.h"

enum { STARTED_MAX = 256 };

struct order {
	pid_t kill; /* 0: start one */
	unsigned silence_s, total_s;
};

/* What the process knows. Orders may come from code that a hostile file has brought into the one
 * that parses: it can end what was started here, and ask the servers of the environment. */
struct fetcher {
	int from; /* orders */
	const char *cache_dir;
	pid_t started[STARTED_MAX];
	size_t n;
};

/* The socket to the process; -1: there is none. One for this process, as the sandbox is. */
static int orders = -1;
static pthread_mutex_t orders_lock = PTHREAD_MUTEX_INITIALIZER;

/* Room for one descriptor. */
union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* ---- the process ----------------------------------------------------------------------------- */

/* With the descriptor of a worker, if it was started. */
static ssize_t reply(int to, const struct worker *w)
{
	union control c = {.bytes = {0}};
	pid_t pid = w->pid;
	struct iovec v = {&pid, sizeof pid};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	if (pid) {
		m.msg_control = c.bytes;
		m.msg_controllen = sizeof c.bytes;
		c.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS,
					  .cmsg_len = CMSG_LEN(sizeof w->fd)};
		memcpy(CMSG_DATA(&c.head), &w->fd, sizeof w->fd);
	}
	return sendmsg(to, &m, MSG_NOSIGNAL);
}

static void end_one(struct fetcher *f, pid_t pid)
{
	struct worker w = {.pid = pid, .fd = -1};

	for (size_t i = 0; i < f->n; i++)
		if (f->started[i] == pid) {
			f->started[i] = f->started[--f->n];
			worker_kill(&w, f->cache_dir);
			return;
		}
}

/* The parent asks a worker through its copy of the descriptor. */
static ssize_t follow(struct fetcher *f, const struct order *o)
{
	const struct worker_setup setup = {f->cache_dir, o->silence_s, o->total_s};
	struct worker w = {.fd = -1}, self = {.fd = f->from};
	ssize_t n;

	if (o->kill)
		end_one(f, o->kill);
	else if (f->n == STARTED_MAX || worker_start(&w, &setup, &self, 1))
		w = (struct worker){.fd = -1};
	else
		f->started[f->n++] = w.pid;
	n = reply(f->from, &w);
	if (w.fd >= 0)
		close(w.fd);
	return n;
}

static void confine(const char *cache_dir)
{
	struct sandbox s = {.network = true, .no_helper = true};
	char lacks[160];
	struct err err;

	/* Without a cache nothing is fetched, and the reason is said then. */
	if (*cache_dir && !cache_dir_make(cache_dir))
		sandbox_allow_folder(&s, cache_dir);
	if (sandbox_enter(&s, lacks, sizeof lacks, &err))
		_exit(1);
}

/* Follows orders until the parent has ended. */
static void run(int from, const char *cache_dir)
{
	struct fetcher f = {.from = from, .cache_dir = cache_dir};
	struct order o;

	worker_stand_apart();
	helper_close_others(from);
	confine(cache_dir);
	while (recv(from, &o, sizeof o, 0) == (ssize_t)sizeof o && follow(&f, &o) >= 0)
		;
	_exit(0);
}

/* ---- who asks -------------------------------------------------------------------------------- */

int modules_fetch_apart(struct err *err)
{
	char *dir = modules_fetch_dir();
	int pair[2];
	pid_t pid;

	if (!dir)
		return err_nomem(err);
	if (orders >= 0) {
		free(dir);
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(dir);
		return err_errno(err, errno, NULL, "start the process that fetches");
	}
	pid = fork();
	if (!pid) {
		close(pair[0]);
		run(pair[1], dir);
	}
	free(dir);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_errno(err, errno, NULL, "start the process that fetches");
	}
	orders = pair[0];
	return 0;
}

bool fetch_process_runs(void)
{
	return orders >= 0;
}

static int receive(struct worker *w)
{
	union control c;
	pid_t pid = 0;
	struct iovec v = {&pid, sizeof pid};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = c.bytes,
			   .msg_controllen = sizeof c.bytes};
	const struct cmsghdr *head;
	ssize_t n;

	do
		n = recvmsg(orders, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	head = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	*w = (struct worker){.fd = -1};
	if (!head || head->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&w->fd, CMSG_DATA(head), sizeof w->fd);
	w->pid = pid;
	return 0;
}

static int ask(struct worker *w, const struct order *o)
{
	int rc = -1;

	pthread_mutex_lock(&orders_lock);
	if (send(orders, o, sizeof *o, MSG_NOSIGNAL) == (ssize_t)sizeof *o)
		rc = receive(w);
	pthread_mutex_unlock(&orders_lock);
	return rc;
}

int fetch_process_start(struct worker *w, const struct worker_setup *setup)
{
	struct order o = {.silence_s = setup->silence_s, .total_s = setup->total_s};

	return ask(w, &o);
}

void fetch_process_kill(struct worker *w)
{
	struct order o = {.kill = w->pid};
	struct worker none;

	if (!w->pid)
		return;
	close(w->fd);
	(void)ask(&none, &o);
	*w = (struct worker){.fd = -1};
}
