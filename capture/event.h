/* event.h - private: converts names of events (-e) to the kernel's type and config. */
#ifndef CAPTURE_EVENT_H
#define CAPTURE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define EVENT_NAME_MAX 256

struct event {
	char name[EVENT_NAME_MAX]; /* as given by the user: "cycles:u", "sched:sched_switch" */
	uint32_t type;		   /* PERF_TYPE_*, or that of a PMU of /sys/bus/event_source */
	uint64_t config, config1, config2;
	/* A probe by name ("uprobe:./prog:f"), which probe_event_make() makes into an event. */
	bool is_probe;
	bool is_trigger;      /* its samples ask for a snapshot (flight.h) */
	bool is_switch;	      /* context switches, see switch_event.h */
	bool is_switch_times; /* the records of all of them */
	bool is_waking;	      /* what ends their waits, too */
	bool is_kernel_probe; /* "kprobe:f", "kretprobe:f" */
	/* Its samples need no stack: the second half of a span, which has that of the first. */
	bool no_stack;
	/* Not for the file: texts that the next system call of the thread points to (struct
	 * syscall_texts); 1: paths, 2: bytes. */
	uint8_t texts;
	bool reads_memory;     /* system calls: what their arguments point to is read */
	bool is_alloc;	       /* of --alloc */
	uint64_t period;       /* instead of -c and -F; 0: these */
	unsigned frequency_hz; /* the same */
	char filter[512];      /* of tracepoints, as the kernel takes it; "": none */
	size_t n_places;       /* of a probe */
	const char *fields;    /* of a probe, as tracefs takes them: " a0=%di:x64"; may be NULL */
	const char *tracefs_name; /* of a tracepoint whose name is another: "SYSTEM/NAME" */
	uint8_t precise;	  /* attr.precise_ip */
	bool exclude_user, exclude_kernel, exclude_hv, exclude_idle;
};

/* Parses "cycles", "cpu-clock:u", "r01c2", "cpu/event=0x3c/", "sched:sched_switch",
 * "uprobe:FILE:FUNCTION". The text is spec[0..len). */
int event_parse(struct event *ret, const char *spec, size_t len, struct err *err);

/* Sets type and config of an event that needs no tracefs, as "cpu-clock". */
bool event_find_name(struct event *e, const char *name, size_t len);

/* Sets what samples of a tracepoint must be like: "prev_comm == \"x\" && prio < 5". */
int event_set_filter(struct event *e, const char *filter, size_t len, struct err *err);
/* Refuses the filter of a probe that compares a register as if that had a sign. Returns 0 or
 * negative. */
int event_check_filter(const struct event *e, struct err *err);

/* Parses a comma-separated list and appends it to events[*n], up to `max` events in all. */
int event_parse_list(const char *list, struct event *events, size_t max, size_t *n,
		     struct err *err);

/* The names of events that need no tracefs, by index; NULL at the end. */
const char *event_name_at(size_t i);

#endif
