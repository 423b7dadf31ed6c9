/* drain.h - private: moves records from the rings to the writer and counts them. */
#ifndef CAPTURE_DRAIN_H
#define CAPTURE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/alive.h"
#include "capture/bundle_pins.h"
#include "capture/bundle_processes.h"
#include "capture/bytes.h"
#include "capture/capture.h"
#include "capture/environs.h"
#include "capture/file_ids.h"
#include "capture/past.h"
#include "capture/session.h"
#include "capture/record_writer.h"
#include "capture/runtime_watch.h"
#include "capture/switch_pack.h"
#include "capture/touch.h"

struct drain {
	struct session *session;
	struct record_writer *writer;
	struct capture_result *result; /* counts go here */
	uint64_t first_sample_ns, last_sample_ns;
	uint64_t first_event_samples; /* of session.events[0] ... */
	uint64_t first_event_periods; /* ... and what they stand for */
	bool triggered;		      /* a sample has asked for a snapshot */
	uint64_t foreign;	      /* samples left out because their event is unknown */
	uint64_t forks;		      /* threads and processes that began */
	uint64_t sideband_records;
	uint64_t lost_reported;		   /* sum of PERF_RECORD_LOST from the sample rings */
	bool is_over;			   /* nothing is recorded any more */
	uint64_t switches, switch_samples; /* of those that left a CPU; with a stack */
	bool switches_thinned;		   /* not all have one, as too many came */
	bool switches_refused;		   /* or as their ring was full */
	uint64_t turn_ns; /* when a ring of switches is to be looked at (switch_rate.h); 0: at no
			     time */
	/* The ring to start with: if the writer has no room for all, rings take turns. */
	size_t turn;
	bool touches; /* stack pages that are missing */
	struct touch touch;
	struct alive alive;		/* of a command */
	struct runtime_watch *runtimes; /* NULL: not watched */
	struct file_ids file_ids;
	struct past *past;	     /* of processes, for the next part; NULL: there is none */
	struct pins pins;	     /* of files that the bundle needs */
	struct processes processes;  /* that were sampled, for the bundle */
	struct environs environs;    /* what is hidden of them */
	struct hash_table *switched; /* thread -> when it switched last (switch_event.h); NULL */
	struct hash_table members;   /* of a cgroup: threads that were in it at the beginning */
	bool packs_switches;	     /* their records become fewer and smaller ... */
	struct switch_pack pack;     /* ... those of the ring that is being read */
	bool holding; /* sideband records wait in `held` until the synthesized ones are written */
	struct bytes held;
	uint8_t scratch[UINT16_MAX + 1]; /* for a record that wraps around the end of its ring, or
					  is changed */
};

/* Empties the sideband rings, and the sample rings as long as the writer has room. *ret_complete:
 * every ring was read up to its head at the time of the call, so the round may be closed. */
int drain_all(struct drain *d, bool *ret_complete, struct err *err);
/* The sideband rings alone. */
int drain_sideband(struct drain *d, struct err *err);
/* Another part begins: counts from 0 on. Its writer is to be set. */
void drain_begin_part(struct drain *d);
/* Appends the held records to the writer, and stops holding records. */
int drain_release_held(struct drain *d, struct err *err);

#endif
