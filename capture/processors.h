/* processors.h - private: processors that go or come while everything is recorded.
 *
 * What is recorded of processes goes on when a processor comes back; what is recorded of a
 * processor ends when it goes, and is opened again when it comes back (reopen.h). One that was not
 * there at the beginning has no ring: what it does is not recorded, which is said. */
#ifndef CAPTURE_PROCESSORS_H
#define CAPTURE_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "capture/session.h"

/* A zeroed one has not looked yet. */
struct processors {
	char online[256]; /* as the kernel lists them: "0-3" */
	uint64_t looked_ns;
	bool is_said, is_said_missing;
};

/* To be called often; looks some times a second. Adds a note when there are others than before.
 * `delayed`: samples begin later (-D). */
void processors_look(struct processors *p, struct session *s, bool delayed, uint64_t now_ns);

#endif
