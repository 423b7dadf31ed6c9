/* debuginfod_reach.c - tests whether the servers can be connected to at all.
 *
 * The first sign of life from libdebuginfod is the first byte of an answer, for which a server that
 * unpacks an archive may need ten seconds and more. Firewalls drop packets silently: without this
 * test every machine behind a firewall would wait that long for nothing. */
#include <netdb.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "modules/debuginfod_servers.h"

/* Owned by its thread, which may run longer than the caller waits: name resolution and connect()
 * have no useful timeout. */
struct probe {
	char host[256], port[8];
};

static bool can_connect(const struct probe *p)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL, *a;
	bool ok = false;

	if (getaddrinfo(p->host, p->port, &hints, &list))
		return false;
	for (a = list; a && !ok; a = a->ai_next) {
		int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);

		ok = fd >= 0 && !connect(fd, a->ai_addr, a->ai_addrlen);
		if (fd >= 0)
			close(fd);
	}
	freeaddrinfo(list);
	return ok;
}

static void *probe_main(void *arg)
{
	bool connected = can_connect(arg);

	free(arg);
	return (void *)(uintptr_t)connected;
}

/* Parses [scheme://][user@]host[:port][/path]; the host may be an address in brackets. Without a
 * scheme libcurl uses http. */
static bool parse_url(const char *url, struct probe *p)
{
	const char *scheme_end = strstr(url, "://");
	const char *default_port = !scheme_end || !strncasecmp(url, "http://", 7) ? "80"
				   : !strncasecmp(url, "https://", 8)		  ? "443"
										  : NULL;
	const char *host = scheme_end ? scheme_end + 3 : url, *end, *at, *host_end;

	if (!default_port)
		return false;
	end = host + strcspn(host, "/?#");
	at = memrchr(host, '@', (size_t)(end - host));
	host = at ? at + 1 : host;
	if (*host == '[') {
		host++;
		host_end = memchr(host, ']', (size_t)(end - host));
		if (!host_end)
			return false;
		at = host_end + 1;
	} else {
		host_end = host;
		while (host_end < end && *host_end != ':')
			host_end++;
		at = host_end;
	}
	if (at < end && *at == ':' && at + 1 < end)
		snprintf(p->port, sizeof p->port, "%.*s", (int)(end - at - 1), at + 1);
	else
		snprintf(p->port, sizeof p->port, "%s", default_port);
	return host < host_end && snprintf(p->host, sizeof p->host, "%.*s", (int)(host_end - host),
					   host) < (int)sizeof p->host;
}

/* Returns false if there is no host to try, or when out of memory or threads. */
static bool probe_start(const char *url, pthread_t *thread)
{
	struct probe *p = calloc(1, sizeof *p);

	if (p && parse_url(url, p) && !pthread_create(thread, NULL, probe_main, p))
		return true;
	free(p);
	return false;
}

static bool probe_wait(pthread_t thread, const struct timespec *until)
{
	void *connected = NULL;

	if (pthread_clockjoin_np(thread, &connected, CLOCK_MONOTONIC, until))
		pthread_detach(thread);
	return connected;
}

/* Is there a proxy? The proxy makes the connections, and only curl knows for which hosts it is not
 * used; see curl(1) "ENVIRONMENT". */
static bool has_proxy(void)
{
	static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
					    "ALL_PROXY"};
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		const char *v = getenv(names[i]);

		if (v && *v)
			return true;
	}
	return false;
}

void servers_reach(const struct servers *s, unsigned timeout_ms,
		   bool reachable[DEBUGINFOD_SERVERS_MAX])
{
	bool proxy = has_proxy(), runs[DEBUGINFOD_SERVERS_MAX];
	pthread_t threads[DEBUGINFOD_SERVERS_MAX];
	struct timespec until;
	size_t i;

	for (i = 0; i < s->n; i++)
		runs[i] = !proxy && probe_start(s->v[i].url, &threads[i]);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	for (i = 0; i < s->n; i++)
		reachable[i] = !runs[i] || probe_wait(threads[i], &until);
}
