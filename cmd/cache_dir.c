/* cache_dir.c - the cache of compiled debug information: where, and how large. */
#include "cmd/cache_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One large module takes some 10 MB, a small program some 10 KB. */
#define DEFAULT_BYTES (1ull << 30)

/* In the file, compressed or not. 240 KB are compiled in 1.5 ms and kept in 0.6 ms; less is not
 * worth a file. */
enum { WORTH_KEEPING_BYTES = 64 << 10 };

static int parse_size(const char *text, uint64_t *ret, struct err *err)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (text[0] >= '0' && text[0] <= '9' && !errno && (!*end || (suffix && !end[1]))) {
		unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;

		if (*ret <= UINT64_MAX >> shift) {
			*ret <<= shift;
			return 0;
		}
	}
	return err_set(err, ERR_USAGE, NULL,
		       "UNSPOOL_CACHE_SIZE: '%s' is no size (as in 500M, 2G; 0 for no cache)",
		       text);
}

int cache_options(struct pipeline_options *opt, struct err *err)
{
	const char *size = getenv("UNSPOOL_CACHE_SIZE");
	struct symbolizer_options *so = &opt->symbolizer;
	int rc = 0;

	so->cache_max_bytes = DEFAULT_BYTES;
	so->cache_min_bytes = WORTH_KEEPING_BYTES;
	if (size && *size)
		rc = parse_size(size, &so->cache_max_bytes, err);
	if (!rc && so->cache_max_bytes &&
	    symbolizer_cache_dir(opt->cache_dir, sizeof opt->cache_dir))
		so->cache_dir = opt->cache_dir;
	return rc;
}
