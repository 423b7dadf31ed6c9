/* cache_dir.h - the directory of compiled debug information and of what is known of the kernel. */
#ifndef CMD_CACHE_DIR_H
#define CMD_CACHE_DIR_H

#include <limits.h>

#include "dwarf/dwarf.h"
#include "symbolize/symbolize.h"

/* Sets *cache, whose name is kept in `dir`: $XDG_CACHE_HOME/unspool or ~/.cache/unspool. Its size
 * is $UNSPOOL_CACHE_SIZE (bytes, or with a suffix K, M, G; 0: no cache), else 1 GiB. Without a home
 * there is no cache: cache->dir is NULL. Returns 0, or negative if the size is invalid. */
int cache_of_user(struct dwarf_cache *cache, char dir[PATH_MAX], struct err *err);
/* The same for the cache of *so. */
int cache_options(struct symbolizer_options *so, char dir[PATH_MAX], struct err *err);

#endif
