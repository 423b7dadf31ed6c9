/* debuginfod_servers.c - a server that fails twice in a row is not asked again in this run.
 *
 * The library asks all servers of DEBUGINFOD_URLS at once and uses the first that sends something;
 * a server is left out by leaving it out of this variable. */
#include "modules/debuginfod_servers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURES_MAX = 2 };

/* Since elfutils 0.192 words like "ima:enforcing" stand before the servers that they apply to.
 * Every other word is a server, as for the library: also "localhost:8002", of HTTP. */
static bool is_url(const char *word)
{
	return strncmp(word, "ima:", 4) != 0;
}

static int add_word(struct servers *s, const char *word)
{
	size_t i, size = strlen(word);
	bool url = is_url(word);
	char *copy;

	/* The library drops repeated URLs, too, with or without a slash at the end: server numbers
	 * in its log do not count them. */
	if (size > 1 && word[size - 1] == '/')
		size--;
	for (i = 0; url && i < s->n; i++)
		if (!strncmp(s->v[i].url, word, size) && !s->v[i].url[size])
			return 0;
	if (url && s->n == DEBUGINFOD_SERVERS_MAX)
		return 0;
	copy = strndup(word, size);
	if (!copy || vec_push(&s->words, copy)) {
		free(copy);
		return -1;
	}
	if (url)
		s->v[s->n++].url = copy;
	return 0;
}

int servers_init(struct servers *s)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	char *copy = strdup(urls ? urls : ""), *word, *state;
	size_t room = DEBUGINFOD_URLS_MAX - 1;
	int rc = copy ? 0 : -1;

	*s = (struct servers){0};
	/* The variable may be the contents of several files, each ended by a newline. */
	for (word = rc ? NULL : strtok_r(copy, " \t\r\n", &state); word && !rc;
	     word = strtok_r(NULL, " \t\r\n", &state)) {
		if (strlen(word) + 1 > room)
			break;
		room -= strlen(word) + 1;
		rc = add_word(s, word);
	}
	free(copy);
	return rc;
}

void servers_done(struct servers *s)
{
	size_t i;

	for (i = 0; i < s->words.n; i++)
		free(s->words.v[i]);
	vec_done(&s->words);
	*s = (struct servers){0};
}

bool servers_have_word(const struct servers *s, const char *word)
{
	size_t i;

	for (i = 0; i < s->words.n; i++)
		if (!strcmp(s->words.v[i], word))
			return true;
	return false;
}

bool servers_any(const struct servers *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (!s->v[i].is_off)
			return true;
	return false;
}

struct server_list servers_left(const struct servers *s, char text[DEBUGINFOD_URLS_MAX])
{
	struct server_list list = {0};
	size_t i, next = 0;
	char *p = text;

	*p = 0;
	for (i = 0; i < s->words.n; i++) {
		const char *word = s->words.v[i];

		if (is_url(word)) {
			if (s->v[next++].is_off)
				continue;
			list.v[list.n++] = (uint8_t)(next - 1);
		}
		p = stpcpy(stpcpy(p, word), " "); /* fits: servers_init() limits the length */
	}
	return list;
}

static void failed(struct server *v, unsigned times)
{
	v->failures += times;
	v->is_off |= v->failures >= FAILURES_MAX;
}

void servers_set_reachable(struct servers *s, const bool *reachable)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (!reachable[i])
			failed(&s->v[i], FAILURES_MAX);
}

void servers_rate(struct servers *s, const struct server_list *asked,
		  const struct debuginfod_log *log, bool timed_out)
{
	size_t i;

	for (i = 0; i < asked->n; i++) {
		struct server *v = &s->v[asked->v[i]];
		enum server_says says = log->answers[i].says;

		/* When one server sends, the library drops the others, so their silence is not a
		 * failure. */
		if (says == SERVER_SILENT && timed_out &&
		    (log->committed < 0 || log->committed == (int)i))
			says = SERVER_FAILED;
		if (says == SERVER_FAILED || says == SERVER_JUNK)
			failed(v, says == SERVER_JUNK ? FAILURES_MAX : 1);
		else if (says != SERVER_SILENT)
			v->failures = 0;
	}
}

/* ---- what they said ---------------------------------------------------------------------- */

/* The server whose answer decides the result; of several the one that failed most seriously,
 * because it may have had the file. */
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
	case ENOENT: /* no server was asked: the cache has a negative answer */
		return log->asked ? FETCH_BROKEN : FETCH_NOT_FOUND;
	case ENOSYS:
		return FETCH_NO_URLS;
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

const char *servers_telling_url(const struct servers *s, const struct server_list *asked,
				const struct debuginfod_log *log)
{
	int i = telling_server(log, asked->n);

	return i < 0 ? "" : s->v[asked->v[i]].url;
}

enum fetch_result servers_blame(const struct servers *s, const struct server_list *asked,
				const struct worker_reply *reply, char *detail, size_t size)
{
	static const enum fetch_result by_answer[] = {
		[SERVER_NOT_FOUND] = FETCH_NOT_FOUND,
		[SERVER_TOO_LARGE] = FETCH_TOO_LARGE,
		[SERVER_FAILED] = FETCH_BROKEN,
	};
	const struct debuginfod_log *log = &reply->log;
	int errnum = -reply->fd_or_errno, i = telling_server(log, asked->n);
	const struct server_answer *a = i < 0 ? NULL : &log->answers[i];
	bool failed = a && a->says == SERVER_FAILED;

	if (reply->no_library) {
		snprintf(detail, size, "%.100s", reply->path);
		return FETCH_NO_LIBRARY;
	}
	if (!a || a->says == SERVER_SILENT) {
		enum fetch_result r = result_of_errno(errnum, log);

		snprintf(detail, size, "%s",
			 r == FETCH_NOT_FOUND ? "asked less than ten minutes ago"
					      : strerrordesc_np(errnum));
		return r;
	}
	snprintf(detail, size, "%.60s%s%s", servers_telling_url(s, asked, log), failed ? ": " : "",
		 failed ? a->text : "");
	if (failed && (a->http_status || a->timed_out))
		return a->timed_out ? FETCH_TIMEOUT : FETCH_HTTP_ERROR;
	return by_answer[a->says];
}
