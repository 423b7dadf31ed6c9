/* debuginfod_library.h - libdebuginfod.so.1, and what its log says. Private to modules/debuginfod*.
 */
#ifndef MODULES_DEBUGINFOD_LIBRARY_H
#define MODULES_DEBUGINFOD_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* What of elfutils/debuginfod.h is used. The library is loaded when it is needed, so that its
 * package, and those that it needs, need not be there to build. */
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

/* Its functions, by their names without "debuginfod_". */
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
	bool knows_ima; /* policies in DEBUGINFOD_URLS: since 0.192 */
};

/* Loaded at the first call and then kept; NULL when it is not there or older than 0.183, and *why
 * is then the dynamic linker's reason. From any thread. */
const struct debuginfod_library *debuginfod_library(const char **why);

/* What the log says about one server in one call. */
enum server_says {
	SERVER_SILENT,
	SERVER_OK,
	SERVER_NOT_FOUND,
	SERVER_TOO_LARGE,
	SERVER_FAILED,
	SERVER_JUNK, /* not from the log: what it sent comes from no debuginfod server */
};

struct server_answer {
	enum server_says says;
	int http_status; /* 0: it did not come to that */
	bool timed_out;
	char text[96];
};

struct debuginfod_log {
	struct server_answer answers[DEBUGINFOD_SERVERS_MAX]; /* in the order of DEBUGINFOD_URLS */
	int committed; /* the server whose contents were taken; -1: none */
	bool asked;    /* at least one server was; else the cache knew, or there was an error */
};

/* Reads the log of one call in which n_servers were listed; cuts the text into lines. Text of other
 * kinds leaves all SILENT. */
void debuginfod_log_parse(struct debuginfod_log *log, char *text, size_t n_servers);

#endif
