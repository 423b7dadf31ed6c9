/* debuginfod_worker.h - processes in which libdebuginfod runs. Private to modules/debuginfod*.
 *
 * The library cannot run in threads: libdebuginfod 0.188 closes the descriptor of a control file of
 * its cache twice (debuginfod_config_cache: fclose(), then close()), and the second close hits
 * whatever file another thread has just opened. It also reads its settings from the environment. A
 * separate process has its own descriptors and environment, and can be killed if it does not
 * return. */
#ifndef MODULES_DEBUGINFOD_WORKER_H
#define MODULES_DEBUGINFOD_WORKER_H

#include <limits.h>
#include <sys/types.h>

#include "modules/debuginfod_library.h"
#include "modules/modules.h"

#define DEBUGINFOD_URLS_MAX 4096
#define DEBUGINFOD_FILE_MAX 32

struct worker {
	pid_t pid; /* 0: the process is gone */
	int fd;	   /* messages in both directions */
};

struct worker_request {
	struct build_id id;
	char file[DEBUGINFOD_FILE_MAX]; /* as in struct debuginfod_query */
	char urls[DEBUGINFOD_URLS_MAX]; /* value of DEBUGINFOD_URLS, with n_servers servers */
	size_t n_servers;
	uint64_t limit_bytes;
	unsigned reach_ms; /* not 0: which servers can be connected to in this time, and no file */
};

struct worker_reply {
	/* The query has ended; else this is a progress message with the next three. */
	bool is_over;
	bool committed; /* a server has begun to send contents */
	uint64_t bytes, total;
	/* The library's result: a descriptor, or a negative errno if there is no file. */
	int fd_or_errno;
	/* A section was asked for, but a whole file was sent: servers before 0.188 have no
	 * sections, and the library takes the section out of the file. The transfer was stopped. */
	bool is_whole_file;
	bool is_too_large;
	bool no_library;
	char path[PATH_MAX];			/* of the file; with no_library the reason */
	bool reachable[DEBUGINFOD_SERVERS_MAX]; /* with reach_ms */
	struct debuginfod_log log;
};

struct worker_setup {
	const char *cache_dir;
	unsigned silence_s, total_s; /* the library's own timeouts, longer than ours */
};

/* Starts n workers, by the process that fetches (fetch_process.h) if it runs; else to be called
 * before there are threads. Returns 0, or -1 if none was started. */
int workers_start(struct worker *v, size_t n, const struct worker_setup *setup);
void workers_stop(struct worker *v, size_t n, const char *cache_dir);

/* Sends a request. Returns 0, or -1 if the worker is gone. */
int worker_ask(struct worker *w, const struct worker_request *request);
/* Returns 1 if *reply was filled, 0 if nothing came within the time, -1 if the worker is gone. */
int worker_wait(struct worker *w, struct worker_reply *reply, int timeout_ms);
/* Asks the worker to end its query, which may take it a second. */
void worker_cancel(struct worker *w);
/* Kills the worker, and removes the files below cache_dir that it was writing. */
void worker_kill(struct worker *w, const char *cache_dir);

/* Starts one as a child of this process, without the descriptors of n others. Returns 0 or -1. */
int worker_start(struct worker *w, const struct worker_setup *setup, const struct worker *others,
		 size_t n);
/* Ignores the signals that are for the parent, and lets go of its standard streams. */
void worker_stand_apart(void);

#endif
