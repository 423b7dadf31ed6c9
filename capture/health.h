/* health.h - private: runs a command again and again, and says when it begins to fail.
 *
 * A process of its own does it, which is forked before anything is opened and before rights are
 * given up. The command has no input and output. It fails when it exits with another status than 0,
 * by a signal, or not within HEALTH_MAX_MS. */
#ifndef CAPTURE_HEALTH_H
#define CAPTURE_HEALTH_H

#include <sys/types.h>

#include "base/err.h"

enum { HEALTH_EVERY_MS = 1000, HEALTH_MAX_MS = 10000 };

struct health {
	pid_t pid; /* 0: none */
	int fd;	   /* says a byte after each run; -1 */
	int was_bad;
};

enum health_state { HEALTH_SAME, HEALTH_FAILS, HEALTH_NO_COMMAND };

/* The caller must be single-threaded. Returns 0, or negative with *err. */
int health_start(struct health *h, const char *command, struct err *err);
/* What happened since the last call: it fails, and has not before; or the shell does not find it.
 * Does not wait. */
enum health_state health_look(struct health *h);
void health_stop(struct health *h);

#endif
