/* turns FILE: runs each line of FILE by a shell, one after the other; writes the times around each
 * to standard output. A line of "place" and files puts these elsewhere in memory, as `regress run`
 * does. */
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

/* Out of the page cache, and read again. */
static void place_anew(char *files)
{
	static char piece[65536];
	char *end, *path = strtok_r(files, " ", &end);

	for (; path; path = strtok_r(NULL, " ", &end)) {
		int fd = open(path, O_RDONLY);

		fdatasync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		while (read(fd, piece, sizeof piece) > 0)
			;
		close(fd);
	}
}

int main(int n, char **v)
{
	static char line[65536];
	FILE *f = n > 1 ? fopen(v[1], "r") : NULL;
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "place ", 6)) {
			place_anew(line + 6);
			continue;
		}
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
