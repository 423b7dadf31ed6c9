/* workers.h - unwinds batches on several threads, each filling a profile of its own.
 *
 * Samples are sharded by thread id, so that what a worker keeps between samples of one thread
 * (caches, stitching donors) never depends on the number of workers, and neither does the merged
 * result.
 */
#ifndef CMD_WORKERS_H
#define CMD_WORKERS_H

#include "cmd/pipeline.h"

/* Reads p->file to its end, fills p->profile, p->unwind and p->filtered. */
int workers_run(struct pipeline *p, const struct pipeline_options *opt, struct err *err);

#endif
