/* event_kind.h - what an event is. Part of reader.h, and of format.h for capture. */
#ifndef READER_EVENT_KIND_H
#define READER_EVENT_KIND_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* What an event is, by its type and config. This is the one place that compares these: a new kind
 * gets a value and a line here, and a look at who asks for EVENT_TRACEPOINT. */
enum event_kind {
	EVENT_COUNTER,	  /* a sample each so many: of the processor, of a PMU, of the kernel */
	EVENT_CLOCK,	  /* a clock of the kernel's, which samples by a timer */
	EVENT_TRACEPOINT, /* places in the code: a sample each time, with fields of its own */
	EVENT_BREAKPOINT, /* addresses of data or code: a sample each time */
};

static inline enum event_kind event_kind(uint32_t type, uint64_t config)
{
	switch (type) {
	case PERF_TYPE_SOFTWARE:
		return config == PERF_COUNT_SW_CPU_CLOCK || config == PERF_COUNT_SW_TASK_CLOCK
			       ? EVENT_CLOCK
			       : EVENT_COUNTER;
	case PERF_TYPE_TRACEPOINT:
		return EVENT_TRACEPOINT;
	case PERF_TYPE_BREAKPOINT:
		return EVENT_BREAKPOINT;
	}
	return EVENT_COUNTER;
}

static inline bool event_is_clock(uint32_t type, uint64_t config)
{
	return event_kind(type, config) == EVENT_CLOCK;
}

static inline bool event_is_tracepoint(uint32_t type)
{
	return event_kind(type, 0) == EVENT_TRACEPOINT;
}

#endif
