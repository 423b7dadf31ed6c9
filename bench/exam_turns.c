/* turns FILE: runs each line of FILE by a shell, one after the other; writes the times around each
 * to standard output. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int n, char **v)
{
	static char line[65536];
	FILE *f = n > 1 ? fopen(v[1], "r") : NULL;
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		double start = now();
		pid_t pid = fork();
		if (!pid) {
			dup2(open("/dev/null", O_RDWR), 1);
			dup2(1, 0);
			execl("/bin/sh", "sh", "-c", line, (char *)NULL);
			_exit(127);
		}
		int status;
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
			return 1;
		printf("%.9f %.9f\n", start, now());
		fflush(stdout);
	}
	return !f;
}
