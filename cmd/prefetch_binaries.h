/* prefetch_binaries.h - fetches the binaries that unwinding will need. */
#ifndef CMD_PREFETCH_BINARIES_H
#define CMD_PREFETCH_BINARIES_H

#include "cmd/pipeline.h"

/* Reads the recording once beforehand and fetches the binaries that its samples were in and that
 * are not here, the hottest first, four at a time. For what it finds later, in the middle of
 * stacks, unwinding asks itself, and so for everything of a pipe, which can be read only once. 0 or
 * negative. */
int prefetch_binaries(struct pipeline *p, const struct pipeline_options *opt, struct err *err);

#endif
