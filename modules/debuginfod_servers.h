/* debuginfod_servers.h - the servers of DEBUGINFOD_URLS, and which of them are still asked. Private
 * to modules/debuginfod*. The caller locks. */
#ifndef MODULES_DEBUGINFOD_SERVERS_H
#define MODULES_DEBUGINFOD_SERVERS_H

#include <stdint.h>

#include "base/vec.h"
#include "modules/debuginfod_worker.h"

struct server {
	const char *url;   /* borrowed from `words` */
	unsigned failures; /* in a row */
	bool is_off;
};

struct servers {
	/* The words of DEBUGINFOD_URLS, owned. Words that are not URLs ("ima:enforcing") are for
	 * the library and apply to the URLs after them. */
	VEC(char *) words;
	struct server v[DEBUGINFOD_SERVERS_MAX];
	size_t n;
};

/* The servers that one query asks. */
struct server_list {
	/* Indices in struct servers, in the order of DEBUGINFOD_URLS. */
	uint8_t v[DEBUGINFOD_SERVERS_MAX];
	size_t n;
};

/* Reads DEBUGINFOD_URLS. Words that do not fit into a query are left out. Returns 0, or -1 when out
 * of memory. */
int servers_init(struct servers *s);
void servers_done(struct servers *s);
/* Is it one of the words, as servers_left() writes them? */
bool servers_have_word(const struct servers *s, const char *word);
bool servers_any(const struct servers *s);
/* The servers that are not switched off; `text` gets them in the form of DEBUGINFOD_URLS. */
struct server_list servers_left(const struct servers *s, char text[DEBUGINFOD_URLS_MAX]);
/* Switches off the servers that cannot be connected to. */
void servers_set_reachable(struct servers *s, const bool *reachable);
/* Counts failures of the servers of a query, and switches off those that fail too often.
 * `timed_out`: the query was ended because too little arrived for too long. */
void servers_rate(struct servers *s, const struct server_list *asked,
		  const struct debuginfod_log *log, bool timed_out);
/* The URL of the server whose answer decides the result of a query; "" if there is none. */
const char *servers_telling_url(const struct servers *s, const struct server_list *asked,
				const struct debuginfod_log *log);
/* Why did a query that was not cancelled return no file? Writes the server and its reason to
 * `detail`. */
enum fetch_result servers_blame(const struct servers *s, const struct server_list *asked,
				const struct worker_reply *reply, char *detail, size_t size);
/* Sets reachable[i] if server i can be connected to within the time. Also true for servers without
 * a host, and for all servers if there is a proxy. Reads nothing that the other functions change.
 */
void servers_reach(const struct servers *s, unsigned timeout_ms,
		   bool reachable[DEBUGINFOD_SERVERS_MAX]);

#endif
