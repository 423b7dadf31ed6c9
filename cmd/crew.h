/* crew.h - the threads that walk the batches of a recording, and where each batch is. Private to
 * workers.c, which has the threads, and stages.c, which has what they do. */
#ifndef CMD_CREW_H
#define CMD_CREW_H

#include <pthread.h>

#include "base/scratch.h"
#include "base/threads.h"
#include "cmd/pipeline.h"

enum {
	JOBS = 8, /* batches that the reader lets out at a time */
	/* The stages that take one batch after the other keep about five threads busy; so many find
	 * something to unwind in all batches that are out. */
	WORKERS_MAX = 16,
};

/* What becomes of a batch. */
struct job {
	VEC(const struct perf_sample *) samples; /* that pass the filter */
	VEC(struct stack_trace) traces;		 /* theirs */
	VEC(struct stack_digest) digests;	 /* of these, before they are completed */
	size_t taken, unwound;			 /* of the samples */
	bool at_once; /* one thread and no stitching: stacks are added when they are unwound */
	struct scratch_chunks frames[WORKERS_MAX]; /* by the worker whose memory they are in */
};

/* What one thread owns. */
struct worker {
	struct crew *crew;
	unsigned index;
	pthread_t thread;
	struct unwinder *unwinder;
	struct verify verify;
	double cpu_seconds;
	/* For frames. It is put back by whoever adds them, and only then used again: so not more
	 * of it is in use than is in work, and most of that is in the worker's cache. */
	struct scratch memory;
	struct scratch_chunks put_back; /* guarded by the crew's lock; not in `memory` yet */
	/* What the JIT compiler of the last process that was asked about has told. */
};

/* Batches are numbered from 0. Each stage has its own count of those it is done with; the i-th is
 * batches[i % JOBS]. Jobs are reused, the last one first: its memory is in the processor's cache.
 */
struct crew {
	struct pipeline *p;
	const struct pipeline_options *opt;
	struct unwind_options unwind;
	struct stitcher *stitcher; /* NULL: stacks that were cut stay so */

	pthread_mutex_t lock; /* guards what follows; a stage runs without it */
	pthread_cond_t changed;
	uint64_t n_read, n_stitched, n_added;
	uint64_t n_released; /* of whoever reads */
	bool reading, stitching, adding, ended;
	unsigned n_max, n;	   /* threads that there may be, and are */
	struct thread_seats seats; /* of whoever starts one */
	uint64_t n_sure;	   /* that there will be work for */
	int rc;			   /* the first that went wrong, for which all stop */
	struct err err;
	struct perf_batch *batches[JOBS];
	struct job jobs[JOBS], *job_of[JOBS], *spare[JOBS]; /* job_of: by batch until it is added */
	unsigned n_spare;
	struct worker workers[WORKERS_MAX];
};

/* All with the lock taken. */

/* What a stage has come to. */
void crew_set_rc(struct crew *c, int rc, const struct err *err);
/* One more thread, if there is work for it. */
void crew_grow(struct crew *c);
/* Does what is ready, without the lock. False: there was nothing to do. */
bool crew_run_stage(struct worker *w);
/* For whoever would sleep: has some of the reader's page faults. The same; nobody waits for it. */
bool crew_look_ahead(struct worker *w);

#endif
