/* capture_values.h - functions for the column `set` of the options of `capture` (options.h).
 *
 * All return 0, or a negative value with *err, which names the option. Texts are not copied: they
 * stay in argv, as options.h says. */
#ifndef CMD_CAPTURE_VALUES_H
#define CMD_CAPTURE_VALUES_H

#include "cmd/options.h"

#define SNAPSHOT_S 30 /* without a value */

/* Their target is the struct capture_args. */
option_set_fn capture_add_user;
option_set_fn capture_set_call_graph;
option_set_fn capture_set_dwarf;
option_set_fn capture_add_events;
option_set_fn capture_add_filter;
option_set_fn capture_set_frequency;
option_set_fn capture_set_every;
option_set_fn capture_set_snapshot_on;
option_set_fn capture_set_period;

/* Their target is a field. */
option_set_fn capture_add_pids;	       /* struct pid_vec */
option_set_fn capture_set_hit_rate;    /* uint64_t, hits a second */
option_set_fn capture_set_files_max;   /* uint64_t, files */
option_set_fn capture_set_max_size;    /* uint64_t, bytes */
option_set_fn capture_set_alloc_bytes; /* uint64_t, bytes */
option_set_fn capture_set_bundle_max;  /* uint64_t, bytes */
option_set_fn capture_set_ring_bytes;  /* size_t, bytes */
option_set_fn capture_set_delay;       /* unsigned, milliseconds */
option_set_fn capture_set_snapshot;    /* unsigned, seconds */
option_set_fn capture_set_duration;    /* double, seconds */
option_set_fn capture_set_realtime;    /* int, a priority */

/* Sets nothing: is the clock the one that is always recorded with? */
option_set_fn capture_check_clock;

#endif
