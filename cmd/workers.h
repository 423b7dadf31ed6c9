/* workers.h - unwinds batches on several threads, each filling a profile of its own.
 *
 * Every worker takes an equal part of each batch. When cut stacks are completed from other samples
 * of their thread, samples are sharded by thread id instead, so that the donors never depend on the
 * number of workers. Neither does the merged result.
 */
#ifndef CMD_WORKERS_H
#define CMD_WORKERS_H

#include "cmd/pipeline.h"

/* Reads p->file to its end, fills p->profile, p->unwind and p->filtered. */
int workers_run(struct pipeline *p, const struct pipeline_options *opt, struct err *err);

#endif
