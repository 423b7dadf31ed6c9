/* debuginfod_log.c - reads what libdebuginfod says about a query when it is made to talk.
 *
 * Its return value is the same for a missing file and for a server in trouble (ENOENT), and does
 * not say which of several servers it was. Its log (debuginfod_set_verbose_fd) has both, in lines:
 *
 *	url N http://...            server N is asked
 *	committed to url N          the first to send contents
 *	server response TEXT        libcurl's word for how a transfer ended
 *	url N TEXT                  and the details for server N
 *
 * Seen in 0.183 to 0.192. A library that writes something else leaves us with the return value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "modules/debuginfod_library.h"

/* "buildid" of the web API, not libcurl's words about an error. */
static bool is_url(const char *s)
{
	return strstr(s, "/buildid/") && !strchr(s, ' ');
}

/* "N rest": the rest, or NULL. */
static const char *index_of(const char *s, size_t n_servers, size_t *ret)
{
	char *end;
	unsigned long i = strtoul(s, &end, 10);

	if (end == s || i >= n_servers)
		return NULL;
	*ret = i;
	return *end == ' ' ? end + 1 : end;
}

static void set_failure(struct server_answer *a, const char *response, const char *text)
{
	const char *status = strstr(text, "returned error: ");

	a->http_status = status ? atoi(status + strlen("returned error: ")) : 0;
	a->timed_out = str_starts_with(response, "Timeout");
	a->says = a->http_status == 404	  ? SERVER_NOT_FOUND
		  : a->http_status == 406 ? SERVER_TOO_LARGE
					  : SERVER_FAILED;
	/* A file:// server has no status to say that the file is not there. */
	if (str_starts_with(text, "Couldn't open file") ||
	    str_starts_with(text, "Could not open file"))
		a->says = SERVER_NOT_FOUND;
	snprintf(a->text, sizeof a->text, "%s", *text ? text : response);
}

static void parse_line(struct debuginfod_log *log, const char *line, size_t n,
		       const char **response)
{
	const char *rest;
	size_t i;

	if (str_starts_with(line, "server response ")) {
		*response = line + strlen("server response ");
		/* Whose answer it is only matters when it is bad, and then a line follows; except
		 * that libcurl may have nothing to add. */
		if (n == 1 && !str_starts_with(*response, "No error"))
			set_failure(&log->answers[0], *response, "");
		return;
	}
	if (str_starts_with(line, "committed to url ") &&
	    index_of(line + strlen("committed to url "), n, &i)) {
		log->committed = (int)i;
		return;
	}
	if (!str_starts_with(line, "url ") || !(rest = index_of(line + 4, n, &i)))
		return;
	if (is_url(rest)) {
		/* A call may be several queries: sections are looked for in whole files, too. */
		log->answers[i] = (struct server_answer){0};
		log->asked = true;
		log->committed = -1;
	} else {
		set_failure(&log->answers[i], *response, rest);
	}
}

void debuginfod_log_parse(struct debuginfod_log *log, char *text, size_t n_servers)
{
	const char *response = "";
	char *line, *next;
	int c;

	*log = (struct debuginfod_log){.committed = -1};
	for (line = text; *line; line = next) {
		char *end = line + strcspn(line, "\r\n");

		next = *end ? end + 1 : end;
		*end = 0;
		parse_line(log, line, n_servers, &response);
	}
	c = log->committed;
	if (c >= 0 && log->answers[c].says == SERVER_SILENT &&
	    str_starts_with(response, "No error"))
		log->answers[c].says = SERVER_OK;
}
