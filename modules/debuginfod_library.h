/* debuginfod_library.h - loads libdebuginfod.so.1, and reads its log. Private to
 * modules/debuginfod*. */
#ifndef MODULES_DEBUGINFOD_LIBRARY_H
#define MODULES_DEBUGINFOD_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* The part of elfutils/debuginfod.h that is used. The library is loaded when it is first needed, so
 * its package and the packages that it needs are not required to build. */
typedef struct debuginfod_client debuginfod_client;
typedef int (*debuginfod_progressfn_t)(debuginfod_client *c, long a, long b);
#define DEBUGINFOD_TIMEOUT_ENV_VAR     "DEBUGINFOD_TIMEOUT"
#define DEBUGINFOD_MAXTIME_ENV_VAR     "DEBUGINFOD_MAXTIME"
#define DEBUGINFOD_MAXSIZE_ENV_VAR     "DEBUGINFOD_MAXSIZE"
#define DEBUGINFOD_URLS_ENV_VAR	       "DEBUGINFOD_URLS"
#define DEBUGINFOD_CACHE_PATH_ENV_VAR  "DEBUGINFOD_CACHE_PATH"
#define DEBUGINFOD_PROGRESS_ENV_VAR    "DEBUGINFOD_PROGRESS"
#define DEBUGINFOD_VERBOSE_ENV_VAR     "DEBUGINFOD_VERBOSE"
#define DEBUGINFOD_RETRY_LIMIT_ENV_VAR "DEBUGINFOD_RETRY_LIMIT"

#define DEBUGINFOD_SERVERS_MAX 16

/* The library's functions, by their names without "debuginfod_". */
struct debuginfod_library {
	debuginfod_client *(*begin)(void);
	void (*end)(debuginfod_client *c);
	int (*find_debuginfo)(debuginfod_client *c, const unsigned char *id, int id_size,
			      char **path);
	int (*find_executable)(debuginfod_client *c, const unsigned char *id, int id_size,
			       char **path);
	int (*find_section)(debuginfod_client *c, const unsigned char *id, int id_size,
			    const char *section, char **path); /* NULL before 0.188 */
	void (*set_progressfn)(debuginfod_client *c, debuginfod_progressfn_t fn);
	void (*set_user_data)(debuginfod_client *c, void *data);
	void *(*get_user_data)(debuginfod_client *c);
	const char *(*get_url)(debuginfod_client *c);
	void (*set_verbose_fd)(debuginfod_client *c, int fd);
	bool knows_ima; /* knows ima: policies in DEBUGINFOD_URLS: since 0.192 */
};

/* Loads the library at the first call and keeps it. Returns NULL if it is missing or older than
 * 0.183; *why is then the reason. For any thread. */
const struct debuginfod_library *debuginfod_library(const char **why);

/* What the log says about one server in one call. */
enum server_says {
	SERVER_SILENT,
	SERVER_OK,
	SERVER_NOT_FOUND,
	SERVER_TOO_LARGE,
	SERVER_FAILED,
	SERVER_JUNK, /* not from the log: no debuginfod server would send this answer */
};

struct server_answer {
	enum server_says says;
	int http_status; /* 0: no HTTP answer came */
	bool timed_out;
	char text[96];
};

struct debuginfod_log {
	struct server_answer answers[DEBUGINFOD_SERVERS_MAX]; /* in the order of DEBUGINFOD_URLS */
	int committed; /* the server whose contents were used; -1: none */
	/* At least one server was asked; else the cache answered, or there was an error. */
	bool asked;
};

/* Reads the log of one call that asked n_servers servers; modifies the text. Lines in another form
 * are ignored, and their servers stay SILENT. */
void debuginfod_log_parse(struct debuginfod_log *log, char *text, size_t n_servers);

#endif
