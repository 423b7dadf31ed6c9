/* regress_run.c - `capture` once per run. */
#include "cmd/regress_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/clean.h"

/* Finds `capture`: beside this program, else in PATH. */
static void find_capture(char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	snprintf(path, size, "capture");
	if (n <= 0)
		return;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash || (size_t)(slash - self) + sizeof "/capture" > size)
		return;
	*slash = '\0';
	if (snprintf(path, size, "%s/capture", self) >= (int)size || access(path, X_OK))
		snprintf(path, size, "capture");
}

static int record(const struct regress_run_options *o, const char *capture, char **command,
		  const char *path, struct err *err)
{
	VEC(char *) argv = {0};
	char hz[16];
	const char *const head[] = {capture, "-q", "-F", hz, "-o", path, "--"};
	size_t i;
	int status = 0;
	pid_t pid;

	snprintf(hz, sizeof hz, "%u", o->frequency);
	for (i = 0; i < sizeof head / sizeof *head; i++)
		if (vec_push(&argv, (char *)(uintptr_t)head[i]))
			goto nomem;
	for (i = 0; command[i]; i++)
		if (vec_push(&argv, command[i]))
			goto nomem;
	if (vec_push(&argv, NULL))
		goto nomem;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execvp(capture, argv.v);
		fprintf(stderr, "regress: %s: %s\n", capture, strerror(errno));
		_exit(127);
	}
	vec_done(&argv);
	if (pid < 0)
		return err_errno(err, errno, capture, "start");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(err, errno, capture, "wait for");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(err, ERR_IO, command[0],
			       "the command or its recording failed (status %d)",
			       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
nomem:
	vec_done(&argv);
	return err_nomem(err);
}

int regress_run_record(const struct regress_run_options *o, path_list *base, path_list *new,
		       struct err *err)
{
	static const char *const names[] = {"base", "new"};
	char capture[PATH_MAX], *path;
	unsigned round, turn, order = 0;
	int rc = 0;

	if (mkdir(o->dir, 0777) && errno != EEXIST)
		return err_errno(err, errno, o->dir, "create");
	find_capture(capture, sizeof capture);
	for (round = 1; !rc && round <= o->runs; round++) {
		/* The order of the sides is random, so that nothing periodic favours one of them.
		 */
		if (getrandom(&order, sizeof order, 0) != sizeof order)
			order = round;
		for (turn = 0; !rc && turn < 2; turn++) {
			unsigned side = (order + turn) & 1;

			if (asprintf(&path, "%s/%s%s-%02u.data", o->dir, o->prefix, names[side],
				     round) < 0)
				return err_nomem(err);
			if (!o->quiet && isatty(STDERR_FILENO)) {
				clean_bypass("\r");
				fprintf(stderr, "regress: round %u of %u, %s   ", round, o->runs,
					names[side]);
			}
			rc = record(o, capture, o->commands[side], path, err);
			if (vec_push(side ? new : base, path))
				return err_nomem(err);
		}
	}
	if (!o->quiet && isatty(STDERR_FILENO))
		fprintf(stderr, "\n");
	return rc;
}
