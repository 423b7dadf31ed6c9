/* follow.h - private: what processes map, execute, start and call themselves while they are
 * recorded without events, which would tell. */
#ifndef CAPTURE_FOLLOW_H
#define CAPTURE_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "base/vec.h"
#include "capture/synth.h"

struct followed {
	pid_t pid;
	uint64_t program; /* differs after an exec */
	uint64_t size;	  /* and name: differ when something was mapped */
	uint64_t looked_ns, took_ns;
	uint32_t look; /* rises */
};

/* Zeroed, but for the synth's folders: no process is followed. */
struct follow {
	struct synth synth; /* its emit() is set by follow_process() */
	/* Receives records that are new. Returns 0, or nonzero to stop. */
	int (*emit)(void *arg, const void *rec, size_t n);
	void *arg;
	uint64_t id; /* of the event, in the trailers of records */
	VEC(struct followed) processes;
	struct hash_table by_pid, threads;
	struct hash_table records; /* a hash of a record -> the last look that had it */
	/* Of the look that goes on: */
	uint32_t look;
	bool is_exec;
	uint64_t time_ns; /* 0: before the recording */
	bool no_memory;
};

/* All return 0, nonzero if emit() has stopped them, or -1 when out of memory. */

/* All records about a process; is_new: from now on, else as before the recording. */
int follow_process(struct follow *f, pid_t pid, bool is_new);
/* Before its threads are read: what is new, if something seems to be, and each second. */
int follow_changes(struct follow *f, pid_t pid);
/* The name of a thread that is new. */
int follow_thread(struct follow *f, pid_t pid, pid_t tid);
void follow_done(struct follow *f);

#endif
