/* debuginfod.h - asks debuginfod servers for files, through libdebuginfod. Private to modules/.
 *
 * The library waits for minutes, takes any answer for the file, and makes of a server's trouble a
 * "there is no such file" that its cache repeats for ten minutes. What is here adds the clocks, the
 * checks, the repairs and the reasons. Source: debuginfod_find_debuginfo(3), debuginfod(8)
 * "webapi".
 */
#ifndef MODULES_DEBUGINFOD_H
#define MODULES_DEBUGINFOD_H

#include <limits.h>

#include "modules/modules.h"

#define DEBUGINFOD_DETAIL_MAX	 160
#define DEBUGINFOD_IN_FLIGHT_MAX 4

struct debuginfod; /* opaque: servers, clocks, workers */

struct debuginfod_query {
	const struct dso *dso; /* for whom, and its place in the order: for the listener */
	size_t rank, n_ranks;
	const struct build_id *id;
	uint64_t image_bytes;	/* size of the file whose build id it is; 0: unknown */
	uint64_t section_bytes; /* of this section, when a section header has it; 0: unknown */
	const char *file;	/* "executable", "debuginfo", or the section ".symtab" ... */
	char path[PATH_MAX];	/* out, with FETCH_DONE: the file in the cache */
	char detail[DEBUGINFOD_DETAIL_MAX]; /* out: which server said what; "" */
	uint64_t bytes, elapsed_ms;	    /* out: received, in */
};

/* Starts processes: see modules_new(). NULL when out of memory, or of processes. */
struct debuginfod *debuginfod_new(const struct fetch_options *opt, const char *cache_dir);
void debuginfod_free(struct debuginfod *d);

/* Waits for its turn and for the answer. From any thread. Whole files and .note.gnu.build-id are
 * checked; other sections carry nothing to check them by: a caller that finds one to be wrong
 * unlinks the path. */
enum fetch_result debuginfod_get(struct debuginfod *d, struct debuginfod_query *q);

/* Calls the listener. */
enum fetch_answer debuginfod_notify(struct debuginfod *d, const struct fetch_event *e);

/* ---- debuginfod_limits.c ----------------------------------------------------------------- */

/* How long is waited, in milliseconds: for a connection, for the first byte of an answer, while
 * next to nothing arrives, and for one file. */
struct fetch_clocks {
	unsigned connect, answer, stall, total;
};

/* The user's by DEBUGINFOD_TIMEOUT (answer, stall) and DEBUGINFOD_MAXTIME (total), or our own. */
struct fetch_clocks limits_clocks(void);
/* Of one answer: what such a file or section can have at most for a binary of that size, no more
 * than DEBUGINFOD_MAXSIZE, which the library sends to the servers, who may not care, and no more
 * than nine tenths of what is free in the cache. */
uint64_t limits_of_query(const struct debuginfod_query *q, const char *cache_dir);

#endif
