/* debuginfod_servers.h - the servers of DEBUGINFOD_URLS and which of them are still worth asking.
 * Private to modules/debuginfod*. Nothing here locks. */
#ifndef MODULES_DEBUGINFOD_SERVERS_H
#define MODULES_DEBUGINFOD_SERVERS_H

#include <stdint.h>

#include "base/vec.h"
#include "modules/debuginfod_library.h"

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
	char *before; /* what DEBUGINFOD_URLS was; NULL: not set */
	/* "DEBUGINFOD_URLS=...", itself a part of the environment: changing it changes no other
	 * variable, so that getenv() may run in other threads. But queries read it. */
	char *env;
	uint8_t listed[DEBUGINFOD_SERVERS_MAX]; /* the servers in it */
	size_t n_listed;
	bool stale; /* it still lists a server that is off */
};

/* 0, or -1 when out of memory. Both change the environment. */
int servers_init(struct servers *s);
void servers_done(struct servers *s);
/* Brings the environment up to date. No query may run. */
void servers_list(struct servers *s);
bool servers_any(const struct servers *s);
/* Strikes off those to which no connection can be made. */
void servers_set_reachable(struct servers *s, const bool *reachable);
/* Books what they said in a query. `timed_out`: it was ended because nothing came for too long. */
void servers_rate(struct servers *s, const struct debuginfod_log *log, bool timed_out);
/* Can a connection be made to the hosts within the time? True for those without a host, and for all
 * when there is a proxy. Reads nothing that the other functions change. */
void servers_reach(const struct servers *s, unsigned timeout_ms,
		   bool reachable[DEBUGINFOD_SERVERS_MAX]);

#endif
