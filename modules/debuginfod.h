/* debuginfod.h - asks debuginfod servers for files, through libdebuginfod. Private to modules/.
 *
 * The library waits for minutes, accepts any answer as the file, and turns a server's failure into
 * "there is no such file", which its cache then repeats for ten minutes. The code here adds
 * timeouts, checks, repairs and reasons. Source: debuginfod_find_debuginfo(3), debuginfod(8)
 * "webapi". */
#ifndef MODULES_DEBUGINFOD_H
#define MODULES_DEBUGINFOD_H

#include <limits.h>

#include "modules/modules.h"

#define DEBUGINFOD_DETAIL_MAX	 160
#define DEBUGINFOD_IN_FLIGHT_MAX 4

struct debuginfod; /* servers, timeouts, worker processes */

struct debuginfod_query {
	const struct dso *dso; /* the dso that needs the file, and its rank; for the listener */
	size_t rank, n_ranks;
	const struct build_id *id;
	uint64_t image_bytes;	/* size of the file whose build id it is; 0: unknown */
	uint64_t section_bytes; /* of the section, if a section header says so; 0: unknown */
	const char *file;	/* "executable", "debuginfo", or the section ".symtab" ... */
	char path[PATH_MAX];	/* out, with FETCH_DONE: path of the file in the cache */
	char detail[DEBUGINFOD_DETAIL_MAX]; /* out: which server answered what; "": nothing */
	uint64_t bytes, elapsed_ms;	    /* out: bytes received; time that it took */
};

/* Starts processes: see modules_new(). Returns NULL when out of memory, or if no process can be
 * started. */
struct debuginfod *debuginfod_new(const struct fetch_options *opt, const char *cache_dir);
void debuginfod_free(struct debuginfod *d);

/* Waits for a free worker and for the answer. For any thread. Whole files and .note.gnu.build-id
 * are checked; other sections have nothing to check them by: a caller that finds one to be wrong
 * unlinks q->path. */
enum fetch_result debuginfod_get(struct debuginfod *d, struct debuginfod_query *q);

/* Calls the listener, if there is one, and returns its answer. */
enum fetch_answer debuginfod_notify(struct debuginfod *d, const struct fetch_event *e);

/* ---- debuginfod_limits.c ----------------------------------------------------------------- */

/* Timeouts in milliseconds: for a connection, for the first byte of an answer, for a period in
 * which next to nothing arrives, and for one file. */
struct fetch_clocks {
	unsigned connect, answer, stall, total;
};

/* The timeouts that the user set with DEBUGINFOD_TIMEOUT (answer, stall) and DEBUGINFOD_MAXTIME
 * (total), else our defaults. */
struct fetch_clocks limits_clocks(void);
/* Limit on one answer, in bytes: the most that such a file or section can have for a binary of this
 * size, but no more than DEBUGINFOD_MAXSIZE (the library sends it to the servers, which may ignore
 * it), and no more than nine tenths of the free space of the cache. */
uint64_t limits_of_query(const struct debuginfod_query *q, const char *cache_dir);

#endif
