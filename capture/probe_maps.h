/* probe_maps.h - private: is the file of a probe the one that processes have mapped?
 *
 * A probe is put on an inode. A process whose program was built anew, or whose library a package
 * has replaced, since it began runs from another one, which the name no longer leads to. */
#ifndef CAPTURE_PROBE_MAPS_H
#define CAPTURE_PROBE_MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "capture/probe_event.h"

/* Adds a note if none of these processes has mapped the file of a probe; if it is another one of
 * this name, with the path that leads to that. */
void probe_maps_note(struct capture_result *result, struct probe_event *p, const pid_t *pids,
		     size_t n);

/* Takes a record; ignores all but MMAP2. */
void probe_maps_take(struct probe_events *set, const uint8_t *rec, size_t n);
/* The first file of a probe of whose name there was no such record; NULL: none. */
const char *probe_maps_missing(const struct probe_events *set);

#endif
