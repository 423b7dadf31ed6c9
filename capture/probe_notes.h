/* probe_notes.h - private: what a user is to know of the places that a probe was put on. */
#ifndef CAPTURE_PROBE_NOTES_H
#define CAPTURE_PROBE_NOTES_H

#include <stdbool.h>

#include "capture/capture.h"
#include "capture/probe_event.h"

/* Adds notes about what was found for an event, which p was made for: inlined copies, places that
 * cannot be probed, calls whose end is not told. wants_args: arguments are recorded, too. */
void probe_note_places(struct capture_result *r, const struct event *e, const struct probe_event *p,
		       bool wants_args);

#endif
