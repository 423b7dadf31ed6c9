/* debuginfod_worker.h - processes in which libdebuginfod runs. Private to modules/debuginfod*.
 *
 * It cannot run in threads: libdebuginfod 0.188 closes the descriptor of a control file of its
 * cache twice (debuginfod_config_cache: fclose(), then close()), and what is closed the second time
 * is whatever file another thread has just opened. It also takes its orders from the environment. A
 * process of its own has its own of both, and can be got rid of when it does not come back. */
#ifndef MODULES_DEBUGINFOD_WORKER_H
#define MODULES_DEBUGINFOD_WORKER_H

#include <limits.h>
#include <sys/types.h>

#include "modules/debuginfod_library.h"
#include "modules/modules.h"

#define DEBUGINFOD_URLS_MAX 4096
#define DEBUGINFOD_FILE_MAX 32

struct worker {
	pid_t pid; /* 0: gone */
	int fd;	   /* messages in both directions */
};

struct worker_request {
	struct build_id id;
	char file[DEBUGINFOD_FILE_MAX]; /* as in struct debuginfod_query */
	char urls[DEBUGINFOD_URLS_MAX]; /* for DEBUGINFOD_URLS, which names n_servers */
	size_t n_servers;
	uint64_t limit_bytes;
};

struct worker_reply {
	bool is_over;	/* else a sign of life, with the next three */
	bool committed; /* a server sends contents */
	uint64_t bytes, total;
	int fd_or_errno; /* what the library returned: negative errno when there is no file */
	/* A section was asked for, and there came a whole file, because servers before 0.188 know
	 * nothing else and the library takes the section out of it. It was stopped. */
	bool is_whole_file;
	bool is_too_large;
	bool no_library;
	char path[PATH_MAX]; /* of the file; why there is no library */
	struct debuginfod_log log;
};

struct worker_setup {
	const char *cache_dir;
	unsigned silence_s, total_s; /* the library's own clocks: larger than ours */
};

/* Starts n of them; to be called before there are threads. 0, or -1 when there is none at all. */
int workers_start(struct worker *v, size_t n, const struct worker_setup *setup);
void workers_stop(struct worker *v, size_t n, const char *cache_dir);

/* 0, or -1 when it is gone. */
int worker_ask(struct worker *w, const struct worker_request *request);
/* 1: *reply was filled; 0: nothing within the time; -1: it is gone. */
int worker_wait(struct worker *w, struct worker_reply *reply, int timeout_ms);
/* Asks it to end the query, which takes it up to a second. */
void worker_cancel(struct worker *w);
/* Ends it, and removes what it was writing to below the directory. */
void worker_kill(struct worker *w, const char *cache_dir);

#endif
