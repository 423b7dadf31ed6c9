/* bundle_processes.h - private: what is known of the recorded processes only while they live: their
 * cgroup, program and number in a container. For BUNDLE_PROCESSES (bundle/bundle.h). */
#ifndef CAPTURE_BUNDLE_PROCESSES_H
#define CAPTURE_BUNDLE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"

/* Zeroed: notes nothing. */
struct processes {
	bool on, with_arguments;
	uint32_t last;		/* the one that was noted or seen last */
	struct hash_table seen; /* pid -> READ, or index in `reborn` of one that was not read yet */
	VEC(uint64_t) reborn;	/* when a process began whose number another one had */
	struct text lines;
	size_t n_lines;
	size_t left_out; /* processes for which there was no room */
};

/* Reads /proc/PID the first time that a process is given, for a sample of that time. One that has
 * ended has no line, but where another one had its number: samples of before are of that one. */
void processes_read(struct processes *p, uint32_t pid, uint64_t time_ns);
/* Takes a record of the kernel: FORK, which may give a number again. */
void processes_note_record(struct processes *p, const uint8_t *rec, size_t n);
static inline void processes_note(struct processes *p, uint32_t pid, uint64_t time_ns)
{
	if (p->on && pid != p->last && pid)
		processes_read(p, pid, time_ns);
}
/* Forgets what there is: a file begins that has those of its own samples. */
void processes_begin_part(struct processes *p);
void processes_done(struct processes *p);

/* The number of a process in its own PID namespace, the last one in the NSpid line of its status
 * (proc(5)); without one the number itself. */
uint32_t process_inner_pid(uint32_t pid);

#endif
