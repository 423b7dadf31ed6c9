/* workers.h - reads a recording and turns it into stacks, on one thread or several.
 *
 * A batch goes through four stages: it is read, its samples are unwound, cut stacks are completed
 * from others of the batch and of those before, and all are added to the profile. Only unwinding
 * needs nothing but the sample, so any number of threads do it side by side, for several batches;
 * each other stage takes one batch after the other, reading on whichever thread is free and the
 * last two always on the same. So what comes out does not depend on the number of threads.
 */
#ifndef CMD_SCHEDULER_H
#define CMD_SCHEDULER_H

#include "cmd/pipeline.h"

/* Reads p->file to its end, fills p->profile, p->unwind and p->filtered. */
int scheduler_run(struct pipeline *p, const struct pipeline_options *opt, struct err *err);

#endif
