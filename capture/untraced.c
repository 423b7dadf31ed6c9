/* untraced.c - says why threads could not be halted.
 *
 * Sources: ptrace(2), EPERM; proc(5) for TracerPid; Documentation/admin-guide/LSM/Yama.rst. */
#include "capture/untraced.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/sysfile.h"

static pid_t tracer_of(pid_t pid, pid_t tid)
{
	static const char key[] = "\nTracerPid:";
	char path[64], text[4096], *at;

	snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
	if (sysfile_read(path, text, sizeof text) <= 0)
		return 0;
	at = strstr(text, key);
	return at ? (pid_t)strtol(at + sizeof key - 1, NULL, 10) : 0;
}

int untraced_add(struct untraced *u, pid_t pid, pid_t tid, int errnum, struct err *err)
{
	char path[64];
	int rc = tid_list_add(&u->tids, tid, err);

	if (rc < 0 || u->pid)
		return rc < 0 ? rc : 0;
	u->errnum = errnum;
	u->pid = pid;
	u->tracer = tracer_of(pid, tid);
	snprintf(path, sizeof path, "/proc/%d/comm", (int)u->tracer);
	if (!u->tracer || sysfile_line(path, u->name, sizeof u->name))
		snprintf(u->name, sizeof u->name, "?");
	return 0;
}

void untraced_describe(const struct untraced *u, char *ret, size_t size)
{
	const size_t n = u->tids.tids.n;
	int used = snprintf(ret, size, "%zu thread%s could not be read, of process %d%s: ", n,
			    &"s"[n == 1], (int)u -> pid, n == 1 ? "" : " for one");

	if (used < 0 || (size_t)used >= size)
		return;
	ret += used;
	size -= (size_t)used;
	if (u->tracer)
		snprintf(ret, size,
			 "process %d (%s) traces it already, and only one can: end that, or let "
			 "it detach",
			 (int)u->tracer, u->name);
	else if (geteuid())
		snprintf(ret, size, "%s; run capture as root", strerror(u->errnum));
	else
		snprintf(ret, size,
			 "%s; no process traces it that is seen from here: without CAP_SYS_PTRACE, "
			 "with kernel.yama.ptrace_scope=3, or where a security module forbids it, "
			 "no one may",
			 strerror(u->errnum));
}

void untraced_done(struct untraced *u)
{
	tid_list_done(&u->tids);
}
