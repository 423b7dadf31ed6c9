/* stacks.h - private: a recording by --stacks or --every, and its file (stacks_file.c). */
#ifndef CAPTURE_STACKS_H
#define CAPTURE_STACKS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/bundle_pins.h"
#include "capture/bundle_processes.h"
#include "capture/environs.h"
#include "capture/follow.h"
#include "capture/perfdata.h"
#include "capture/record_writer.h"
#include "capture/round_clock.h"
#include "capture/stack_batch.h"
#include "capture/targets.h"
#include "capture/thread_state.h"
#include "capture/untraced.h"

#define STACKS_SAMPLE_ID 1

struct capture_options;
struct capture_result;

struct stacks {
	const struct capture_options *opt;
	struct capture_result *result;
	volatile int *stop;
	struct perf_event_attr attr;
	struct perfdata file;
	struct perfdata_event event;
	struct perfdata_facts facts;
	struct record_writer *writer;
	struct thread_state thread;
	struct stack_batch batch; /* records of a round */
	struct environs environs;
	struct pins pins; /* of files that the bundle needs */
	struct processes seen;
	struct tid_list processes;
	uint64_t chosen_ns;
	struct follow follow;
	struct round_clock clock;
	size_t n_threads; /* of the last round */
	uint64_t longest_halt_ns, n_ended_waits, ids[1];
	struct untraced untraced;
};

/* Creates the file and starts its writer. Returns 0, or negative with *err, and nothing is left. */
int stacks_begin_file(struct stacks *s, struct err *err);
/* Writes what is left, the features and the bundle, and closes the file. `rc` and *err are what has
 * failed before; returns that, or what fails here. */
int stacks_end_file(struct stacks *s, int rc, struct err *err);

#endif
