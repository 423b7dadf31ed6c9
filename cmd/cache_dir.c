/* cache_dir.c - the location and size of the cache of compiled debug information. */
#include "cmd/cache_dir.h"

#include <stdlib.h>

#include "cmd/args.h"

/* A large module takes some 10 MB, a small program some 10 KB. */
#define DEFAULT_BYTES (1ull << 30)

/* Size of .debug_info in the file, compressed or not. 240 KB are compiled in 1.5 ms and stored in
 * the cache in 0.6 ms; less is not worth a file. */
enum { WORTH_KEEPING_BYTES = 64 << 10 };

int cache_of_user(struct dwarf_cache *cache, char dir[PATH_MAX], struct err *err)
{
	const char *size = getenv("UNSPOOL_CACHE_SIZE");

	*cache = (struct dwarf_cache){.max_bytes = DEFAULT_BYTES, .min_bytes = WORTH_KEEPING_BYTES};
	if (size && *size && !args_size(size, 1, &cache->max_bytes))
		return err_set(err, ERR_USAGE, NULL,
			       "UNSPOOL_CACHE_SIZE: '%s' is no size (as in 500M, 2G; 0 for no "
			       "cache)",
			       size);
	if (cache->max_bytes && dwarf_cache_dir(dir, PATH_MAX))
		cache->dir = dir;
	return 0;
}

int cache_options(struct symbolizer_options *so, char dir[PATH_MAX], struct err *err)
{
	struct dwarf_cache cache;
	int rc = cache_of_user(&cache, dir, err);

	so->cache_dir = cache.dir;
	so->cache_max_bytes = cache.max_bytes;
	so->cache_min_bytes = cache.min_bytes;
	return rc;
}
