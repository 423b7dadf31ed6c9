/* fetch_process.h - the process that starts and ends those in which libdebuginfod runs. Private to
 * modules/debuginfod*.
 *
 * It is started before this process gives up sockets (modules_fetch_apart()) and keeps what
 * fetching needs: sockets, and to write to the cache. Where it is not, this process does the same
 * itself. */
#ifndef MODULES_FETCH_PROCESS_H
#define MODULES_FETCH_PROCESS_H

#include "modules/debuginfod_worker.h"

bool fetch_process_runs(void);
/* As worker_start() and worker_kill() in that process, with its own cache. For any thread. */
int fetch_process_start(struct worker *w, const struct worker_setup *setup);
void fetch_process_kill(struct worker *w);

#endif
