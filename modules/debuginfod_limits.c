/* debuginfod_limits.c - the variables of debuginfod_find_debuginfo(3), and what holds without them.
 */
#include "modules/debuginfod_limits.h"
#include "modules/debuginfod_library.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum {
	CONNECT_MS = 3000,
	ANSWER_MS = 30000,
	STALL_MS = 10000,
	TOTAL_MS = 900000,
	SECONDS_MAX = 1000000,
};

/* A debug file of a browser has four gigabytes. */
#define FILE_BYTES_MAX (16ULL << 30)

static unsigned settle(unsigned given_ms, const char *name, unsigned default_ms)
{
	const char *v = getenv(name);
	long s = v ? atol(v) : 0;

	if (given_ms)
		return given_ms;
	return s > 0 && s < SECONDS_MAX ? (unsigned)s * 1000 : default_ms;
}

void limits_settle(struct fetch_options *o)
{
	o->connect_ms = o->connect_ms ? o->connect_ms : CONNECT_MS;
	o->answer_ms = settle(o->answer_ms, DEBUGINFOD_TIMEOUT_ENV_VAR, ANSWER_MS);
	o->stall_ms = settle(o->stall_ms, DEBUGINFOD_TIMEOUT_ENV_VAR, STALL_MS);
	o->total_ms = settle(o->total_ms, DEBUGINFOD_MAXTIME_ENV_VAR, TOTAL_MS);
}

/* Of a binary and what belongs to it. Debian's ceph-mon (C++) has 30 times its size of debug
 * information, uncompressed, and less than its size of lines; several times that is no debug file
 * of it. What small programs take out of large headers is in the base. */
static const struct {
	const char *file;
	unsigned base_mb, times;
} kinds[] = {
	{"debuginfo", 512, 128}, {".note.gnu.build-id", 1, 0}, {".symtab", 16, 4},
	{".strtab", 64, 16},	 {".debug_line", 32, 16},      {".debug_line_str", 16, 4},
	{".debug_str", 64, 32},
};

/* Of a compressed section the header stands in front. */
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

uint64_t limits_of_query(const struct debuginfod_query *q)
{
	const char *v = getenv(DEBUGINFOD_MAXSIZE_ENV_VAR);
	long long bytes = v ? atoll(v) : 0;
	uint64_t usual = usual_bytes(q);

	/* Who says how much may come, may want whole files that are unusually large. */
	if (bytes > 0 && ((uint64_t)bytes < usual || q->file[0] != '.'))
		return (uint64_t)bytes;
	return usual;
}

uint64_t limits_room(const char *dir, uint64_t max_bytes)
{
	struct statvfs fs;
	uint64_t room = max_bytes;

	if (!statvfs(dir, &fs))
		room = (uint64_t)fs.f_bavail * fs.f_frsize / 10 * 9;
	return room < max_bytes ? room : max_bytes;
}
