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
#include "reader/reader.h"

enum side { SIDE_BASE, SIDE_NEW, SIDE_N };

/* How the runs were recorded, for the JSON report: `regress confirm` records in the same way. */
struct regress_recipe {
	char *const *commands[SIDE_N]; /* argv */
	unsigned runs, frequency, count, warmup;
	const char *prepare, *event; /* NULL: none, capture's own */
	bool ignore_status;
};

enum { REGRESS_RUNS_MAX = 100 }; /* of a side, that `regress run` records */

/* The defaults of q and report_q. */
#define REGRESS_Q	 0.01
#define REGRESS_REPORT_Q 0.05

struct regress_options {
	double q;	 /* of all alarms, which share may be false; 0: 0.01 */
	double report_q; /* what is shown as suspicious; 0: 0.05 */
	double margin;	 /* growth that is not worth an alarm; negative: 0.02 */
	double impact;	 /* share of the whole that is not worth one; negative: 0.001 */
	/* Growth of all on-CPU time that is accepted; negative: the default, 0.03. */
	double total_max;
	/* The change that should be found: this growth of a function with this share; 0: the
	 * defaults, 0.1 and 0.1. */
	double detect_growth, detect_share;
	/* Folders of the project's sources and programs, with a NULL behind them; NULL: all that is
	 * not below /usr. */
	const char *const *project;
	bool is_long;			     /* Markdown of up to 60 kB, not 6 */
	bool is_absolute;		     /* reports have samples a run, too */
	bool force;			     /* compare what is not comparable */
	const char *event;		     /* NULL: the heaviest */
	const struct regress_recipe *recipe; /* NULL: not known */
	const char *name;		     /* of the benchmark; NULL: it has none */
};

/* What must be alike on both sides; "": not known. */
struct run_facts {
	char cpu[64], kernel[128], arch[32], host[64];
	unsigned cpus;
	uint64_t frequency; /* 0: not known, or a period */
	uint64_t period;    /* in the event's unit; 0: not known, or a frequency */
	bool damaged;	    /* the recording is cut short or not whole */
	uint64_t lost;	    /* samples */
	uint64_t arguments; /* a hash of the words after the program's name; 0: unknown */
	uint64_t began_ns;  /* since 1970; 0: unknown */
	bool has_modules;   /* all modules that were mapped are told by regress_add_module() */
	bool made_code;	    /* code without a file was mapped */
};

/* The verdict on a function. Those before VERDICT_APART decide the exit status. */
enum verdict {
	VERDICT_REGRESSED,
	VERDICT_NEW,	     /* it is in no run of the base, and costs */
	VERDICT_OVER_BUDGET, /* more than .profbudget allows */
	/* All on-CPU time grew, but the sides were not recorded together: the machine may explain
	 * it. */
	VERDICT_APART,
	VERDICT_SUSPECT, /* it may be slower: too few runs, or between q and report_q */
	/* It is slower, but what calls it (or the whole program) got faster all the same. */
	VERDICT_OUTWEIGHED,
	VERDICT_ALLOWED, /* slower, and .profbudget says why */
	VERDICT_IMPROVED,
	VERDICT_GONE,
	/* Its time went to a neighbour or came from one: inlined, outlined, renamed. Inclusive:
	 * what it calls more lost as much elsewhere. */
	VERDICT_MOVED,
	/* It took the place of functions that are gone or take less (`related` is the largest). */
	VERDICT_REPLACED,
	/* Asynchronous work of the kernel; or the program's code is the same except for its
	 * addresses. */
	VERDICT_ENVIRONMENT,
	VERDICT_IGNORED,     /* slower, and a rule of .profbudget says that it does not matter */
	VERDICT_UNCONFIRMED, /* an earlier comparison flagged it, this one does not */
	VERDICT_EXPLAINED,   /* slower because of what it calls, which is listed */
	VERDICT_N
};
const char *verdict_text(enum verdict v); /* "REGRESSED" */
bool verdict_is_gated(enum verdict v);

/* Were the runs of both sides recorded in turn on one machine? */
enum together { TOGETHER_UNKNOWN, TOGETHER_YES, TOGETHER_NO };

/* How time moved from one function to another. */
enum moved_how {
	MOVED_SHIFTED,	/* between a function and its caller, both of which exist on both sides */
	MOVED_INLINED,	/* into its caller */
	MOVED_OUTLINED, /* out of its caller */
	MOVED_RENAMED,	/* perhaps: a removed and a new name have the same callers and time */
	MOVED_FOLDED,	/* the linker made functions of the same code one */
	MOVED_CALLS, /* inclusive: calls of `related` wandered from other functions to this one */
	/* Perhaps: of their module no inlined functions are known, and what was inlined into one
	 * may be inlined into the other now. */
	MOVED_UNSEEN,
	MOVED_COMPILER, /* among functions of a module that another compiler made */
	MOVED_N
};
const char *moved_how_text(enum moved_how h); /* "inlined" */

enum finding_kind { FINDING_SELF, FINDING_INCL, FINDING_TOTAL };
const char *finding_kind_text(enum finding_kind k); /* "self" */

#define FINDING_PATHS 3

#define FINDING_ABOVE 3

struct finding_path {
	char *stack;		       /* "main;parse;f", owned */
	double share;		       /* of the change */
	uint32_t node;		       /* of both sides' tree; private */
	uint32_t above[FINDING_ABOVE]; /* keys of the callers, the nearest first */
	size_t n_above;
};

/* A source line of the function that has a part of the change. */
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
	double phi; /* dispersion: 1 is pure chance */
	double mde; /* smallest growth that would have been found with a power of 80 % */
	/* MOVED: the key that it went to or came from. REPLACED, and NEW and REGRESSED if they took
	 * a part of another's time: whose; improved and gone: what took its place. OUTWEIGHED: the
	 * caller that got faster, none: all of the program. UINT32_MAX: none. */
	uint32_t related;
	double taken;	    /* samples per run that came from functions which lost them */
	enum moved_how how; /* MOVED */
	unsigned rule;	    /* line of .profbudget; 0: none */
	const char *why;    /* of `allow`; NULL */
	double limit;	   /* OVER BUDGET by `share`: the most that is allowed of the new side; 0 */
	double new_share;  /* with `limit`: how much it has */
	bool is_same_code; /* its machine code is the same on both sides except for addresses */
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
	bool lacks_unit;		 /* the weights are sums, of what is not told */
	struct run_facts facts;
};

struct regress; /* opaque */

/* Copies *opt, but not what it points to. NULL when out of memory. */
struct regress *regress_new(const struct regress_options *opt);
void regress_free(struct regress *g);
/* Reads the rules of a budget file; the caller keeps `text` until regress_free(). Returns 0, or
 * negative with *err, which names the line. */
int regress_budget(struct regress *g, const char *path, const char *text, struct err *err);
/* Restricts the judgement to the functions added here, which were chosen without knowing these
 * runs: the rate of false alarms is then that of these few tests alone (doc/regress.md,
 * "Confirming"). key: from regress_key() of the earlier comparison; ignored with FINDING_TOTAL.
 * Returns 0 or negative. */
int regress_only(struct regress *g, enum finding_kind kind, const char *key, struct err *err);
/* False: so many samples were lost while recording that the run is not comparable. */
bool regress_is_whole(double samples, double lost);
/* Adds a run. Keeps no pointer to the profile, and copies the facts. Returns 0, or negative with
 * *err. */
int regress_add_run(struct regress *g, enum side side, const char *name, const struct profile *p,
		    const struct run_facts *facts, struct err *err);
/* Adds a file whose code was mapped in a run of a side, also if it had no samples: only if all are
 * known can the code of both sides be shown to be the same. Returns 0 or negative. */
int regress_add_module(struct regress *g, enum side side, const char *path,
		       const struct build_id *id, struct err *err);
/* Adds an earlier run of the base, from which the variation of functions between runs is estimated.
 * The runs of a session were recorded together, of one build; runs are compared only within their
 * session, so changes since then do not matter. Runs that are not comparable with today's, or too
 * many (HISTORY_MAX), are left out and counted. May be called before or after the sides' runs are
 * added. Returns 0 or negative. */
int regress_add_history(struct regress *g, unsigned session, const char *name,
			const struct profile *p, const struct run_facts *facts, struct err *err);
enum { HISTORY_MAX = 64 };
/* Returns 0, -ERR_USAGE if the sides are not comparable, or another negative code with *err. */
int regress_compare(struct regress *g, struct err *err);

/* Valid after regress_compare(). The results of the functions below live until regress_free(). */
struct regress_design {
	const char *event, *unit;
	const char *normaliser; /* "functions that do not change", "none: samples per run" */
	bool is_adjusted;	/* by these functions: growth is that beside them */
	bool is_uniform;	/* everything changed alike: see the total */
	enum together together;
	size_t runs[SIDE_N], tested, keys;
	size_t history, history_left_out; /* earlier runs */
	bool history_is_quieter;	  /* than today: not used */
	/* All code and all initialised data of every module is the same except for its addresses:
	 * only all on-CPU time and budgets can fail. */
	bool is_same_code;
	/* All code that ran is the same, but not all of the program could be shown to be. */
	bool is_not_shown;
	size_t only;		/* how many regress_only() named; 0: everything is judged */
	double samples[SIDE_N]; /* per run */
	double d0, trend[2];
	/* Share of the time in functions that are certainly less than 5 and 10 % slower, if
	 * is_adjusted beside functions that do not change: wrong for a share q of functions. */
	double certified[2];
	double largest_mde; /* of functions with 1 % and more */
	/* A growth of detect_growth in a function with share detect_share is found with a power of
	 * 80 % if each of these runs has this many samples (INFINITY: with no number), or with this
	 * many such runs on each side. */
	double detect_samples, detect_runs;
	bool can_detect; /* so there are enough */
	/* The chance that this job would be red if nothing had changed, over all families together:
	 * a bound, by the tests' own errors. 0: nothing can fail. */
	double false_alarm;
	bool is_few_runs; /* of one side: nothing is gated */
};
const struct regress_design *regress_design(const struct regress *g);
const struct regress_run *regress_runs(const struct regress *g, size_t *n);
/* Sorted by verdict, then by impact. The first, with FINDING_TOTAL, always exists. */
const struct finding *regress_findings(const struct regress *g, size_t *n);
/* The key by which functions are matched. */
const char *regress_key(const struct regress *g, uint32_t key);
const char *regress_name(const struct regress *g, uint32_t key); /* as shown */
const char *regress_dso(const struct regress *g, uint32_t key);
const char *regress_file(const struct regress *g, uint32_t key,
			 uint32_t *line); /* in the new side if it is there; "": not known */
/* The first finding about a function of this name, FINDING_SELF before FINDING_INCL; NULL: none.
 * file: its path, for names that functions of several files have. */
const struct finding *regress_finding_of(const struct regress *g, const char *name, size_t n,
					 const char *file);
/* One line: "1 slower, 2 improved or gone ..", or for a finding "+12.3 %, +0.40 % of the whole ..".
 */
void regress_summary(const struct regress *g, char *line, size_t size);
void regress_details(const struct finding *f, char *line, size_t size);
/* Is a finding gated? */
bool regress_failed(const struct regress *g);
/* Did only all on-CPU time grow, in runs that were not recorded together? */
bool regress_is_apart(const struct regress *g);
/* Notes on the budget file: rules that matched no function, allowances that have expired. NULL
 * after the last. */
const char *regress_budget_note(const struct regress *g, size_t i);

/* Warnings about the runs for readers of a report: sides that seem to be exchanged, other
 * compilers. NULL after the last. regress_warn() adds one before the comparison; returns 0 or
 * negative. */
const char *regress_warning(const struct regress *g, size_t i);
int regress_warn(struct regress *g, const char *text, struct err *err);

/* Reports. Their bytes depend only on the runs, and on the programs if they are present. */
void regress_write_text(const struct regress *g, FILE *out);
/* At most 6,000 bytes, or 60,000 on demand (is_long). */
void regress_write_markdown(const struct regress *g, FILE *out);
void regress_write_json(const struct regress *g, FILE *out);
/* Folded stacks with two columns, base and new, per run. */
void regress_write_folded(const struct regress *g, FILE *out);

/* The same of several benchmarks with names that were compared each with its part of q: a table
 * each, one verdict. Of one benchmark without a name they write what the functions above do. */
struct regress_suite {
	const struct regress *const *v;
	size_t n;
};
bool regress_suite_failed(const struct regress_suite *s);
void regress_suite_text(const struct regress_suite *s, FILE *out);
void regress_suite_markdown(const struct regress_suite *s, FILE *out);
void regress_suite_json(const struct regress_suite *s, FILE *out);
void regress_suite_junit(const struct regress_suite *s, FILE *out);
/* kind: "github" or "gitlab". Writes the ten most important findings. */
void regress_suite_annotations(const struct regress_suite *s, const char *kind, FILE *out);
void regress_suite_folded(const struct regress_suite *s, FILE *out);

/* ---- a trend: which functions grew over many commits
 *
 *	struct trend *t = trend_new(&options, false);
 *	trend_add(t, "2026-11-24", "2026-11-24/1.pb.gz", profile, &facts, &err);  ... all runs,
 *those of a commit one after the other trend_compare(t, &err); trend_write_text(t, stdout);
 *	trend_free(t);
 */
struct trend; /* opaque */

enum trend_verdict {
	TREND_GREW,    /* at one commit */
	TREND_CREPT,   /* steadily */
	TREND_OVER,    /* it grew, and at the end it is back */
	TREND_FELL,    /* either */
	TREND_MOVED,   /* what it won (lost) at a commit another function lost (won) there */
	TREND_MACHINE, /* a step where processor or kernel changed */
};

struct trend_finding {
	uint32_t key;
	bool is_total, is_creep, is_machine, is_over;
	size_t from, to,
		at; /* points [from, to) were looked at; at: the first point behind a step */
	double before, after;  /* samples a run: beside the step, at the ends of a creep */
	double growth, impact; /* after / before - 1, INFINITY: it is new; share of the whole */
	double p_adjusted;     /* over all functions and all places of a step (Bonferroni) */
	uint32_t related;      /* of TREND_MOVED: the other key; UINT32_MAX */
	double *series;	       /* by point, samples a run, adjusted; owned by the trend */
};

struct trend_design {
	size_t points, tested;
	bool by_name;	/* the order of commits; else by the time of recording */
	bool is_scaled; /* counts are adjusted by functions that do not change */
	double phi;	/* the usual dispersion between commits */
};

/* by_name: in any case; else only if some run does not tell when it was recorded. NULL: out of
 * memory. */
struct trend *trend_new(const struct regress_options *opt, bool by_name);
void trend_free(struct trend *t);
/* Returns 0, or negative with *err. */
int trend_add(struct trend *t, const char *commit, const char *run, const struct profile *p,
	      const struct run_facts *facts, struct err *err);
/* Returns 0, -ERR_USAGE if there are too few commits, or another negative code with *err. */
int trend_compare(struct trend *t, struct err *err);
/* Did something grow? */
bool trend_failed(const struct trend *t);
enum trend_verdict trend_verdict_of(const struct trend_finding *f);
const char *trend_verdict_text(enum trend_verdict v);
void trend_write_text(const struct trend *t, FILE *out);
void trend_write_json(const struct trend *t, FILE *out);
/* A page without scripts: a line for each function that changed. */
void trend_write_html(const struct trend *t, FILE *out);

#endif
