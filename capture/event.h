/* event.h - private: what -e asks for, as the kernel's type and config. */
#ifndef CAPTURE_EVENT_H
#define CAPTURE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define EVENT_NAME_MAX 64

struct event {
	char name[EVENT_NAME_MAX]; /* as asked for: "cycles:u", "sched:sched_switch" */
	uint32_t type;		   /* PERF_TYPE_* */
	uint64_t config;
	uint8_t precise; /* attr.precise_ip */
	bool exclude_user, exclude_kernel, exclude_hv, exclude_idle;
};

/* "cycles", "cpu-clock:u", "r01c2", "sched:sched_switch". The text is spec[0..len). */
int event_parse(struct event *ret, const char *spec, size_t len, struct err *err);

/* Splits a comma-separated list and appends to events[*n]; at most `max` in all. */
int event_parse_list(const char *list, struct event *events, size_t max, size_t *n,
		     struct err *err);

/* The folder that holds tracefs ("/sys/kernel/tracing" or below debugfs), or NULL with *err. */
const char *event_tracefs(struct err *err);

#endif
