/* stages.h - the stages through which each batch of a recording goes. For scheduler.c, which has
 * the threads and decides which stage each of them works on next. */
#ifndef CMD_STAGES_H
#define CMD_STAGES_H

#include <pthread.h>

#include "base/scratch.h"
#include "load/pipeline.h"
#include "load/returned.h"

enum {
	JOBS = 8, /* batches that the reader lets out at a time */
	/* The stages that take batches one after the other keep about five threads busy; this many
	 * threads find something to unwind in all batches in use. */
	WORKERS_MAX = 16,
};

/* What becomes of a batch. */
struct batch_job {
	VEC(const struct perf_sample *) samples; /* that pass the filter */
	VEC(struct stack_trace) traces;		 /* theirs */
	VEC(struct stack_digest) digests;	 /* of these, before they are completed */
	size_t taken, unwound;			 /* of the samples */
	bool at_once; /* one thread and no stitching: stacks are added right after unwinding */
	struct scratch_chunks frames[WORKERS_MAX]; /* by the worker in whose memory they are */
};

/* What one thread owns. */
struct worker {
	struct scheduler *scheduler;
	unsigned index;
	pthread_t thread;
	struct unwinder *unwinder;
	struct values *values; /* NULL: not wanted */
	struct verify verify;
	struct returned returned;
	double cpu_seconds;
	/* Memory for frames. The worker that adds them puts it back; only then is it reused. So no
	 * more is in use than is being worked on, and most of it is in the worker's cache. */
	struct scratch memory;
	struct scratch_chunks put_back; /* guarded by the scheduler's lock; not in `memory` yet */
};

/* Batches are numbered from 0. Each stage counts the batches that it has finished; the i-th is
 * batches[i % JOBS]. The job that became free last is reused first, because its memory is in the
 * processor's cache. */
struct scheduler {
	struct loaded *p;
	const struct load_options *opt;
	struct unwind_options unwind;
	struct values_options values;
	struct stitcher *stitcher; /* NULL: stacks that were cut stay so */

	pthread_mutex_t lock; /* guards what follows; a stage runs without it */
	pthread_cond_t changed;
	uint64_t n_read, n_stitched, n_added;
	uint64_t n_released; /* changed by the worker that reads */
	bool reading, stitching, adding, ended;
	unsigned n_max, n; /* threads that there may be, and are */
	uint64_t n_sure;   /* threads that there will be work for */
	int rc;		   /* the first error, for which all stop */
	struct err err;
	struct perf_batch *batches[JOBS];
	struct batch_job jobs[JOBS], *job_of[JOBS],
		*spare[JOBS]; /* job_of: by batch until it is added */
	unsigned n_spare;
	struct worker workers[WORKERS_MAX];
};

/* Stores the result of a stage: the first error is kept. */
void scheduler_set_rc(struct scheduler *c, int rc, const struct err *err);

/* Each is called with the lock held, and releases it while it works. Returns false if there was
 * nothing to do. */
bool read_stage(struct worker *w);
bool unwind_stage(struct worker *w);
bool stitch_stage(struct worker *w);
bool add_stage(struct worker *w);
/* Idle workers prefault pages that the reader needs next. No stage waits for this one. */
bool prefault_stage(struct worker *w);

#endif
