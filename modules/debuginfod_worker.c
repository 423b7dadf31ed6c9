/* debuginfod_worker.c - runs queries of the parent process, one after the other. */
#include "modules/debuginfod_worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "modules/debuginfod_servers.h"
#include "modules/fetch_process.h"

enum {
	/* Interval of progress messages; the library calls back at every packet. */
	SIGN_OF_LIFE_MS = 50,
	LOG_BYTES_MAX = 64 << 10,
	FILE_BYTES_MIN = 1 << 20,   /* RLIMIT_FSIZE must leave space for the log, too */
	WRITE_BYTES_MAX = 16 << 10, /* CURL_MAX_WRITE_SIZE */
};

/* ---- in the worker ----------------------------------------------------------------------- */

/* The library's handle with its connections, kept between queries. */
struct session {
	struct servers known; /* of the environment as it was; no others are asked */
	debuginfod_client *handle;
	int log_fd; /* a file in memory */
};

struct transfer {
	int fd; /* to the parent */
	const struct worker_request *request;
	struct worker_reply *reply;
	bool cancelled;
	uint64_t sent_ms;
};

/* Called by the library once a second, and whenever something arrives. A nonzero result ends the
 * query. a and b are byte counts only after a server has begun to send; then there is a URL. */
static int on_progress(debuginfod_client *handle, long a, long b)
{
	const char *why, *url;
	const struct debuginfod_library *lib = debuginfod_library(&why);
	struct transfer *transfer = lib->get_user_data(handle);
	struct worker_reply *r = transfer->reply;
	uint64_t now = clock_ms();
	char cancel;

	url = lib->get_url(handle);
	r->bytes = url && a > 0 ? (uint64_t)a : 0;
	r->total = url && b > 0 ? (uint64_t)b : 0;
	if (url && transfer->request->file[0] == '.' && !strstr(url, "/section/"))
		r->is_whole_file = transfer->cancelled = true;
	if (r->bytes > transfer->request->limit_bytes || r->total > transfer->request->limit_bytes)
		r->is_too_large = transfer->cancelled = true;
	if (now - transfer->sent_ms < SIGN_OF_LIFE_MS && r->committed == (url != NULL))
		return transfer->cancelled;
	r->committed = url;
	transfer->sent_ms = now;
	/* The parent has ended, or cancels the query. */
	if (send(transfer->fd, r, sizeof *r, MSG_NOSIGNAL) < 0 ||
	    recv(transfer->fd, &cancel, 1, MSG_DONTWAIT) >= 0)
		transfer->cancelled = true;
	return transfer->cancelled;
}

static int call(const struct debuginfod_library *lib, debuginfod_client *handle,
		const struct worker_request *q, char **path)
{
	if (q->file[0] == '.')
		return lib->find_section
			       ? lib->find_section(handle, q->id.bytes, q->id.size, q->file, path)
			       : -ENOTSUP;
	if (!strcmp(q->file, "executable"))
		return lib->find_executable(handle, q->id.bytes, q->id.size, path);
	return lib->find_debuginfo(handle, q->id.bytes, q->id.size, path);
}

/* Reads the log of the last call, and clears it. */
static void read_log(const struct session *s, size_t n_servers, struct debuginfod_log *log)
{
	char *text = malloc(LOG_BYTES_MAX + 1);
	ssize_t n = text ? pread(s->log_fd, text, LOG_BYTES_MAX, 0) : 0;

	*log = (struct debuginfod_log){.committed = -1, .asked = true};
	if (text) {
		text[n > 0 ? n : 0] = 0;
		debuginfod_log_parse(log, text, n_servers);
	}
	free(text);
	if (!ftruncate(s->log_fd, 0)) /* does not fail on files in memory */
		lseek(s->log_fd, 0, SEEK_SET);
}

static bool session_begin(struct session *s, const char **why)
{
	const struct debuginfod_library *lib;

	*why = "";
	if (s->handle)
		return true;
	lib = debuginfod_library(why);
	if (!lib)
		return false;
	s->log_fd = memfd_create("debuginfod", MFD_CLOEXEC);
	s->handle = s->log_fd < 0 ? NULL : lib->begin();
	if (!s->handle)
		return false;
	lib->set_verbose_fd(s->handle, s->log_fd);
	lib->set_progressfn(s->handle, on_progress);
	return true;
}

/* A library that does not know policies takes them for servers, so they are left out. A library
 * built without signature checks ignores them, too. What was fetched is checked in any case. */
static void set_urls(const struct debuginfod_library *lib, const struct servers *known,
		     const char *urls)
{
	char text[DEBUGINFOD_URLS_MAX], copy[DEBUGINFOD_URLS_MAX], *word, *state, *p = text;

	*p = 0;
	snprintf(copy, sizeof copy, "%s", urls);
	for (word = strtok_r(copy, " ", &state); word; word = strtok_r(NULL, " ", &state))
		if (servers_have_word(known, word) &&
		    (lib->knows_ima || strncmp(word, "ima:", 4) != 0))
			p += snprintf(p, sizeof text - (size_t)(p - text), "%s%s",
				      p == text ? "" : " ", word);
	setenv(DEBUGINFOD_URLS_ENV_VAR, text, 1);
}

static uint64_t file_limit(const struct worker_request *q)
{
	return q->limit_bytes > FILE_BYTES_MIN ? q->limit_bytes : FILE_BYTES_MIN;
}

/* Limits the files that are written, because the library calls back too late to stop in time. */
static void limit_files(uint64_t bytes)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_FSIZE, &r))
		return;
	r.rlim_cur = bytes < r.rlim_max ? bytes : r.rlim_max;
	setrlimit(RLIMIT_FSIZE, &r);
}

/* Did the limit end the query? The failed write is an error like any other, and its bytes are not
 * counted. */
static bool reached_limit(const struct transfer *transfer)
{
	return transfer->reply->fd_or_errno < 0 &&
	       transfer->reply->bytes + WRITE_BYTES_MAX >= file_limit(transfer->request);
}

static void answer(struct session *s, struct transfer *transfer)
{
	struct worker_reply *r = transfer->reply;
	const struct debuginfod_library *lib;
	const char *why;
	char *path = NULL;
	struct stat st;

	r->is_over = true;
	if (!session_begin(s, &why)) {
		r->no_library = true;
		r->fd_or_errno = -ENOSYS;
		snprintf(r->path, sizeof r->path, "%s", why);
		return;
	}
	r->is_over = false;
	lib = debuginfod_library(&why);
	set_urls(lib, &s->known, transfer->request->urls);
	lib->set_user_data(s->handle, transfer);
	limit_files(file_limit(transfer->request));
	r->fd_or_errno = call(lib, s->handle, transfer->request, &path);
	r->is_over = true;
	r->is_too_large |= reached_limit(transfer);
	read_log(s, transfer->request->n_servers, &r->log);
	if (r->fd_or_errno < 0)
		return;
	if (!fstat(r->fd_or_errno, &st))
		r->bytes = (uint64_t)st.st_size;
	close(r->fd_or_errno);
	snprintf(r->path, sizeof r->path, "%s", path ? path : "");
	free(path);
}

static void setenv_seconds(const char *name, unsigned s)
{
	char text[16];

	snprintf(text, sizeof text, "%u", s);
	setenv(name, text, 1);
}

/* The parent's timeouts decide; the library's own retries could not be reported, so they are off.
 */
static void prepare_environment(const struct worker_setup *setup)
{
	setenv_seconds(DEBUGINFOD_TIMEOUT_ENV_VAR, setup->silence_s);
	setenv_seconds(DEBUGINFOD_MAXTIME_ENV_VAR, setup->total_s);
	setenv(DEBUGINFOD_RETRY_LIMIT_ENV_VAR, "0", 1);
	setenv(DEBUGINFOD_CACHE_PATH_ENV_VAR, setup->cache_dir, 1);
	unsetenv(DEBUGINFOD_PROGRESS_ENV_VAR);
	unsetenv(DEBUGINFOD_VERBOSE_ENV_VAR);
}

/* Answers requests until the parent closes the socket. */
static void serve(int fd, const struct worker_setup *setup)
{
	struct worker_request *q = malloc(sizeof *q);
	struct worker_reply *r = malloc(sizeof *r);
	struct session session = {.log_fd = -1};
	ssize_t n;

	if (servers_init(&session.known))
		return;
	prepare_environment(setup);
	while (q && r && (n = recv(fd, q, sizeof *q, 0)) > 0) {
		struct transfer transfer = {.fd = fd, .request = q, .reply = r};

		if (n != (ssize_t)sizeof *q)
			continue; /* a cancellation that came too late */
		memset(r, 0, sizeof *r);
		r->is_over = q->reach_ms;
		if (q->reach_ms)
			servers_reach(&session.known, q->reach_ms, r->reachable);
		else
			answer(&session, &transfer);
		if (send(fd, r, sizeof *r, MSG_NOSIGNAL) < 0)
			break;
	}
}

/* Closes our stdout, because a program that reads it through a pipe must see its end as soon as the
 * output is complete. */
static void leave_standard_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

/* Signals to the process group are for the parent: when it ends, it asks the library to end, which
 * removes incomplete files. */
void worker_stand_apart(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	leave_standard_streams();
}

/* ---- in the process that starts them ----------------------------------------------------- */

int worker_start(struct worker *w, const struct worker_setup *setup, const struct worker *others,
		 size_t n)
{
	int pair[2];
	size_t i;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	*w = (struct worker){.pid = fork(), .fd = pair[0]};
	if (w->pid < 0) {
		*w = (struct worker){.fd = -1};
		close(pair[0]);
		close(pair[1]);
		return -1;
	}
	if (w->pid) {
		close(pair[1]);
		return 0;
	}
	close(pair[0]);
	for (i = 0; i < n; i++)
		close(others[i].fd);
	worker_stand_apart();
	serve(pair[1], setup);
	_exit(0);
}

static int start_one(struct worker *v, size_t n, const struct worker_setup *setup)
{
	return fetch_process_runs() ? fetch_process_start(&v[n], setup)
				    : worker_start(&v[n], setup, v, n);
}

int workers_start(struct worker *v, size_t n, const struct worker_setup *setup)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = (struct worker){.fd = -1};
	for (i = 0; i < n && !start_one(v, i, setup); i++)
		;
	return i ? 0 : -1;
}

/* Is it an incomplete file? The library writes to "NAME.XXXXXX" in the directory of the build id,
 * and renames that. */
static bool is_unfinished(const char *path, const char *cache_dir)
{
	size_t n = strlen(cache_dir);
	const char *dot = strrchr(path, '.');

	return !strncmp(path, cache_dir, n) && path[n] == '/' && dot && strlen(dot) == 7 &&
	       !strchr(dot, '/');
}

/* Removes the incomplete files that the process has open; it must be stopped, but still exist. */
static void remove_unfinished(pid_t pid, const char *cache_dir)
{
	char folder[64], real[PATH_MAX], path[PATH_MAX];
	const struct dirent *e;
	DIR *d;
	ssize_t n;

	snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
	d = realpath(cache_dir, real) ? opendir(folder) : NULL;
	while (d && (e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, path, sizeof path - 1);
		if (n <= 0)
			continue;
		path[n] = 0;
		if (is_unfinished(path, real))
			unlink(path);
	}
	if (d)
		closedir(d);
}

void worker_kill(struct worker *w, const char *cache_dir)
{
	if (!w->pid)
		return;
	if (fetch_process_runs()) {
		fetch_process_kill(w);
		return;
	}
	kill(w->pid, SIGSTOP);
	remove_unfinished(w->pid, cache_dir);
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (w->fd >= 0)
		close(w->fd);
	*w = (struct worker){.fd = -1};
}

void workers_stop(struct worker *v, size_t n, const char *cache_dir)
{
	size_t i;

	for (i = 0; i < n; i++)
		worker_kill(&v[i], cache_dir);
}

int worker_ask(struct worker *w, const struct worker_request *request)
{
	return send(w->fd, request, sizeof *request, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int worker_wait(struct worker *w, struct worker_reply *reply, int timeout_ms)
{
	struct pollfd p = {.fd = w->fd, .events = POLLIN};
	int n = poll(&p, 1, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -1;
	if (!n)
		return 0;
	return recv(w->fd, reply, sizeof *reply, 0) == (ssize_t)sizeof *reply ? 1 : -1;
}

void worker_cancel(struct worker *w)
{
	send(w->fd, "", 1, MSG_NOSIGNAL);
}
