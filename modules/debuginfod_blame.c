/* debuginfod_blame.c - of what several servers and the library said: what it means, and whose word
 * it is.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "modules/debuginfod_servers.h"

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
