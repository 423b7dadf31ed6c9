/* debuginfod_log.c - reads the verbose log of libdebuginfod about a query.
 *
 * The library's return value is the same for a missing file and for a server that failed (ENOENT),
 * and does not tell which of several servers it was. Its log (debuginfod_set_verbose_fd) has both,
 * in lines:
 *
 *	url N http://...            server N is asked
 *	committed to url N          the first to send contents
 *	server response TEXT        libcurl's text for how a transfer ended
 *	url N TEXT                  and the details for server N
 *
 * Seen in 0.183 to 0.192. If a library writes something else, only the return value is known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "modules/debuginfod_library.h"

/* Is it a URL ("buildid" of the web API), and not libcurl's text about an error? */
static bool is_url(const char *s)
{
	return strstr(s, "/buildid/") && !strchr(s, ' ');
}

/* Parses "N rest" and returns the rest, or NULL. */
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
	/* file:// servers have no HTTP status to say that the file is missing */
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
		/* This line does not name the server. That only matters for errors, and then a line
		 * with the server follows; except that libcurl may have no details. */
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
		/* One call may run several queries: sections are also looked for in whole files. */
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
