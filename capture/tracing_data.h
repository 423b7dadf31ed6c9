/* tracing_data.h - private: the TRACING_DATA feature: what the fields of tracepoints are. */
#ifndef CAPTURE_TRACING_DATA_H
#define CAPTURE_TRACING_DATA_H

#include <stddef.h>

#include "base/err.h"
#include "capture/bytes.h"
#include "capture/event.h"

/* Appends the formats of the tracepoints among the events; nothing when there is none. */
int tracing_data(const struct event *events, size_t n, struct bytes *out, struct err *err);

#endif
