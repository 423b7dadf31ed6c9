/* regress.h - did something get slower from one build to the next?
 *
 * Runs of two sides are profiles; their functions are matched by keys that survive a rebuild,
 * counted per run, and compared by a quasi-Poisson log ratio with a dispersion that is estimated
 * from the differences between runs of one side. Nothing is random: the same runs, added in the
 * same order, give the same bytes.
 *
 *	struct regress *g = regress_new(&options);
 *	regress_add_run(g, SIDE_BASE, "base/1.data", profile, &facts, &err);	... all runs
 *	regress_compare(g, &err);
 *	regress_write_text(g, stdout);
 *	regress_free(g);
 *
 * Source of truth for the method: doc/regress.md.
 */
#ifndef REGRESS_REGRESS_H
#define REGRESS_REGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "profile/profile.h"

enum side { SIDE_BASE, SIDE_NEW, SIDE_N };

/* How the runs were recorded, for the JSON report: `regress confirm` does it again. */
struct regress_recipe {
	char *const *commands[SIDE_N]; /* argv */
	unsigned runs, frequency;
};

struct regress_options {
	double q;	  /* of all alarms, which share may be false; 0: 0.01 */
	double report_q;  /* what is shown as suspicious; 0: 0.05 */
	double margin;	  /* growth that is not worth an alarm; negative: 0.02 */
	double impact;	  /* share of the whole that is not worth one; negative: 0.001 */
	double total_max; /* growth of all on-CPU time that is no alarm; negative: 0.03 */
	double detect_growth, detect_share;  /* what ought to be found: so much in a function of so
						much of the whole; 0: 0.1 and 0.1 */
	bool force;			     /* compare what is not comparable */
	const char *event;		     /* NULL: the heaviest */
	const struct regress_recipe *recipe; /* NULL: not known */
};

/* What must be alike on both sides; "": not known. */
struct run_facts {
	char cpu[64], kernel[128], arch[32], host[64];
	unsigned cpus;
	uint64_t frequency; /* 0: not known, or a period */
	uint64_t period;    /* in the event's unit; 0: not known, or a frequency */
	bool damaged;	    /* the recording is cut short or not whole */
	uint64_t lost;	    /* samples */
	uint64_t arguments; /* a hash of the words behind the program's name; 0: not known */
};

/* What is said of a function. Those before VERDICT_SUSPECT are gated: the exit status is theirs. */
enum verdict {
	VERDICT_REGRESSED,
	VERDICT_NEW,	     /* it is in no run of the base, and costs */
	VERDICT_OVER_BUDGET, /* more than .profbudget allows */
	VERDICT_SUSPECT,     /* it may be slower: too few runs, or between q and report_q */
	VERDICT_ALLOWED,     /* slower, and .profbudget says why */
	VERDICT_IMPROVED,
	VERDICT_GONE,
	VERDICT_MOVED, /* its time went to or came from a neighbour: inlined, outlined, renamed */
	VERDICT_ENVIRONMENT, /* work that the kernel does when it suits it; or the program's code is
				the same but for where it lies */
	VERDICT_UNCONFIRMED, /* an earlier comparison flagged it, this one does not */
	VERDICT_EXPLAINED,   /* slower because of what it calls, which is listed */
	VERDICT_N
};
const char *verdict_text(enum verdict v); /* "REGRESSED" */
bool verdict_is_gated(enum verdict v);

/* How time moved from one function to another. */
enum moved_how {
	MOVED_SHIFTED,	/* between a function and its caller, which both are on both sides */
	MOVED_INLINED,	/* into its caller */
	MOVED_OUTLINED, /* out of its caller */
	MOVED_RENAMED,	/* perhaps: a name that is gone and a new one have the same callers and time
			 */
	MOVED_FOLDED,	/* the linker made functions of the same code one */
	MOVED_N
};
const char *moved_how_text(enum moved_how h); /* "inlined" */

enum finding_kind { FINDING_SELF, FINDING_INCL, FINDING_TOTAL };
const char *finding_kind_text(enum finding_kind k); /* "self" */

#define FINDING_PATHS 3

struct finding_path {
	char *stack;  /* "main;parse;f", owned */
	double share; /* of the change */
};

/* A source line of the function that holds some of the change. */
struct finding_line {
	uint32_t line[SIDE_N]; /* as each side numbers it; 0: no sample was there */
	double base, new;      /* samples per run */
};

struct finding_caller {
	uint32_t key;
	double base, new; /* samples per run of the function beneath it */
};

struct finding {
	enum finding_kind kind;
	enum verdict verdict;
	uint32_t key;	       /* regress_key() */
	double base, new;      /* samples per run, adjusted to each other */
	double base_share;     /* of all samples of the base */
	double growth, lo, hi; /* new / base - 1, and its 95 % confidence interval */
	double impact;	       /* growth in shares of the whole */
	double p, p_adjusted;
	double phi;	    /* dispersion: 1 is pure chance */
	double mde;	    /* smallest growth that would have been found with a power of 80 % */
	uint32_t related;   /* MOVED: the key that it went to or came from; UINT32_MAX */
	enum moved_how how; /* MOVED */
	unsigned rule;	    /* line of .profbudget; 0: none */
	const char *why;    /* of `allow`; NULL */
	bool is_same_code;  /* its own machine code is the same on both sides but for where it lies
			     */
	struct finding_path paths[FINDING_PATHS];
	size_t n_paths;
	struct finding_line lines[FINDING_PATHS]; /* of FINDING_SELF, largest change first */
	size_t n_lines;
	struct finding_caller callers[FINDING_PATHS];
	size_t n_callers;
};

struct regress_run {
	char *name;
	enum side side;
	double samples, weight, unknown; /* unknown: share of samples in code without a name */
	struct run_facts facts;
};

struct regress; /* opaque */

/* opt is copied, but not what it points to. NULL when out of memory. */
struct regress *regress_new(const struct regress_options *opt);
void regress_free(struct regress *g);
/* Rules of a budget file; `text` is kept by the caller until the end. 0 or negative with *err,
 * which names the line. */
int regress_budget(struct regress *g, const char *path, const char *text, struct err *err);
/* Judges only what was named so, with runs that were not known when it was chosen: the rate of
 * false alarms is then that of these few tests alone (doc/regress.md, "Confirming"). key: as
 * regress_key() of the earlier comparison gives it; of FINDING_TOTAL it is not looked at. 0 or
 * negative. */
int regress_only(struct regress *g, enum finding_kind kind, const char *key, struct err *err);
/* Keeps nothing of the profile; copies the facts. 0 or negative with *err. */
int regress_add_run(struct regress *g, enum side side, const char *name, const struct profile *p,
		    const struct run_facts *facts, struct err *err);
/* An earlier run of the base, for the spread of functions from run to run: those of one session
 * were recorded together, of one build. Runs are compared within sessions only, so what changed
 * since does not matter. What is not comparable with today's runs, and what is too much
 * (HISTORY_MAX), is left out and counted. Before or after the sides' runs. 0 or negative. */
int regress_add_history(struct regress *g, unsigned session, const char *name,
			const struct profile *p, const struct run_facts *facts, struct err *err);
enum { HISTORY_MAX = 64 };
/* 0; -ERR_USAGE when the sides are not comparable; or other negative with *err. */
int regress_compare(struct regress *g, struct err *err);

/* After regress_compare(). What the functions below return lives until regress_free(). */
struct regress_design {
	const char *event, *unit;
	const char *normaliser; /* "absolute", "stable functions" */
	bool is_uniform;	/* everything changed alike: see the total */
	size_t runs[SIDE_N], tested, keys;
	size_t history, history_left_out; /* earlier runs */
	bool history_is_quieter;	  /* than today: not used */
	bool is_same_code; /* nothing of the program is another but where it lies: nothing fails */
	size_t only;	   /* how many regress_only() named; 0: everything is judged */
	double samples[SIDE_N]; /* per run */
	double d0, trend[2];
	double certified[2]; /* share of the time that is certainly less than 5, 10 % slower: wrong
				for a share q of functions */
	double largest_mde;  /* of functions with 1 % and more */
	/* detect_growth in detect_share is found with a power of 80 % by that many samples in each
	 * of these runs (INFINITY: by none), or by that many of such runs on each side. */
	double detect_samples, detect_runs;
	bool can_detect; /* so there are enough */
};
const struct regress_design *regress_design(const struct regress *g);
/* Ordered by verdict, then impact. The first with FINDING_TOTAL is always there. */
const struct finding *regress_findings(const struct regress *g, size_t *n);
const char *regress_key(const struct regress *g, uint32_t key);	 /* as matched */
const char *regress_name(const struct regress *g, uint32_t key); /* as shown */
const char *regress_dso(const struct regress *g, uint32_t key);
const char *regress_file(const struct regress *g, uint32_t key,
			 uint32_t *line); /* in the new side if it is there; "": not known */
/* What was found out about a function of this name: the first of its findings, by itself before
 * with what it calls; NULL: nothing. */
const struct finding *regress_finding_of(const struct regress *g, const char *name, size_t n);
/* One line: "1 slower, 0 suspect .."; one about a finding: "+12.3 %, +0.40 % of the whole ..". */
void regress_summary(const struct regress *g, char *line, size_t size);
void regress_details(const struct finding *f, char *line, size_t size);
/* Is a finding gated? */
bool regress_failed(const struct regress *g);
/* Lines of the budget file that no function matched, and allowances that have ended: text, NULL
 * behind the last. */
const char *regress_budget_note(const struct regress *g, size_t i);

/* What the reader of a report ought to know of the runs: sides that seem to be swapped, other
 * compilers. NULL behind the last. regress_warn() adds one (before the comparison; 0 or negative).
 */
const char *regress_warning(const struct regress *g, size_t i);
int regress_warn(struct regress *g, const char *text, struct err *err);

/* Reports. All bytes follow from the runs, and from the programs where they are at hand. */
void regress_write_text(const struct regress *g, FILE *out);
void regress_write_markdown(const struct regress *g, FILE *out);
void regress_write_json(const struct regress *g, FILE *out);
void regress_write_junit(const struct regress *g, FILE *out);
/* kind: "github" or "gitlab"; the ten that matter. */
void regress_write_annotations(const struct regress *g, const char *kind, FILE *out);
/* Folded stacks with two columns: base and new, per run. */
void regress_write_folded(const struct regress *g, FILE *out);

#endif
