/* fetch.h - --debuginfod: what is printed while files are fetched, and what interrupts do. */
#ifndef CMD_FETCH_H
#define CMD_FETCH_H

#include <signal.h>

#include "cmd/options.h"
#include "load/load.h"
#include "modules/modules.h"

/* The names of the modes; the first is that of --debuginfod without a value. */
extern const struct option_choice fetch_modes[];

/* Between a signal handler and the transfers. */
struct fetch_signals {
	volatile sig_atomic_t active; /* transfers run: an interrupt is for them */
	volatile sig_atomic_t skips;  /* interrupts so far */
};

/* At most four transfers run at a time; more would not be shown. */
enum { FETCH_SHOWN_MAX = 4 };

/* What came of it for one module, in the end. */
struct fetch_outcome {
	const struct dso *dso;
	enum fetch_result result;
};

struct fetch_watch {
	struct fetch_options options; /* for struct modules_options */
	const char *command;	      /* whose name its lines begin with */
	struct fetch_signals *signals;
	const volatile sig_atomic_t *stop; /* of load_options */
	bool quiet, on_terminal, line_open;
	bool all;				     /* LOAD_FETCHES runs */
	struct fetch_event running[FETCH_SHOWN_MAX]; /* the heaviest first */
	unsigned n_running;
	sig_atomic_t skips_done;
	double skipped_at;		    /* clock_seconds() */
	VEC(struct fetch_outcome) outcomes; /* one per module */
	uint64_t bytes;
};

/* `signals` and `stop` must outlive the transfers. */
void fetch_watch_init(struct fetch_watch *w, const char *command, struct fetch_signals *signals,
		      const volatile sig_atomic_t *stop, bool quiet);
void fetch_watch_done(struct fetch_watch *w);
/* Call them when LOAD_FETCHES begins and ends. */
void fetch_watch_begin(struct fetch_watch *w);
void fetch_watch_end(struct fetch_watch *w);
/* Call it before an input is closed: prints what came of it all, if there was anything. */
void fetch_watch_sum(struct fetch_watch *w);

#endif
