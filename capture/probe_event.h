/* probe_event.h - private: makes events of the kernel from probes by name.
 *
 * Source: Documentation/trace/uprobetracer.rst; perf_uprobe_event_init() in
 * kernel/events/core.c. All places of a pattern are one event of tracefs with several probes. The
 * uprobe PMU, which needs no tracefs, has two faults (Linux 6.18): to close one of its events takes
 * some 90 ms, one after another; and where events are inherited, the kernel reads the path of the
 * file from the memory of the program that starts a thread, whose clone() fails with EFAULT. So it
 * serves only where there is no tracefs, for one place, without inheritance.
 *
 * Inherited events of tracefs have one, too: the kernel keeps a probe in those processes for which
 * an event was opened (trace_uprobe_filter), but exchanges the events of related tasks when it
 * switches between them. When one of these ends, the probe is taken out of another one that runs
 * on. Newer kernels can be kept from that (attr_for_sideband()); else an event of a processor,
 * which is never switched on, keeps the probe in all processes. */
#ifndef CAPTURE_PROBE_EVENT_H
#define CAPTURE_PROBE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"
#include "capture/event.h"
#include "probe/probe.h"

/* What was made for one event. */
struct probe_event {
	struct probe_places found; /* the kernel reads found.path when a counter is opened */
	struct text fields;	   /* what is read at a hit, as tracefs takes it */
	struct stat file;	   /* as it was when places were looked for; st_ino 0: unknown */
	size_t n_refused;	   /* places that the kernel cannot probe */
	enum probe_kind kind;
	const struct event *event;
	/* Places that an event before it has, and that event: a call is told once. */
	size_t n_known;
	int keeper; /* a descriptor + 1, see above; 0: none */
	const struct event *known_by;
	bool is_mapped;	       /* some process that is recorded has mapped a file of its name */
	char tracefs_name[64]; /* "unspool_PID/N"; "": none is in tracefs */
};

struct probe_events {
	VEC(struct probe_event *) made;
	char tracefs[64]; /* where it is mounted; "": not looked for yet */
	bool is_clean;	  /* what killed recordings left behind was removed */
	/* As that of struct capture_options, with its arg. */
	void (*probes_made)(void *arg, const char *event, size_t done, size_t n);
	void *probes_made_arg;
	/* Nonzero: give up making probes; NULL: never. */
	const volatile int *stop;
};

void probe_events_init(struct probe_events *set);
/* Ends what is in tracefs. The descriptors of the events must be closed before. */
void probe_events_done(struct probe_events *set);

/* Finds tracefs (tracefs.h), and sets set->tracefs. Returns 0, or
 * a negative value with *err. */
int probe_events_tracefs(struct probe_events *set, struct err *err);

struct probe_target {
	pid_t pid;	    /* whose files are meant; 0: ours */
	bool args, strings; /* are read where functions begin */
	bool is_inherited;  /* tasks that are started are recorded, too */
	bool sp;	    /* is told of uprobes and uretprobes, too */
};

/* Makes e into an event of all instructions that make these system calls in some files, with fields
 * as tracefs takes them (" a0=%di:x64"). Returns 1; 0 if there are none or the kernel puts none
 * there; or a negative value with *err. */
int probe_event_for_syscalls(struct probe_events *set, struct event *e, const char *const *files,
			     size_t n_files, probe_wants_syscall *wants, void *arg,
			     const char *fields, struct err *err);

/* An instruction of a file, and what is read there, as tracefs takes it: equal names and types of
 * fields at all sites of an event. */
struct probe_site {
	const char *path, *name;
	uint64_t off;
	const char *fields;
};

/* Makes e into an event of these sites: entries (letter 'p') or returns ('r'). Returns 0, or a
 * negative value with *err. */
int probe_event_at(struct probe_events *set, struct event *e, char letter,
		   const struct probe_site *sites, size_t n, struct err *err);

/* Makes e, which event_parse() found to be a probe, into an event that can be opened. e keeps
 * pointers into the set. Returns 0, or a negative value with *err. */
int probe_event_make(struct probe_events *set, struct event *e, const struct probe_target *target,
		     struct err *err);

/* Opens what keeps the probes of inherited events where they are, before Linux 6.12. */
void probe_events_keep(struct probe_events *set);

/* What has become of the file that an event's probes are in. */
enum probe_file_change { PROBE_FILE_SAME, PROBE_FILE_REPLACED, PROBE_FILE_WRITTEN };
enum probe_file_change probe_event_file_change(const struct probe_event *p);

#endif
