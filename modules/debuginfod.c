/* debuginfod.c - runs queries, up to four at a time: timeouts, checks, repairs of the cache. */
#include "modules/debuginfod.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache_file.h"
#include "base/clock.h"
#include "modules/debuginfod_cache.h"
#include "modules/debuginfod_servers.h"

enum {
	/* A transfer with fewer bytes in a stall period counts as stalled. */
	STALL_BYTES_MIN = 16 << 10,
	LOOK_MS = 100,	 /* how often the timeouts are checked */
	GRACE_MS = 3000, /* for a worker to end its query after it was asked to */
	/* Workers that replace those that had to be killed: libdebuginfod 0.192 does not call back
	 * before a server has begun to answer, so its query cannot be cancelled before. */
	SPARE_WORKERS = 4,
	WORKERS_MAX = DEBUGINFOD_IN_FLIGHT_MAX + SPARE_WORKERS,
};

/* A file that could not be used, or that the user does not want to wait for: it is not asked for
 * again. */
struct refused {
	struct build_id id;
	enum fetch_result result;
	char file[DEBUGINFOD_FILE_MAX]; /* "": all files of the module */
	char detail[DEBUGINFOD_DETAIL_MAX];
};

struct debuginfod {
	struct fetch_options opt;
	struct fetch_clocks clocks;
	char *cache_dir;
	atomic_bool stopped; /* the listener wants no more */
	pthread_mutex_t listener_lock;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	enum { UNTRIED, TRYING, READY } state; /* of the servers */
	struct servers servers;
	bool no_library, no_sections; /* no_sections: a server knows whole files only */
	char no_library_why[DEBUGINFOD_DETAIL_MAX];
	VEC(struct refused) refused;
	struct worker workers[WORKERS_MAX];
	bool busy[WORKERS_MAX];
	unsigned n_busy;
};

/* One query in a worker. */
struct transfer {
	struct debuginfod *d;
	struct worker *worker;
	const struct debuginfod_query *q;
	struct server_list asked;
	struct worker_request request;
	struct worker_reply reply;    /* the last message */
	uint64_t start_ms, window_ms; /* window_*: begin of the current stall period */
	uint64_t window_bytes;
	enum fetch_result verdict; /* our reason to end the query; NOT_ASKED: none */
};

static bool is_section(const struct debuginfod_query *q)
{
	return q->file[0] == '.';
}

/* ---- making ------------------------------------------------------------------------------ */

static int start_workers(struct debuginfod *d)
{
	const struct fetch_clocks *c = &d->clocks;
	struct worker_setup setup = {
		.cache_dir = d->cache_dir,
		.silence_s = (c->answer > c->stall ? c->answer : c->stall) / 1000 + 2,
		.total_s = c->total / 1000 + 2,
	};

	return workers_start(d->workers, WORKERS_MAX, &setup);
}

struct debuginfod *debuginfod_new(const struct fetch_options *opt, const char *cache_dir)
{
	struct debuginfod *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->opt = *opt;
	d->clocks = limits_clocks();
	pthread_mutex_init(&d->lock, NULL);
	pthread_mutex_init(&d->listener_lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	d->cache_dir = strdup(cache_dir);
	if (!d->cache_dir || servers_init(&d->servers) || start_workers(d)) {
		debuginfod_free(d);
		return NULL;
	}
	return d;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	workers_stop(d->workers, WORKERS_MAX, d->cache_dir ? d->cache_dir : "");
	vec_done(&d->refused);
	servers_done(&d->servers);
	pthread_mutex_destroy(&d->lock);
	pthread_mutex_destroy(&d->listener_lock);
	pthread_cond_destroy(&d->changed);
	free(d->cache_dir);
	free(d);
}

/* ---- clocks ------------------------------------------------------------------------------ */

enum fetch_answer debuginfod_notify(struct debuginfod *d, const struct fetch_event *e)
{
	enum fetch_answer answer;

	if (!d->opt.listener)
		return FETCH_GO_ON;
	pthread_mutex_lock(&d->listener_lock);
	answer = d->opt.listener(d->opt.arg, e);
	pthread_mutex_unlock(&d->listener_lock);
	if (answer == FETCH_SKIP_ALL)
		atomic_store(&d->stopped, true);
	return answer;
}

/* Calls the listener; NOT_ASKED: the transfer is still running. */
static enum fetch_answer notify_transfer(const struct transfer *t, enum fetch_result result)
{
	const struct fetch_event e = {
		.what = result == FETCH_NOT_ASKED ? FETCH_EVENT_RUNS : FETCH_EVENT_ENDED,
		.dso = t->q->dso,
		.rank = t->q->rank,
		.n_ranks = t->q->n_ranks,
		.file = t->q->file,
		.bytes = t->reply.bytes,
		.total = t->reply.total,
		.elapsed_ms = clock_ms() - t->start_ms,
		.result = result,
	};

	return debuginfod_notify(t->d, &e);
}

static bool is_late(struct transfer *t)
{
	const struct fetch_clocks *c = &t->d->clocks;
	uint64_t now = clock_ms();

	if (now - t->start_ms > c->total)
		return true;
	if (!t->reply.committed) {
		t->window_ms = now;
		return now - t->start_ms > c->answer;
	}
	if (now - t->window_ms < c->stall)
		return false;
	if (t->reply.bytes - t->window_bytes < STALL_BYTES_MIN)
		return true;
	t->window_ms = now;
	t->window_bytes = t->reply.bytes;
	return false;
}

/* Should the transfer be ended, and why? NOT_ASKED: no. */
static enum fetch_result verdict_of(struct transfer *t)
{
	if (is_late(t))
		return FETCH_TIMEOUT;
	if (notify_transfer(t, FETCH_NOT_ASKED) != FETCH_GO_ON || atomic_load(&t->d->stopped))
		return FETCH_SKIPPED;
	return FETCH_NOT_ASKED;
}

/* Runs the query in the worker until it ends by itself, or after we decided to end it. Its result
 * is in t->reply; a worker that had to be killed has no result. */
static void run_query(struct transfer *t)
{
	uint64_t cancel_ms = 0;
	int rc = worker_ask(t->worker, &t->request);

	t->reply = (struct worker_reply){.log.committed = -1};
	while (rc >= 0 && !t->reply.is_over) {
		rc = worker_wait(t->worker, &t->reply, LOOK_MS);
		if (rc < 0 || t->reply.is_over)
			break;
		if (t->verdict == FETCH_NOT_ASKED) {
			t->verdict = verdict_of(t);
			if (t->verdict == FETCH_NOT_ASKED)
				continue;
			worker_cancel(t->worker);
			cancel_ms = clock_ms();
		} else if (clock_ms() - cancel_ms > GRACE_MS) {
			break;
		}
	}
	if (t->reply.is_over) {
		if (t->reply.is_whole_file)
			t->verdict = FETCH_NO_SECTIONS;
		else if (t->reply.is_too_large)
			t->verdict = FETCH_TOO_LARGE;
		return;
	}
	worker_kill(t->worker, t->d->cache_dir);
	t->reply = (struct worker_reply){
		.is_over = true, .fd_or_errno = -ECHILD, .log = {.committed = -1, .asked = true}};
}

/* ---- turns ------------------------------------------------------------------------------- */

static struct worker *any_worker(struct debuginfod *d)
{
	size_t i;

	for (i = 0; i < WORKERS_MAX; i++)
		if (d->workers[i].pid)
			return &d->workers[i];
	return NULL;
}

/* A worker finds out, as this process may have no sockets. Without an answer all are reachable. */
static void find_reachable(struct debuginfod *d, bool reachable[DEBUGINFOD_SERVERS_MAX])
{
	struct worker *w = any_worker(d);
	struct worker_request *q = calloc(1, sizeof *q);
	struct worker_reply *r = calloc(1, sizeof *r);

	memset(reachable, true, DEBUGINFOD_SERVERS_MAX);
	if (w && q && r) {
		q->reach_ms = d->clocks.connect ? d->clocks.connect : 1;
		if (!worker_ask(w, q) && worker_wait(w, r, (int)(q->reach_ms + GRACE_MS)) > 0)
			memcpy(reachable, r->reachable, sizeof r->reachable);
		else
			worker_kill(w, d->cache_dir);
	}
	free(q);
	free(r);
}

/* Tests once which servers can be reached. The lock is not held while waiting for them. */
static void get_ready(struct debuginfod *d)
{
	bool reachable[DEBUGINFOD_SERVERS_MAX];

	while (d->state == TRYING)
		pthread_cond_wait(&d->changed, &d->lock);
	if (d->state == READY)
		return;
	d->state = TRYING;
	pthread_mutex_unlock(&d->lock);
	find_reachable(d, reachable);
	pthread_mutex_lock(&d->lock);
	servers_set_reachable(&d->servers, reachable);
	d->state = READY;
	pthread_cond_broadcast(&d->changed);
}

static const struct refused *was_refused(const struct debuginfod *d,
					 const struct debuginfod_query *q)
{
	size_t i;

	for (i = 0; i < d->refused.n; i++)
		if (build_id_equal(&d->refused.v[i].id, q->id) &&
		    (!d->refused.v[i].file[0] || !strcmp(d->refused.v[i].file, q->file)))
			return &d->refused.v[i];
	return NULL;
}

/* Why is no server asked? NOT_ASKED: one is. *detail is valid while the lock is held. */
static enum fetch_result refusal(struct debuginfod *d, const struct debuginfod_query *q,
				 const char **detail)
{
	const struct refused *earlier = was_refused(d, q);

	*detail = "";
	if (earlier) {
		*detail = earlier->detail;
		return earlier->result;
	}
	if (d->no_library) {
		*detail = d->no_library_why;
		return FETCH_NO_LIBRARY;
	}
	if (!any_worker(d)) {
		*detail = "the processes that asked did not come back";
		return FETCH_BROKEN;
	}
	if (!d->servers.n) {
		*detail = DEBUGINFOD_URLS_ENV_VAR " is not set";
		return FETCH_NO_URLS;
	}
	if (!*d->cache_dir) {
		*detail = "neither HOME nor " DEBUGINFOD_CACHE_PATH_ENV_VAR " is set";
		return FETCH_NO_CACHE;
	}
	*detail = cache_is_blocked(d->cache_dir, q->id) ? "a link in the place of a directory"
							: cache_dir_make(d->cache_dir);
	if (*detail)
		return FETCH_NO_CACHE;
	*detail = "";
	if (atomic_load(&d->stopped))
		return FETCH_SKIPPED;
	if (!servers_any(&d->servers))
		return FETCH_NO_SERVER;
	if (is_section(q) && d->no_sections)
		return FETCH_NO_SECTIONS;
	return FETCH_NOT_ASKED;
}

static struct worker *idle_worker(struct debuginfod *d)
{
	size_t i;

	for (i = 0; i < WORKERS_MAX && d->n_busy < DEBUGINFOD_IN_FLIGHT_MAX; i++)
		if (d->workers[i].pid && !d->busy[i]) {
			d->busy[i] = true;
			d->n_busy++;
			return &d->workers[i];
		}
	return NULL;
}

/* Gets a worker and a list of servers. If no server is to be asked, returns false and sets *why. */
static bool turn_begin(struct transfer *t, enum fetch_result *why,
		       char why_detail[DEBUGINFOD_DETAIL_MAX])
{
	struct debuginfod *d = t->d;
	const char *detail;

	pthread_mutex_lock(&d->lock);
	get_ready(d);
	while ((*why = refusal(d, t->q, &detail)) == FETCH_NOT_ASKED &&
	       !(t->worker = idle_worker(d)))
		pthread_cond_wait(&d->changed, &d->lock);
	if (t->worker)
		t->asked = servers_left(&d->servers, t->request.urls);
	else
		snprintf(why_detail, DEBUGINFOD_DETAIL_MAX, "%s", detail);
	pthread_mutex_unlock(&d->lock);
	t->request.n_servers = t->asked.n;
	t->request.id = *t->q->id;
	snprintf(t->request.file, sizeof t->request.file, "%s", t->q->file);
	t->start_ms = t->window_ms = clock_ms();
	t->request.limit_bytes = limits_of_query(t->q, d->cache_dir);
	return t->worker;
}

static void turn_end(struct transfer *t)
{
	struct debuginfod *d = t->d;

	pthread_mutex_lock(&d->lock);
	servers_rate(&d->servers, &t->asked, &t->reply.log, t->verdict == FETCH_TIMEOUT);
	d->no_sections |= t->verdict == FETCH_NO_SECTIONS || t->reply.fd_or_errno == -ENOTSUP;
	if (t->reply.no_library) {
		d->no_library = true;
		snprintf(d->no_library_why, sizeof d->no_library_why, "%.100s", t->reply.path);
	}
	d->busy[t->worker - d->workers] = false;
	d->n_busy--;
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

/* ---- answers ----------------------------------------------------------------------------- */

/* Why there is no file. */
static enum fetch_result failure_of(const struct transfer *t, char detail[DEBUGINFOD_DETAIL_MAX])
{
	const char *url = servers_telling_url(&t->d->servers, &t->asked, &t->reply.log);

	detail[0] = 0;
	if (t->verdict == FETCH_TIMEOUT)
		snprintf(detail, DEBUGINFOD_DETAIL_MAX, "%.60s, after %.1f s and %llu bytes", url,
			 (double)(clock_ms() - t->start_ms) / 1e3,
			 (unsigned long long)t->reply.bytes);
	if (t->verdict == FETCH_TOO_LARGE)
		snprintf(detail, DEBUGINFOD_DETAIL_MAX, "%.60s, more than %llu bytes", url,
			 (unsigned long long)t->request.limit_bytes);
	if (t->verdict != FETCH_NOT_ASKED)
		return t->verdict;
	return servers_blame(&t->d->servers, &t->asked, &t->reply, detail, DEBUGINFOD_DETAIL_MAX);
}

static void remember(struct debuginfod *d, const struct debuginfod_query *q, enum fetch_result r)
{
	struct refused refused = {.id = *q->id, .result = r};

	if (r != FETCH_NOT_ELF && r != FETCH_BUILD_ID_DIFFERS && r != FETCH_TOO_LARGE &&
	    r != FETCH_SKIPPED)
		return;
	if (r != FETCH_SKIPPED)
		snprintf(refused.file, sizeof refused.file, "%s", q->file);
	snprintf(refused.detail, sizeof refused.detail, "%s", q->detail);
	pthread_mutex_lock(&d->lock);
	(void)vec_push(&d->refused, refused); /* if this fails, the file is asked for again */
	pthread_mutex_unlock(&d->lock);
}

/* 0.188 looks for sections in the files of its cache, and treats an executable without the section
 * as proof that there is none. So the executable must be moved away for a moment. Other users of
 * the cache may download it again, but nothing worse; and if this process dies now, the library
 * removes files with such a name after some time. */
static void run_without_executable(struct transfer *t)
{
	static const char here[] = "executable", away[] = "source-put-away";
	const char *dir = t->d->cache_dir;

	if (cache_rename(dir, t->q->id, here, away))
		return;
	run_query(t);
	if (cache_rename(dir, t->q->id, away, here))
		cache_remove(dir, t->q->id, away);
}

/* Runs one query, repairs the cache after it, and finds the reason if there is no file. */
static enum fetch_result ask(struct transfer *t, struct debuginfod_query *q)
{
	const char *dir = t->d->cache_dir;
	struct worker_reply *r = &t->reply;
	enum fetch_result result;

	cache_forget_no(dir, q, t->request.urls);
	run_query(t);
	if (r->fd_or_errno == -ENOENT && !r->log.asked && is_section(q) && !cache_says_no(dir, q))
		run_without_executable(t);
	if (r->fd_or_errno < 0) {
		result = failure_of(t, q->detail);
		if (result != FETCH_NOT_FOUND)
			cache_forget_no(dir, q, NULL);
		else if (r->log.asked)
			cache_sign_no(dir, q, t->request.urls);
		return result;
	}
	cache_path(dir, q->id, q->file, q->path);
	result = t->verdict == FETCH_TOO_LARGE || r->bytes > t->request.limit_bytes
			 ? FETCH_TOO_LARGE
			 : cache_check(dir, q);
	if (result != FETCH_DONE)
		cache_remove(dir, q->id, q->file);
	if (result == FETCH_NOT_ELF || result == FETCH_BUILD_ID_DIFFERS) {
		if (r->log.committed >= 0)
			r->log.answers[r->log.committed].says =
				result == FETCH_NOT_ELF ? SERVER_JUNK : SERVER_FAILED;
	}
	return result;
}

enum fetch_result debuginfod_get(struct debuginfod *d, struct debuginfod_query *q)
{
	enum fetch_result r = FETCH_NOT_ASKED, why;
	char why_detail[DEBUGINFOD_DETAIL_MAX];
	unsigned tries;

	if (*d->cache_dir && cache_has(d->cache_dir, q))
		return FETCH_DONE;
	/* The first server that sends something makes the library drop the others; so if its answer
	 * turns out to be of no use, the answers of the others are still unknown. After its second
	 * failure this server is not asked any more. */
	for (tries = 0; tries < 2 * DEBUGINFOD_SERVERS_MAX; tries++) {
		struct transfer t = {.d = d, .q = q, .verdict = FETCH_NOT_ASKED};

		if (!turn_begin(&t, &why, why_detail))
			break;
		r = ask(&t, q);
		turn_end(&t);
		notify_transfer(&t, r);
		q->bytes += t.reply.bytes;
		q->elapsed_ms += clock_ms() - t.start_ms;
		if (r == FETCH_DONE || r == FETCH_SKIPPED || r == FETCH_NO_SECTIONS ||
		    r == FETCH_TOO_LARGE || r == FETCH_NO_CACHE || t.reply.log.committed < 0 ||
		    t.asked.n < 2)
			break;
	}
	if (r == FETCH_NOT_ASKED) {
		r = why;
		memcpy(q->detail, why_detail, sizeof q->detail);
	} else {
		remember(d, q, r);
	}
	return r;
}
