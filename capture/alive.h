/* alive.h - private: which processes of a command still run when it has ended. */
#ifndef CAPTURE_ALIVE_H
#define CAPTURE_ALIVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "capture/capture.h"

/* Processes that were started and have not ended, by the records of the kernel. A zeroed struct is
 * empty. */
struct alive {
	VEC(pid_t) pids;
};

/* Takes FORK and EXIT records; ignores others, and what no memory is left for. */
void alive_note_record(struct alive *a, const uint8_t *rec, size_t n);
/* Adds a note if some of them exist, as those of a daemon do. */
void alive_report(const struct alive *a, struct capture_result *ret);
void alive_done(struct alive *a);

/* Adds a note if the kernel will not let this user record the program: it is setuid. */
void setuid_report(const char *command, struct capture_result *ret);

#endif
