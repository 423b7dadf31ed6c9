/* alive.c - processes that a command leaves behind, and programs that users cannot record. */
#include "capture/alive.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "capture/session.h"
#include "reader/format.h"

/* perf_event.h, PERF_RECORD_FORK and _EXIT: u32 pid, ppid; u32 tid, ptid; u64 time. A thread's
 * record has the same pid and ppid, and its tid is not its pid. */
void alive_note_record(struct alive *a, const uint8_t *rec, size_t n)
{
	struct buf b = buf_make(rec, n, 0, false);
	struct perf_event_header h;
	uint32_t pid, ppid, tid;

	memcpy(&h, rec, sizeof h);
	if (h.type != PERF_RECORD_FORK && h.type != PERF_RECORD_EXIT)
		return;
	buf_skip(&b, sizeof h);
	pid = buf_u32(&b);
	ppid = buf_u32(&b);
	tid = buf_u32(&b);
	if (pid != tid || !buf_ok(&b))
		return;
	if (h.type == PERF_RECORD_FORK && pid != ppid && vec_push(&a->pids, (pid_t)pid))
		return;
	for (size_t i = a->pids.n; h.type == PERF_RECORD_EXIT && i-- > 0;)
		if (a->pids.v[i] == (pid_t)pid)
			a->pids.v[i] = a->pids.v[--a->pids.n];
}

static bool exists(pid_t pid)
{
	return !kill(pid, 0) || errno == EPERM;
}

void alive_report(const struct alive *a, struct capture_result *ret)
{
	pid_t first = 0;
	size_t n = 0;

	for (size_t i = 0; i < a->pids.n; i++)
		if (exists(a->pids.v[i])) {
			first = first ? first : a->pids.v[i];
			n++;
		}
	if (n)
		capture_note(ret,
			     "%zu process%s of the command still run%s, and the recording ended "
			     "with the command: capture -p %d goes on%s",
			     n, n == 1 ? "" : "es", n == 1 ? "s" : "", (int)first,
			     n == 1 ? "" : " with the first");
}

void alive_done(struct alive *a)
{
	vec_done(&a->pids);
}

/* As execvp() looks for it. */
static bool stat_command(const char *command, struct stat *ret)
{
	const char *path = getenv("PATH");
	char file[4096];
	size_t n;

	if (strchr(command, '/'))
		return !stat(command, ret);
	for (; path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if ((size_t)snprintf(file, sizeof file, "%.*s/%s", (int)n, path, command) <
			    sizeof file &&
		    !access(file, X_OK))
			return !stat(file, ret);
	}
	return false;
}

void setuid_report(const char *command, struct capture_result *ret)
{
	struct stat st;

	if (!geteuid() || !stat_command(command, &st) || !S_ISREG(st.st_mode))
		return;
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	    (st.st_mode & S_ISGID && st.st_gid != getegid()))
		capture_note(ret,
			     "%s runs with another user's rights (setuid), and the kernel stops "
			     "recording it for users: sudo capture",
			     command);
}
