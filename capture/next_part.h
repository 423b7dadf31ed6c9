/* next_part.h - private: a recording that goes on in another file (capture --switch-output).
 *
 * Events and rings stay as they are. A forked process ends the file of the part that is over, with
 * its bundle, while the recording goes on into the next one; that begins with what the records have
 * said about processes that are there. */
#ifndef CAPTURE_NEXT_PART_H
#define CAPTURE_NEXT_PART_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "capture/past.h"

struct recording;

struct next_part {
	uint64_t end_ns; /* of this part; 0: no time ends it */
	struct past past;
	pid_t finisher; /* the process that ends a file; 0: none */
	int report_fd;
	const char *path; /* of that file */
};

/* The first part begins. */
void next_part_begin(struct recording *r);
/* Is called again and again: begins the next part when it is due, and tells of those that are
 * written. Returns 0, or negative with *err, which ends the recording. */
int next_part_look(struct recording *r, uint64_t now, struct err *err);
/* Waits until the part before the last is written. */
int next_part_wait(struct recording *r, struct err *err);
void next_part_done(struct next_part *p);

#endif
