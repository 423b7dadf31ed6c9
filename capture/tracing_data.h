/* tracing_data.h - private: writes the TRACING_DATA feature, which describes the fields of
 * tracepoints. */
#ifndef CAPTURE_TRACING_DATA_H
#define CAPTURE_TRACING_DATA_H

#include <stddef.h>

#include "base/err.h"
#include "capture/bytes.h"
#include "capture/event.h"

/* Appends the formats of the tracepoints among the events; nothing when there is none. `tracefs`:
 * where it is mounted; "": to be looked for. */
int tracing_data(const struct event *events, size_t n, const char *tracefs, struct bytes *out,
		 struct err *err);

#endif
