/* flight.h - private: a recording that is kept in memory, and written when something happens.
 *
 * A snapshot is written by a forked process: it has the whole recording as it is at that moment,
 * and the recording goes on meanwhile. */
#ifndef CAPTURE_FLIGHT_H
#define CAPTURE_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "capture/health.h"
#include "capture/window.h"

struct recording;

/* What was lost until a moment. */
struct flight_lost {
	uint64_t time_ns, samples;
};

struct flight {
	bool on;
	struct window window;
	struct health health;
	pid_t writer; /* the process that writes a snapshot; 0: none */
	int report_fd;
	bool asked;			/* by the user: a snapshot is due */
	uint64_t last_ns;		/* of the last snapshot that something else asked for */
	uint64_t look_ns;		/* when losses are looked at next */
	VEC(struct flight_lost) losses; /* rising, at least the window long */
};

/* Prepares what --snapshot asks for; before threads are started and rights given up. Fails if no
 * file can be written. */
int flight_begin(struct recording *r, struct err *err);
/* Is called again and again: begins snapshots, and tells of those that are written. Returns 0, or
 * negative with *err, which ends the recording. */
int flight_look(struct recording *r, uint64_t now, struct err *err);
/* At the end: writes the window to the output. Waits for a snapshot before. */
int flight_end(struct recording *r, int rc, struct err *err);
void flight_done(struct flight *f);

#endif
