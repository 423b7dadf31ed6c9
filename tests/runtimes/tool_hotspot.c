/* tool_hotspot - PID FILE: writes the code of a running JVM into a jitdump, and says what was
 * found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtimes/runtimes.h"

/* The first mapping of libjvm.so. */
static uint64_t find_libjvm(const char *pid)
{
	char line[4096];
	uint64_t start = 0;
	FILE *f;

	snprintf(line, sizeof line, "/proc/%s/maps", pid);
	f = fopen(line, "r");
	while (f && !start && fgets(line, sizeof line, f))
		if (strstr(line, "/libjvm.so"))
			start = strtoull(line, NULL, 16);
	if (f)
		fclose(f);
	return start;
}

int main(int argc, char **argv)
{
	struct hotspot_counts c = {0};
	struct timespec ts;
	struct hotspot *h;
	struct code_log log;
	struct err err;
	char text[1024];
	uint64_t now;
	FILE *f;
	int rc;

	if (argc != 3)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	rc = hotspot_open(&h, (pid_t)atoi(argv[1]), find_libjvm(argv[1]), &err);
	if (rc) {
		err_format(&err, text, sizeof text);
		fprintf(stderr, "%s\n", text);
		return 1;
	}
	code_log_begin(&log, (uint32_t)atoi(argv[1]), now);
	rc = hotspot_snapshot(h, NULL, 0, now, &log, &c);
	printf("release %s codes %llu scopes %llu torn %llu bytes %llu cut %d gone %d\n",
	       hotspot_release(h), (unsigned long long)c.codes, (unsigned long long)c.scopes,
	       (unsigned long long)c.torn, (unsigned long long)c.bytes, c.is_cut, c.is_gone);
	f = fopen(argv[2], "w");
	if (!f || fwrite(log.bytes.v, 1, log.bytes.n, f) != log.bytes.n || fclose(f))
		rc = 1;
	code_log_done(&log);
	hotspot_free(h);
	return rc ? 1 : 0;
}
