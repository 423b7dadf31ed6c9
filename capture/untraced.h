/* untraced.h - private: threads that may not be halted, and why. */
#ifndef CAPTURE_UNTRACED_H
#define CAPTURE_UNTRACED_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "capture/targets.h"

/* Zeroed: none. */
struct untraced {
	struct tid_list tids;
	/* Of the first: */
	int errnum;
	pid_t pid, tracer; /* of /proc/PID/status; 0: none, or not of this PID namespace */
	char name[64];	   /* of the tracer */
};

/* Returns 0, or negative with *err. */
int untraced_add(struct untraced *u, pid_t pid, pid_t tid, int errnum, struct err *err);
/* How many there are, and why the first could not be read. */
void untraced_describe(const struct untraced *u, char *ret, size_t size);
void untraced_done(struct untraced *u);

#endif
