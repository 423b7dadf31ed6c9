/* began.c - when programs began, by the wall clock.
 *
 * What is told here makes a perf map one of another process, so it may be too early, never too
 * late: where it is not certain it is not known. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process_start.h"
#include "reader/file.h"
#include "reader/reader.h"

#define SECOND_NS 1000000000ull
/* perf writes the header behind the last sample: it looks for build ids before. */
#define HEADER_NS (10 * SECOND_NS)
/* perf's own clock is not slewed: 100 parts of a million. */
#define DRIFT 10000

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Without CLOCK_DATA: perf's own clock has begun with the machine, and the file was written at the
 * end. If both say the same the recording was made here, since this boot, and its file is not a
 * copy, which may be younger. *margin: how wrong that can be. */
static bool by_file_time(const struct perf_file *f, uint64_t *wall_of_0, uint64_t *margin)
{
	const struct perf_file_info *i = &f->info;
	const uint64_t boot = clock_ns_of(CLOCK_REALTIME) - clock_ns_of(CLOCK_BOOTTIME);
	const uint64_t end = f->last_ns, off = distance(boot + end, i->file_mtime_ns);

	if (!end || i->file_mtime_ns < end || off > HEADER_NS + end / DRIFT)
		return false;
	*wall_of_0 = boot < i->file_mtime_ns - end ? boot : i->file_mtime_ns - end;
	*margin = off + 2 * SECOND_NS;
	return true;
}

static bool wall_clock(const struct perf_file *f, uint64_t *wall_of_0, uint64_t *margin)
{
	const struct perf_file_info *i = perf_file_info(f);

	*margin = PROCESS_START_SLACK_NS;
	*wall_of_0 = i->clock_wall_ns - i->clock_ref_ns;
	return i->clock_wall_ns > i->clock_ref_ns || by_file_time(f, wall_of_0, margin);
}

static bool is_of_this_machine(const struct perf_file *f)
{
	const char *name = perf_file_info(f)->hostname;
	char own[256] = "";

	return name && !gethostname(own, sizeof own - 1) && !strcmp(name, own);
}

/* A process that was there before the recording and runs still is the one that was recorded. */
static uint64_t by_proc(const struct perf_file *f, uint32_t pid, uint64_t wall_of_0,
			uint64_t margin)
{
	const uint64_t begun = f->first_ns, end = wall_of_0 + begun;
	const uint64_t start = begun && is_of_this_machine(f) ? process_start_wall_ns(pid) : 0;

	return start && start < end - margin ? start - PROCESS_START_SLACK_NS : 0;
}

uint64_t perf_file_began_wall_ns(const struct perf_file *f, const struct dso *dso)
{
	uint64_t wall_of_0, margin;

	if (dso->kind != DSO_ANON || !wall_clock(f, &wall_of_0, &margin))
		return 0;
	if (!dso->began_ns)
		return by_proc(f, dso->pid, wall_of_0, margin);
	return wall_of_0 + dso->began_ns > margin ? wall_of_0 + dso->began_ns - margin : 0;
}
