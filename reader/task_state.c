/* task_state.c - what threads are doing, in words. */
#include "reader/task_state.h"

#include <string.h>

#include "reader/format.h"
#include "reader/reader.h"

const char TASK_READY[] = "runnable", TASK_RUNNING[] = "running";

/* By the bits of TASK_REPORT of include/linux/sched.h, with the letters that proc(5) has for them:
 * the kernel's own TASK_STATE_TO_CHAR_STR, "RSDTtXZPI", in which R is no bit. */
static const struct {
	const char *name;
	char letter;
} STATES[] = {
	{"sleeping", 'S'}, {"uninterruptible", 'D'}, {"stopped", 'T'}, {"traced", 't'},
	{"dead", 'X'},	   {"zombie", 'Z'},	     {"parked", 'P'},  {"idle", 'I'},
};
enum { N_STATES = sizeof STATES / sizeof *STATES };

/* 0 and 0x100 (it was preempted) could run. */
const char *task_state_of_bits(uint64_t state)
{
	if (state > 0x1ff)
		return NULL;
	for (size_t i = 0; i < N_STATES; i++)
		if (state >> i & 1)
			return STATES[i].name;
	return TASK_READY;
}

static const char *of_letter(char letter)
{
	for (size_t i = 0; i < N_STATES; i++)
		if (STATES[i].letter == letter)
			return STATES[i].name;
	return letter == 'R' ? TASK_RUNNING : NULL;
}

bool task_state_is_of(const struct perf_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && e->attr.sample_type & PERF_SAMPLE_RAW &&
	       (!strcmp(e->name, STACKS_EVENT) || !strcmp(e->name, WALL_CLOCK_EVENT));
}

const char *task_state_of_sample(const struct perf_sample *s)
{
	return s->extra->raw_size ? of_letter((char)s->extra->raw[0]) : NULL;
}
