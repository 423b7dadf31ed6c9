/* task_state.h - what threads are doing, in words. Private to reader/.
 *
 * "sleeping", "uninterruptible" ..: a state has one pointer, wherever it was read. */
#ifndef READER_TASK_STATE_H
#define READER_TASK_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct perf_event;
struct perf_sample;

/* A thread that got no processor though it could run; one that has a processor. */
extern const char TASK_READY[], TASK_RUNNING[];

/* prev_state of sched:sched_switch; NULL: not known. */
const char *task_state_of_bits(uint64_t state);
/* Are samples of this event of capture --stacks, whose RAW part is the state of /proc/PID/stat? */
bool task_state_is_of(const struct perf_event *e);
/* The state of such a sample; NULL: not known. */
const char *task_state_of_sample(const struct perf_sample *s);

#endif
