/* heap.h - samples of allocations become objects and bytes. Private to reader/. */
#ifndef READER_HEAP_H
#define READER_HEAP_H

#include "reader/reader.h"

struct perf_file;
struct batch;

/* Zeroed: there are none. */
struct heap {
	bool as_recorded;				   /* heap_calls of the options */
	const struct perf_event *events[PERF_HEAP_VALUES]; /* NULL: there are none */
	const struct perf_heap_weight *weights;		   /* NULL: not known */
	size_t n;
	const struct perf_heap_rest *rest;
	size_t n_rest, rest_done; /* in values, not processes */
};

/* Looks for such events when names are settled. */
int heap_settle(struct perf_file *f);
/* Delivers a sample of such an event, which is in the room of the batch, decoded and placed. */
int heap_sample(struct perf_file *f, struct batch *b, struct perf_sample *s);
/* The recording has ended: delivers some of what no sample stands for. Returns 1 if there was some.
 */
int heap_end_some(struct perf_file *f);

#endif
