/* processors.h - private: processors that go or come while everything is recorded.
 *
 * What is recorded of processes goes on when a processor comes back; what is recorded of a
 * processor ends when it goes (perf_event_exit_cpu() of kernel/events/core.c), and does not begin
 * again. */
#ifndef CAPTURE_PROCESSORS_H
#define CAPTURE_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"

/* A zeroed one has not looked yet. */
struct processors {
	char online[256]; /* as the kernel lists them: "0-3" */
	uint64_t looked_ns;
	bool is_said;
};

/* To be called often; looks each second, and adds a note when there are others than before. */
void processors_look(struct processors *p, uint64_t now_ns, struct capture_result *ret);

#endif
