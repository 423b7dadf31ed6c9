/* recording.h - private: one recording, for capture.c and the files beside it. */
#ifndef CAPTURE_RECORDING_H
#define CAPTURE_RECORDING_H

#include <poll.h>

#include "capture/child.h"
#include "capture/drain.h"
#include "capture/flight.h"
#include "capture/next_part.h"
#include "capture/perfdata.h"
#include "capture/processors.h"
#include "capture/session.h"

/* How long poll() waits for a ring to fill; while stack pages are touched, because a missing one
 * cuts all samples until then; and when the writer is behind, so that not all rings were emptied.
 */
enum { POLL_MS = 100, POLL_TOUCH_MS = 20, POLL_BEHIND_MS = 5 };

/* The most that recording.patience becomes: then poll() waits as long as without touching. */
enum { PATIENCE_MAX = POLL_MS / POLL_TOUCH_MS - 1 };

struct recording {
	const struct capture_options *opt;
	volatile int *stop;
	bool has_probes;
	uint64_t hits_ns, hits_before; /* when the rate of hits was looked at last; samples then */
	struct capture_result *result;
	struct child child;
	struct session session;
	struct drain drain;
	struct hash_table switched; /* of --off-cpu */
	struct perfdata file;
	struct perfdata_facts facts;
	struct perfdata_event file_events[SESSION_EVENTS_MAX];
	struct bytes tracing;
	struct pollfd *fds; /* sample rings by slot, the child, sideband and alarm rings */
	size_t n_fds, child_fd;
	size_t n_polled;    /* rings with a living counter */
	uint64_t end_ns;    /* of --duration; 0: none */
	uint64_t enable_ns; /* -D: when samples begin; 0: they have */
	uint64_t round_start_ns;
	uint64_t give_back_ns; /* when memory that is free goes to the kernel again */
	/* When the recording, or this part of it, began; when progress is to be reported next. */
	uint64_t begin_ns, progress_ns;
	uint64_t first_ns; /* when its samples began: later, with -D */
	bool child_ended, behind;
	bool hit_too_often; /* --max-hit-rate has ended it: the command goes on */
	/* The next poll() ignores the sideband, because its last records were not about threads. */
	bool skips_sideband;
	unsigned patience; /* times that poll() waits longer, because only processes begin */
	struct flight flight;
	struct next_part next;
	struct processors processors; /* with -a, --cgroup */
};

/* Makes r->fds of all rings and the command. Returns 0, or negative when out of memory. */
int recording_prepare_poll(struct recording *r, struct err *err);
/* Waits until a ring fills, the command ends, a signal comes, or something else is due. Returns
 * true if a record of the sideband has ended the wait. */
bool recording_wait(struct recording *r);
/* Begins to write to the file, which was created. */
int recording_start_writer(struct recording *r, struct err *err);
/* Writes what is there already, by /proc and /sys. */
int recording_synthesize(struct recording *r, struct err *err);
/* With --all-cgroups: the cgroups that there are. Returns 0, or negative when out of memory. */
int recording_synthesize_cgroups(struct recording *r);
/* How large the file is so far. */
uint64_t recording_bytes(const struct recording *r);
/* What the result says of all parts: event, sizes. */
void recording_fill_result(struct recording *r);
/* At the end of the recording, or of a part: adds notes about it. */
void recording_add_notes(struct recording *r);
/* One of these, earlier: while the probes are there. */
void recording_note_changed_files(struct recording *r);

/* Losses, and what was counted, of the data that ends here. Returns 0, or negative with *err. */
int recording_account(struct recording *r, struct err *err);
/* Ends the file whatever has failed before (rc); keeps the first error. */
int recording_finish_file(struct recording *r, int rc, struct err *err);
/* A process that ends a file while the recording goes on; all rounds must be written. Returns 0 in
 * that process, where *report_fd takes what it has to tell, its number in this one, where it can be
 * read, or negative with *err. */
pid_t recording_fork(struct recording *r, int *report_fd, struct err *err);
/* Reads n bytes of what that process tells, and closes *report_fd. False: it was killed before. */
bool recording_read_report(int *report_fd, void *to, size_t n);
/* With context switches: what waited all the time since begin_ns, and when it ends. */
int recording_end_switches(struct recording *r, uint64_t begin_ns, uint64_t end_ns,
			   struct err *err);
/* The writer's options for the file, which was begun. Returns 0, or negative with *err. */
int recording_file_options(struct recording *r, struct record_writer_options *ret, struct err *err);

#endif
