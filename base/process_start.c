/* process_start.c - proc(5), /proc/PID/stat, field 22, in ticks since boot. */
#include "base/process_start.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { START_FIELD = 22, STATE_FIELD = 3, STAT_BYTES = 1024 };
#define SECOND_NS 1000000000ull

/* Behind the name, which may have any character. */
static uint64_t start_ticks(const char *stat)
{
	const char *at = strrchr(stat, ')');

	for (int field = STATE_FIELD; at && field <= START_FIELD; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t process_start_wall_ns(uint32_t pid)
{
	const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	char path[32], stat[STAT_BYTES] = "";
	uint64_t ticks;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, stat, sizeof stat - 1);
	if (fd >= 0)
		close(fd);
	ticks = n > 0 && hz ? start_ticks(stat) : 0;
	if (!ticks)
		return 0;
	/* Both clocks are slewed alike: their difference changes only when one is set. */
	return clock_ns_of(CLOCK_REALTIME) - clock_ns_of(CLOCK_BOOTTIME) + ticks / hz * SECOND_NS +
	       ticks % hz * (SECOND_NS / hz);
}
