/* return_probe.h - which tracepoints are return probes. Private to reader/. */
#ifndef READER_RETURN_PROBE_H
#define READER_RETURN_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* A tracepoint, and where its samples have the address of the function that returned. */
struct return_probe {
	uint64_t id;
	uint16_t off;
	uint8_t bytes;
};

struct return_probes {
	VEC(struct return_probe) v; /* by rising id */
	bool is_settled, failed;
};

/* Finds them in TRACING_DATA, once; `formats` is NULL as long as there is none. Returns 0, or -1
 * when out of memory. */
int return_probes_settle(struct return_probes *r, const uint8_t *formats, size_t n);
void return_probes_done(struct return_probes *r);

#endif
