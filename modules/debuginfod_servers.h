/* debuginfod_servers.h - the servers of DEBUGINFOD_URLS and which of them are still worth asking.
 * Private to modules/debuginfod*. Nothing here locks. */
#ifndef MODULES_DEBUGINFOD_SERVERS_H
#define MODULES_DEBUGINFOD_SERVERS_H

#include <stdint.h>

#include "base/vec.h"
#include "modules/debuginfod_worker.h"

struct server {
	const char *url;   /* one of the words */
	unsigned failures; /* running */
	bool is_off;
};

struct servers {
	/* Of DEBUGINFOD_URLS, owned. Those that are no URLs ("ima:enforcing") are for the library
	 * and apply to the URLs after them. */
	VEC(char *) words;
	struct server v[DEBUGINFOD_SERVERS_MAX];
	size_t n;
};

/* Who is asked in one query. */
struct server_list {
	uint8_t v[DEBUGINFOD_SERVERS_MAX]; /* indices of struct servers, in the order of the text */
	size_t n;
};

/* 0, or -1 when out of memory. Words beyond what a query holds are left out. */
int servers_init(struct servers *s);
void servers_done(struct servers *s);
bool servers_any(const struct servers *s);
/* Those that are left, also as DEBUGINFOD_URLS has them. */
struct server_list servers_left(const struct servers *s, char text[DEBUGINFOD_URLS_MAX]);
/* Strikes off those to which no connection can be made. */
void servers_set_reachable(struct servers *s, const bool *reachable);
/* Books what they said in a query. `timed_out`: it was ended because nothing came for too long. */
void servers_rate(struct servers *s, const struct server_list *asked,
		  const struct debuginfod_log *log, bool timed_out);
/* Of those that were asked the one whose word counts; "" when there is none. */
const char *servers_telling_url(const struct servers *s, const struct server_list *asked,
				const struct debuginfod_log *log);
/* Why a query that ended by itself brought no file, and in `detail` who says so. */
enum fetch_result servers_blame(const struct servers *s, const struct server_list *asked,
				const struct worker_reply *reply, char *detail, size_t size);
/* Can a connection be made to the hosts within the time? True for those without a host, and for all
 * when there is a proxy. Reads nothing that the other functions change. */
void servers_reach(const struct servers *s, unsigned timeout_ms,
		   bool reachable[DEBUGINFOD_SERVERS_MAX]);

#endif
