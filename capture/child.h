/* child.h - private: the command that is recorded, held back until everything is ready. */
#ifndef CAPTURE_CHILD_H
#define CAPTURE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct child {
	pid_t pid; /* 0: none, or ended */
	/* Connected to the child until its exec: a byte releases the child; it answers with an
	 * errno if exec fails; closing it makes a child that was not released exit. */
	int fd;
	int pid_fd; /* becomes readable when it ends; -1 on kernels before 5.3 */
};

/* Forks; the child waits for child_go(). Its standard output goes to standard error if the
 * recording has the former. The caller must still be single-threaded. */
int child_fork(struct child *c, char *const argv[], bool stdout_taken, struct err *err);
/* Lets the child call exec, and waits until that has succeeded or failed. */
int child_go(struct child *c, const char *name, struct err *err);
/* Returns true if the child has ended; *status is its wait status. Does not wait. */
bool child_reap(struct child *c, int *status);
/* Sends SIGTERM and waits for at most timeout_ms. Returns true if the child has ended. */
bool child_stop(struct child *c, unsigned timeout_ms, int *status);
/* Closes the descriptors; a child that was never released exits without doing anything. */
void child_done(struct child *c);

#endif
