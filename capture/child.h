/* child.h - private: the command that is recorded, held back until everything is ready. */
#ifndef CAPTURE_CHILD_H
#define CAPTURE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct child {
	pid_t pid; /* 0: none, or ended */
	int fd; /* to the child until it has exec'ed: a byte releases it; it answers with its errno
		   when exec fails, and closing it makes an unreleased child leave */
	int pid_fd; /* becomes readable when it ends; -1 on kernels before 5.3 */
};

/* Forks. The child waits for child_go(). The caller must still be single-threaded. */
int child_fork(struct child *c, char *const argv[], struct err *err);
/* Lets it exec and waits until that has worked or failed. */
int child_go(struct child *c, const char *name, struct err *err);
/* True when it has ended: *status is its wait status. Does not wait. */
bool child_reap(struct child *c, int *status);
/* Asks it to end (SIGTERM) and waits for at most timeout_ms. True when it has ended. */
bool child_stop(struct child *c, unsigned timeout_ms, int *status);
/* Closes what is open; a child that was never released leaves without doing anything. */
void child_done(struct child *c);

#endif
