/* debuginfod_limits.c - timeouts, and limits on sizes: from the variables of
 * debuginfod_find_debuginfo(3), or defaults. */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "modules/debuginfod.h"
#include "modules/debuginfod_library.h"

enum {
	CONNECT_MS = 3000,
	ANSWER_MS = 30000, /* up to the first byte: servers may have to unpack an archive first */
	STALL_MS = 10000,  /* with next to nothing arriving */
	TOTAL_MS = 900000,
	SECONDS_MAX = 1000000,
};

/* Debug files of browsers have four gigabytes. */
#define FILE_BYTES_MAX (16ULL << 30)

static unsigned clock_of(const char *name, unsigned default_ms)
{
	const char *v = getenv(name);
	long s = v ? atol(v) : 0;

	return s > 0 && s < SECONDS_MAX ? (unsigned)s * 1000 : default_ms;
}

struct fetch_clocks limits_clocks(void)
{
	return (struct fetch_clocks){
		.connect = CONNECT_MS,
		.answer = clock_of(DEBUGINFOD_TIMEOUT_ENV_VAR, ANSWER_MS),
		.stall = clock_of(DEBUGINFOD_TIMEOUT_ENV_VAR, STALL_MS),
		.total = clock_of(DEBUGINFOD_MAXTIME_ENV_VAR, TOTAL_MS),
	};
}

/* Limits relative to the size of the binary. Debian's ceph-mon (C++) has 30 times its size of debug
 * information, uncompressed, and less than its size of lines; a file several times larger than that
 * is not its debug file. `base_mb` covers small programs that use large headers. */
static const struct {
	const char *file;
	unsigned base_mb, times;
} kinds[] = {
	{"debuginfo", 512, 128}, {".note.gnu.build-id", 1, 0}, {".symtab", 16, 4},
	{".strtab", 64, 16},	 {".debug_line", 32, 16},      {".debug_line_str", 16, 4},
	{".debug_str", 64, 32},
};

/* A compressed section begins with its header. */
enum { CHDR_BYTES = 24 };

static uint64_t usual_bytes(const struct debuginfod_query *q)
{
	size_t i;

	if (q->section_bytes)
		return q->section_bytes + CHDR_BYTES;
	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].file, q->file) && (q->image_bytes || !kinds[i].times))
			return ((uint64_t)kinds[i].base_mb << 20) + kinds[i].times * q->image_bytes;
	return FILE_BYTES_MAX;
}

uint64_t limits_of_query(const struct debuginfod_query *q, const char *cache_dir)
{
	const char *v = getenv(DEBUGINFOD_MAXSIZE_ENV_VAR);
	long long user = v ? atoll(v) : 0;
	uint64_t max = usual_bytes(q), room;
	struct statvfs fs;

	/* Users who set a limit may want whole files that are unusually large. */
	if (user > 0 && ((uint64_t)user < max || q->file[0] != '.'))
		max = (uint64_t)user;
	if (statvfs(cache_dir, &fs))
		return max;
	room = (uint64_t)fs.f_bavail * fs.f_frsize / 10 * 9;
	return room < max ? room : max;
}
