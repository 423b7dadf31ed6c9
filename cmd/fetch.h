/* fetch.h - --debuginfod: which modules' files are fetched, and what is printed meanwhile. */
#ifndef CMD_FETCH_H
#define CMD_FETCH_H

#include <signal.h>

#include "cmd/options.h"
#include "cmd/pipeline.h"

enum fetch_mode {
	FETCH_MODE_OFF,
	FETCH_MODE_AUTO, /* by weight */
	FETCH_MODE_SYM,
	FETCH_MODE_LINE,
	FETCH_MODE_FULL,
};

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
	struct fetch_signals *signals;
	const volatile sig_atomic_t *stop; /* of the pipeline */
	bool quiet, on_terminal, line_open;
	bool all;				     /* fetch_for_profile() runs */
	struct fetch_event running[FETCH_SHOWN_MAX]; /* the heaviest first */
	unsigned n_running;
	sig_atomic_t skips_done;
	double skipped_at;		    /* seconds_now() */
	VEC(struct fetch_outcome) outcomes; /* one per module */
	uint64_t bytes;
};

/* `signals` and `stop` must outlive the transfers. */
void fetch_watch_init(struct fetch_watch *w, struct fetch_signals *signals,
		      const volatile sig_atomic_t *stop, bool quiet);
void fetch_watch_done(struct fetch_watch *w);
/* Call it after pipeline_load(): fetches the files that modules of the profile lack, heaviest
 * first. */
int fetch_for_profile(struct pipeline *p, const struct pipeline_options *opt, enum fetch_mode mode,
		      struct fetch_watch *w, struct err *err);
/* Call it after pipeline_symbolize() if the network is off: prints one line if servers are known
 * that could help. */
void fetch_advice(const struct pipeline *p, FILE *out);

#endif
