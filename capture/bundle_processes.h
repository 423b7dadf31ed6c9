/* bundle_processes.h - private: what is known of the recorded processes only while they live: their
 * cgroup, program and number in a container. For BUNDLE_PROCESSES (bundle/bundle.h). */
#ifndef CAPTURE_BUNDLE_PROCESSES_H
#define CAPTURE_BUNDLE_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/text.h"

/* Zeroed: notes nothing. */
struct processes {
	bool on, with_arguments;
	uint32_t last; /* the one that was noted or seen last */
	struct hash_table seen;
	struct text lines;
};

/* Reads /proc/PID the first time that a process is given. One that has ended has no line. */
void processes_read(struct processes *p, uint32_t pid);
static inline void processes_note(struct processes *p, uint32_t pid)
{
	if (p->on && pid != p->last && pid)
		processes_read(p, pid);
}
void processes_done(struct processes *p);

/* The number of a process in its own PID namespace, the last one in the NSpid line of its status
 * (proc(5)); without one the number itself. */
uint32_t process_inner_pid(uint32_t pid);

#endif
