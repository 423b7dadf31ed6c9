/* reopen.h - private: the events of a processor that comes back.
 *
 * When a processor goes, what is open on it ends for good (perf_event_exit_cpu() of
 * kernel/events/core.c). When it comes back, its events are opened once more: they write to the
 * ring that is there, with the descriptors that are there, and their records get the ids that the
 * file knows. */
#ifndef CAPTURE_REOPEN_H
#define CAPTURE_REOPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/session.h"

/* All events of a processor, where all processes are recorded. `delayed`: samples begin later.
 * Returns whether all of them are recorded again. */
bool session_reopen(struct session *s, int cpu, bool delayed);

/* A record of a ring with the id that the file knows: rec, or its copy in `scratch`, which has room
 * for any record. */
const uint8_t *session_known_id(const struct session *s, const uint8_t *rec, size_t n,
				uint8_t *scratch);

#endif
