/* regress_git.c - asks git, without a shell. */
#include "cmd/regress_git.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs git in the folder of a file; its first word of output, if out is not NULL. */
static bool git(const char *file, const char *const words[4], char *out, size_t size)
{
	char dir[PATH_MAX];
	const char *argv[] = {"git", "-C", dir, words[0], words[1], words[2], words[3], NULL};
	const char *slash = strrchr(file, '/');
	int fds[2], status = 1;
	ssize_t n;
	pid_t pid;

	snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - file + 1) : 1, slash ? file : ".");
	if (pipe2(fds, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, STDIN_FILENO);
		dup2(fds[1], STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execvp("git", (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(fds[1]);
	n = out && pid > 0 ? read(fds[0], out, size - 1) : 0;
	close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		return false;
	if (out) {
		out[n > 0 ? n : 0] = '\0';
		out[strcspn(out, "\n")] = '\0';
	}
	return true;
}

bool git_is_swapped(const char *base, const char *fresh)
{
	char old[80], new[80];
	const char *const head[4] = {"rev-parse", "HEAD"};
	const char *const ask[4] = {"merge-base", "--is-ancestor", new, old};

	return git(base, head, old, sizeof old) && git(fresh, head, new, sizeof new) &&
	       strcmp(old, new) && git(base, ask, NULL, 0);
}
