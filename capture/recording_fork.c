/* recording_fork.c - a process of its own that ends a file while the recording goes on. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/err.h"
#include "capture/recording.h"

pid_t recording_fork(struct recording *r, int *report_fd, struct err *err)
{
	int fds[2], errnum;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return err_errno(err, errno, NULL, "create a pipe");
	runtime_watch_hold(r->drain.runtimes);
	record_writer_hold(r->drain.writer);
	pid = fork();
	errnum = errno;
	if (!pid) {
		record_writer_forked(r->drain.writer);
		runtime_watch_forked(r->drain.runtimes);
	} else {
		record_writer_release(r->drain.writer);
		runtime_watch_release(r->drain.runtimes);
	}
	close(fds[pid ? 1 : 0]);
	*report_fd = fds[pid ? 0 : 1];
	if (pid < 0) {
		close(*report_fd);
		return err_errno(err, errnum, NULL, "fork");
	}
	return pid;
}

bool recording_read_report(int *report_fd, void *to, size_t n)
{
	size_t at = 0;

	while (at < n) {
		ssize_t got = read(*report_fd, (char *)to + at, n - at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		at += (size_t)got;
	}
	close(*report_fd);
	*report_fd = -1;
	return at == n;
}
