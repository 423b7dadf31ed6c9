/* debuginfod.c - one query after the other, four at a time: clocks, checks, repairs of the cache.
 */
#include "modules/debuginfod.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "modules/debuginfod_cache.h"
#include "modules/debuginfod_servers.h"

enum {
	CONNECT_MS = 3000,
	ANSWER_MS = 30000,
	STALL_MS = 10000,
	TOTAL_MS = 900000,
	STALL_BYTES_MIN = 16 << 10, /* fewer in STALL_MS are as good as none */
	LOG_BYTES_MAX = 64 << 10,
};

/* A handle of the library: for one thread at a time, keeps its connections. */
struct client {
	debuginfod_client *handle;
	int log_fd; /* in memory */
};

struct debuginfod {
	struct fetch_options opt;
	char *cache_dir;
	const struct debuginfod_library *lib;
	atomic_bool stopped; /* the listener wants no more */
	pthread_mutex_t tell_lock;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	enum { UNTRIED, TRYING, READY } state;
	const char *no_library; /* why */
	struct servers servers; /* the environment changes only while nothing is in flight */
	bool no_sections;	/* a server answered as those do that know whole files only */
	unsigned in_flight;
	VEC(struct client *) idle;
};

/* One query in the library. */
struct transfer {
	struct debuginfod *d;
	struct client *client;
	const struct debuginfod_query *q;
	uint64_t start_ms, window_ms; /* window: of the stall clock */
	uint64_t window_bytes, bytes, total;
	bool committed;		   /* a server sends contents */
	enum fetch_result verdict; /* ours, when we ended it; else NOT_ASKED */
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool is_section(const struct debuginfod_query *q)
{
	return q->file[0] == '.';
}

/* ---- making ------------------------------------------------------------------------------ */

/* The user's word in seconds, else our default. */
static unsigned limit_ms(unsigned given_ms, const char *name, unsigned default_ms)
{
	const char *v = getenv(name);
	long s = v ? atol(v) : 0;

	if (given_ms)
		return given_ms;
	return s > 0 && s < 1000000 ? (unsigned)s * 1000 : default_ms;
}

static void setenv_seconds(const char *name, unsigned ms)
{
	char text[16];

	snprintf(text, sizeof text, "%u", ms / 1000 + 2);
	setenv(name, text, 1);
}

/* Our clocks decide; the library's only have to be slower. Its retries would be nobody's to see. */
static void prepare_environment(struct debuginfod *d)
{
	struct fetch_options *o = &d->opt;

	o->connect_ms = o->connect_ms ? o->connect_ms : CONNECT_MS;
	o->answer_ms = limit_ms(o->answer_ms, DEBUGINFOD_TIMEOUT_ENV_VAR, ANSWER_MS);
	o->stall_ms = limit_ms(o->stall_ms, DEBUGINFOD_TIMEOUT_ENV_VAR, STALL_MS);
	o->total_ms = limit_ms(o->total_ms, DEBUGINFOD_MAXTIME_ENV_VAR, TOTAL_MS);
	setenv_seconds(DEBUGINFOD_TIMEOUT_ENV_VAR,
		       o->answer_ms > o->stall_ms ? o->answer_ms : o->stall_ms);
	setenv_seconds(DEBUGINFOD_MAXTIME_ENV_VAR, o->total_ms);
	setenv(DEBUGINFOD_RETRY_LIMIT_ENV_VAR, "0", 1);
	setenv(DEBUGINFOD_CACHE_PATH_ENV_VAR, d->cache_dir, 1);
	unsetenv(DEBUGINFOD_PROGRESS_ENV_VAR);
	unsetenv(DEBUGINFOD_VERBOSE_ENV_VAR);
}

struct debuginfod *debuginfod_new(const struct fetch_options *opt, const char *cache_dir)
{
	struct debuginfod *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->opt = *opt;
	pthread_mutex_init(&d->lock, NULL);
	pthread_mutex_init(&d->tell_lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	d->cache_dir = strdup(cache_dir);
	if (!d->cache_dir || servers_init(&d->servers)) {
		debuginfod_free(d);
		return NULL;
	}
	prepare_environment(d);
	return d;
}

static void client_free(const struct debuginfod_library *lib, struct client *c)
{
	if (c->handle)
		lib->end(c->handle);
	if (c->log_fd >= 0)
		close(c->log_fd);
	free(c);
}

void debuginfod_free(struct debuginfod *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; i < d->idle.n; i++)
		client_free(d->lib, d->idle.v[i]);
	vec_done(&d->idle);
	servers_done(&d->servers);
	pthread_mutex_destroy(&d->lock);
	pthread_mutex_destroy(&d->tell_lock);
	pthread_cond_destroy(&d->changed);
	free(d->cache_dir);
	free(d);
}

/* ---- clocks ------------------------------------------------------------------------------ */

static enum fetch_answer tell(struct debuginfod *d, const struct fetch_event *e)
{
	enum fetch_answer answer;

	if (!d->opt.tell)
		return FETCH_GO_ON;
	pthread_mutex_lock(&d->tell_lock);
	answer = d->opt.tell(d->opt.arg, e);
	pthread_mutex_unlock(&d->tell_lock);
	if (answer == FETCH_SKIP_ALL)
		atomic_store(&d->stopped, true);
	return answer;
}

void debuginfod_tell(struct debuginfod *d, const struct fetch_event *e)
{
	tell(d, e);
}

/* NOT_ASKED: it runs. */
static enum fetch_answer tell_transfer(const struct transfer *t, enum fetch_result result)
{
	const struct fetch_event e = {
		.what = result == FETCH_NOT_ASKED ? FETCH_EVENT_RUNS : FETCH_EVENT_ENDED,
		.dso = t->q->dso,
		.rank = t->q->rank,
		.n_ranks = t->q->n_ranks,
		.file = t->q->file,
		.bytes = t->bytes,
		.total = t->total,
		.elapsed_ms = now_ms() - t->start_ms,
		.result = result,
	};

	return tell(t->d, &e);
}

static bool is_late(struct transfer *t)
{
	const struct fetch_options *o = &t->d->opt;
	uint64_t now = now_ms();

	if (now - t->start_ms > o->total_ms)
		return true;
	if (!t->committed) {
		t->window_ms = now;
		return now - t->start_ms > o->answer_ms;
	}
	if (now - t->window_ms < o->stall_ms)
		return false;
	if (t->bytes - t->window_bytes < STALL_BYTES_MIN)
		return true;
	t->window_ms = now;
	t->window_bytes = t->bytes;
	return false;
}

/* The library calls it once a second, and whenever something arrives. Nonzero ends the query. a and
 * b are bytes only when a server has begun to send, which is when there is a URL. */
static int on_progress(debuginfod_client *handle, long a, long b)
{
	const char *why, *url;
	const struct debuginfod_library *lib = debuginfod_library(&why);
	struct transfer *t = lib->get_user_data(handle);

	url = lib->get_url(handle);
	t->committed = url;
	t->bytes = url && a > 0 ? (uint64_t)a : 0;
	t->total = url && b > 0 ? (uint64_t)b : 0;
	if (t->verdict != FETCH_NOT_ASKED)
		return 1;
	/* A section was asked for, and this is a whole file: for an old server the library takes
	 * the section out of that. */
	if (url && is_section(t->q) && !strstr(url, "/section/"))
		t->verdict = FETCH_NO_SECTIONS;
	else if (is_late(t))
		t->verdict = FETCH_TIMEOUT;
	else if (tell_transfer(t, FETCH_NOT_ASKED) != FETCH_GO_ON || atomic_load(&t->d->stopped))
		t->verdict = FETCH_SKIPPED;
	return t->verdict != FETCH_NOT_ASKED;
}

/* ---- turns ------------------------------------------------------------------------------- */

/* Loads the library and tries the servers, once. The lock is not held while they are waited for. */
static void get_ready(struct debuginfod *d)
{
	bool reachable[DEBUGINFOD_SERVERS_MAX];

	while (d->state == TRYING)
		pthread_cond_wait(&d->changed, &d->lock);
	if (d->state == READY)
		return;
	d->state = TRYING;
	pthread_mutex_unlock(&d->lock);
	servers_reach(&d->servers, d->opt.connect_ms, reachable);
	pthread_mutex_lock(&d->lock);
	servers_set_reachable(&d->servers, reachable);
	d->lib = debuginfod_library(&d->no_library);
	d->state = READY;
	pthread_cond_broadcast(&d->changed);
}

static struct client *client_new(const struct debuginfod_library *lib)
{
	struct client *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->log_fd = memfd_create("debuginfod", MFD_CLOEXEC);
	c->handle = c->log_fd >= 0 ? lib->begin() : NULL;
	if (!c->handle) {
		client_free(lib, c);
		return NULL;
	}
	lib->set_verbose_fd(c->handle, c->log_fd);
	lib->set_progressfn(c->handle, on_progress);
	return c;
}

/* Why nobody is asked; NOT_ASKED: somebody is. */
static enum fetch_result refusal(const struct debuginfod *d, const struct debuginfod_query *q,
				 const char **detail)
{
	*detail = "";
	if (!d->lib) {
		*detail = d->no_library;
		return FETCH_NO_LIBRARY;
	}
	if (!d->servers.n) {
		*detail = DEBUGINFOD_URLS_ENV_VAR " is not set";
		return FETCH_NO_SERVER;
	}
	if (!*d->cache_dir) {
		*detail = "neither HOME nor " DEBUGINFOD_CACHE_PATH_ENV_VAR " is set";
		return FETCH_NO_CACHE;
	}
	if (atomic_load(&d->stopped))
		return FETCH_SKIPPED;
	if (!servers_any(&d->servers))
		return FETCH_NO_SERVER;
	if (is_section(q) && (d->no_sections || !d->lib->find_section))
		return FETCH_NO_SECTIONS;
	return FETCH_NOT_ASKED;
}

/* A client and a place among those in flight; NULL and *why when nobody is asked. */
static struct client *turn_begin(struct debuginfod *d, const struct debuginfod_query *q,
				 enum fetch_result *why, const char **detail)
{
	struct client *c = NULL;

	pthread_mutex_lock(&d->lock);
	get_ready(d);
	while ((*why = refusal(d, q, detail)) == FETCH_NOT_ASKED &&
	       (d->in_flight == DEBUGINFOD_IN_FLIGHT_MAX || (d->in_flight && d->servers.stale)))
		pthread_cond_wait(&d->changed, &d->lock);
	if (*why == FETCH_NOT_ASKED) {
		if (d->servers.stale)
			servers_list(&d->servers);
		c = d->idle.n ? d->idle.v[--d->idle.n] : client_new(d->lib);
		d->in_flight += c != NULL;
	}
	if (*why == FETCH_NOT_ASKED && !c)
		*why = FETCH_NO_LIBRARY;
	pthread_mutex_unlock(&d->lock);
	return c;
}

static void turn_end(struct debuginfod *d, struct client *c, const struct debuginfod_log *log,
		     enum fetch_result verdict)
{
	pthread_mutex_lock(&d->lock);
	servers_rate(&d->servers, log, verdict == FETCH_TIMEOUT);
	d->no_sections |= verdict == FETCH_NO_SECTIONS;
	d->in_flight--;
	if (vec_push(&d->idle, c))
		client_free(d->lib, c);
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

/* ---- answers ----------------------------------------------------------------------------- */

/* Takes the log of a call out of the client. */
static void read_log(struct transfer *t, struct debuginfod_log *log)
{
	int fd = t->client->log_fd;
	char *text = malloc(LOG_BYTES_MAX + 1);
	ssize_t n = text ? pread(fd, text, LOG_BYTES_MAX, 0) : 0;

	*log = (struct debuginfod_log){.committed = -1, .asked = true};
	if (text) {
		text[n > 0 ? n : 0] = 0;
		debuginfod_log_parse(log, text, t->d->servers.n_listed);
	}
	free(text);
	if (!ftruncate(fd, 0)) /* which does not fail on memory */
		lseek(fd, 0, SEEK_SET);
}

/* The server whose word counts: with several it is the trouble that hides whether it has the file.
 */
static int telling_server(const struct debuginfod_log *log, size_t n)
{
	int best = -1;
	size_t i;

	for (i = 0; i < n; i++)
		if (log->answers[i].says != SERVER_OK &&
		    (best < 0 || log->answers[i].says > log->answers[best].says))
			best = (int)i;
	return best;
}

static enum fetch_result result_of_errno(int e, const struct debuginfod_log *log)
{
	switch (e) {
	case ETIME:
		return FETCH_TIMEOUT;
	case EFBIG:
		return FETCH_TOO_LARGE;
	case ENOENT: /* nobody was asked: the cache remembers that */
		return log->asked ? FETCH_BROKEN : FETCH_NOT_FOUND;
	case ENOSYS:
		return FETCH_NO_SERVER;
	case EACCES:
	case EPERM:
	case EROFS:
	case ENOSPC:
	case EDQUOT:
	case EEXIST:
	case ENOTDIR:
		return FETCH_NO_CACHE;
	default:
		return FETCH_BROKEN;
	}
}

/* Why there is no file. */
static enum fetch_result failure_of(const struct transfer *t, const struct debuginfod_log *log,
				    int errnum, char detail[DEBUGINFOD_DETAIL_MAX])
{
	const struct servers *s = &t->d->servers;
	int i = telling_server(log, s->n_listed);
	const struct server_answer *a = i < 0 ? NULL : &log->answers[i];
	const char *url = i < 0 ? "" : s->v[s->listed[i]].url;
	static const enum fetch_result by_answer[] = {
		[SERVER_NOT_FOUND] = FETCH_NOT_FOUND,
		[SERVER_TOO_LARGE] = FETCH_TOO_LARGE,
		[SERVER_FAILED] = FETCH_BROKEN,
	};

	detail[0] = 0;
	if (t->verdict == FETCH_TIMEOUT)
		snprintf(detail, DEBUGINFOD_DETAIL_MAX, "%.60s, after %.1f s and %llu bytes", url,
			 (double)(now_ms() - t->start_ms) / 1e3, (unsigned long long)t->bytes);
	if (t->verdict != FETCH_NOT_ASKED)
		return t->verdict;
	if (!a || a->says == SERVER_SILENT) {
		enum fetch_result r = result_of_errno(errnum, log);

		snprintf(detail, DEBUGINFOD_DETAIL_MAX, "%s",
			 r == FETCH_NOT_FOUND ? "asked less than ten minutes ago"
					      : strerrordesc_np(errnum));
		return r;
	}
	snprintf(detail, DEBUGINFOD_DETAIL_MAX, "%.60s%s%s", url,
		 a->says == SERVER_FAILED ? ": " : "", a->says == SERVER_FAILED ? a->text : "");
	if (a->says == SERVER_FAILED && (a->http_status || a->timed_out))
		return a->timed_out ? FETCH_TIMEOUT : FETCH_HTTP_ERROR;
	return by_answer[a->says];
}

static int call_library(const struct transfer *t, char **path)
{
	const struct debuginfod_library *lib = t->d->lib;
	const struct debuginfod_query *q = t->q;
	debuginfod_client *handle = t->client->handle;

	if (is_section(q))
		return lib->find_section(handle, q->id->bytes, q->id->size, q->file, path);
	if (!strcmp(q->file, "executable"))
		return lib->find_executable(handle, q->id->bytes, q->id->size, path);
	return lib->find_debuginfo(handle, q->id->bytes, q->id->size, path);
}

/* 0.188 looks for sections in the files that it has in the cache, and takes an executable without
 * the section for the proof that there is none. So the executable has to be away for a moment.
 * Other users of the cache may download it again, no more; and should we die now, the library
 * removes files of such a name by and by. */
static int call_without_executable(const struct transfer *t, char **path)
{
	char here[PATH_MAX], away[PATH_MAX];
	int fd;

	cache_path(t->d->cache_dir, t->q->id, "executable", here);
	cache_path(t->d->cache_dir, t->q->id, "source-put-away", away);
	if (rename(here, away))
		return -ENOENT;
	fd = call_library(t, path);
	if (rename(away, here))
		unlink(away);
	return fd;
}

/* One call of the library, what it left behind, and who gets the blame. */
static enum fetch_result ask(struct transfer *t, struct debuginfod_query *q,
			     struct debuginfod_log *log)
{
	enum fetch_result r;
	char *path = NULL;
	struct stat st;
	int fd;

	t->d->lib->set_user_data(t->client->handle, t);
	fd = call_library(t, &path);
	read_log(t, log);
	if (fd == -ENOENT && !log->asked && is_section(q) && !cache_says_no(t->d->cache_dir, q)) {
		fd = call_without_executable(t, &path);
		read_log(t, log);
	}
	if (fd < 0) {
		r = failure_of(t, log, -fd, q->detail);
		if (r != FETCH_NOT_FOUND)
			cache_forget_no(t->d->cache_dir, q);
		free(path);
		return r;
	}
	if (!fstat(fd, &st))
		t->bytes = t->total = (uint64_t)st.st_size;
	close(fd);
	snprintf(q->path, sizeof q->path, "%s", path ? path : "");
	free(path);
	r = cache_check(q);
	if (r != FETCH_DONE) {
		unlink(q->path);
		if (log->committed >= 0)
			log->answers[log->committed].says =
				r == FETCH_NOT_ELF ? SERVER_JUNK : SERVER_FAILED;
	}
	return r;
}

enum fetch_result debuginfod_get(struct debuginfod *d, struct debuginfod_query *q)
{
	enum fetch_result r = FETCH_NOT_ASKED, why;
	struct debuginfod_log log;
	const char *detail;
	unsigned tries;

	if (cache_has(d->cache_dir, q))
		return FETCH_DONE;
	/* After a wrong file there may be a right one: from another server, or at the second try.
	 */
	for (tries = 0; tries < 2 * DEBUGINFOD_SERVERS_MAX; tries++) {
		struct transfer t = {.d = d, .q = q, .verdict = FETCH_NOT_ASKED};

		t.client = turn_begin(d, q, &why, &detail);
		if (!t.client)
			break;
		cache_make_dir(d->cache_dir);
		t.start_ms = t.window_ms = now_ms();
		r = ask(&t, q, &log);
		turn_end(d, t.client, &log, t.verdict);
		tell_transfer(&t, r);
		q->bytes += t.bytes;
		q->elapsed_ms += now_ms() - t.start_ms;
		if (r == FETCH_DONE || r == FETCH_SKIPPED || r == FETCH_NO_SECTIONS ||
		    log.committed < 0 || d->servers.n < 2)
			break;
	}
	if (r == FETCH_NOT_ASKED) {
		r = why;
		snprintf(q->detail, sizeof q->detail, "%s", detail);
	}
	return r;
}
