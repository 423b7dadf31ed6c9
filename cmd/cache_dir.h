/* cache_dir.h - where compiled debug information is kept, for the commands that symbolize. */
#ifndef CMD_CACHE_DIR_H
#define CMD_CACHE_DIR_H

#include "cmd/pipeline.h"

/* Sets the cache of *opt: $XDG_CACHE_HOME/unspool or ~/.cache/unspool, as large as
 * $UNSPOOL_CACHE_SIZE says (bytes, or with a suffix K, M, G; 0: none), else 1 GiB. Without a home
 * there is none. 0, or negative when the size makes no sense. */
int cache_options(struct pipeline_options *opt, struct err *err);

#endif
