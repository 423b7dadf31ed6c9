/* cache_dir.h - the directory of compiled debug information, for commands that symbolize. */
#ifndef CMD_CACHE_DIR_H
#define CMD_CACHE_DIR_H

#include "cmd/pipeline.h"

/* Sets the cache of *opt: $XDG_CACHE_HOME/unspool or ~/.cache/unspool. Its size is
 * $UNSPOOL_CACHE_SIZE (bytes, or with a suffix K, M, G; 0: no cache), else 1 GiB. Without a home
 * there is no cache. Returns 0, or negative if the size is invalid. */
int cache_options(struct pipeline_options *opt, struct err *err);

#endif
