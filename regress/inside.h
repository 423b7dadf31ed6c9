/* inside.h - types and functions that the files of regress/ share. Private. */
#ifndef REGRESS_INSIDE_H
#define REGRESS_INSIDE_H

#include "regress/key.h"
#include "regress/method.h"
#include "regress/regress.h"

/* A function in all runs. */
struct key_info {
	uint32_t name, dso; /* string ids in `names` */
	uint32_t file[SIDE_N];
	/* Where it begins, as each side has it, or if that is not known its first line with
	 * samples; 0: not known. */
	uint32_t line[SIDE_N];
	bool is_kernel, is_async, is_unknown;
	bool is_vdso;	   /* the kernel's code that programs call */
	bool is_interrupt; /* an interrupt, or beneath one */
	enum key_entry entry;
	uint32_t in_interrupt; /* the key of what it does beneath an interrupt; 0: none */
	bool has_namesakes;    /* it stands for several functions */
	bool is_asked;	       /* and it would matter which of them changed */
	/* Of a part of a name (split.h): the key of the name, the file or 0, and the module. */
	uint32_t whole, path, module;
	uint32_t like; /* another part that is the same function; 0: none */
	bool is_seen[SIDE_N];
	bool is_crowded;  /* in one run two files of this base name have the function */
	bool has_copies;  /* its symbol is in two places of a module */
	bool is_unplaced; /* some function of this name is of no known file */
	bool is_of_file;  /* of a program or a library that is known by name */
	/* The linker has merged it with others of the same code: "f [+1]". */
	bool is_folded[SIDE_N];
	/* Some of its code has lines, or functions inlined into it are known. */
	bool has_lines[SIDE_N];
	/* It is in folded stacks, where inlined functions may be frames as others are. */
	bool is_of_stacks[SIDE_N];
};

/* How long a function's machine code is. */
struct code_size {
	uint64_t bytes[SIDE_N]; /* 0: the side has no such function */
	bool is_known;		/* the files of both sides are here, with symbols */
};

/* One run: stacks of keys. Node 0 is the root. */
struct run_tree {
	VEC(struct tree_node) nodes; /* symbol: key */
	double unit;		     /* weight of one sample */
	uint64_t divisor; /* of all weights, if that is the unit (folded stacks); else 0 */
};

/* Both sides in one tree: samples per run, adjusted. */
struct both_node {
	uint32_t parent, key;
	double self[SIDE_N], incl[SIDE_N];
};

/* A file that runs of a side had code of. */
struct build {
	char *path;
	struct build_id id;
	uint32_t short_name; /* string id in `names` */
	/* Set by builds_describe(), for builds that the other side does not have. */
	bool is_described, is_program;
	char compiler[96];
	uint64_t built_ns; /* since 1970; 0: not known */
};

/* A function that ran and has its own machine code: a build, and the offset in its file. */
struct ran {
	uint32_t build, key;
	uint64_t off;
};

/* All of a side. */
struct side_code {
	VEC(struct build) builds;
	VEC(struct ran) ran;
	struct hash_index known; /* ran */
	bool has_other;		 /* also code without a file: made at run time */
	bool lacks_modules;	 /* of some run it is not known what was mapped */
};

/* Samples at a line of a function. Lines count from the function's first one, because functions
 * move. */
struct line_count {
	uint32_t key, distance;
	uint32_t line[SIDE_N];
	/* Of all runs, in 4096ths: integers, so that the sum does not depend on the order. */
	uint64_t samples[SIDE_N];
};

enum rule_kind {
	RULE_FN,
	RULE_TOTAL,
	RULE_DEFAULT,
	RULE_SHARE,
	RULE_CLASS,
	RULE_RENAME,
	RULE_ALLOW,
	RULE_UNKNOWN
};

struct rule {
	enum rule_kind kind;
	unsigned line;
	char *pattern, *to, *why; /* owned */
	bool is_incl, has_kind, is_warning, is_ignored;
	double max;   /* growth; negative: not given */
	double limit; /* share; negative: not given */
	double margin, impact, q, delta;
	int until; /* yyyymmdd; 0 */
	bool is_used;
};

/* An earlier run. */
struct past_run {
	struct regress_run run;
	struct run_tree tree;
	unsigned session; /* NO_SESSION: it is one of today's */
};
#define NO_SESSION UINT32_MAX

/* A function of several of one name. */
struct split_part {
	uint32_t whole, path, key; /* path: in `names`; 0: not known */
};

struct named_finding {
	enum finding_kind kind;
	uint32_t key;
};

#define WHOLE_TIME "all on-CPU time"
/* What all samples of an event of capture are in which threads also wait: it has the unit of a
 * clock, but another meaning. NULL: of another event. */
const char *whole_of_waits(const char *event);

struct regress {
	struct regress_options opt;
	struct regress_design design;
	struct strtab keys;	   /* ids of functions */
	struct strtab names;	   /* what is shown of them */
	VEC(struct key_info) info; /* by key */
	VEC(struct regress_run) runs;
	VEC(struct run_tree) trees; /* by run */
	VEC(struct past_run) past;
	VEC(unsigned) sessions; /* by earlier run */
	struct side_code code[SIDE_N];
	VEC(struct line_count) lines;
	struct hash_index lines_known;
	uint8_t *code_state;	      /* by key: enum code_state; NULL: not looked at */
	struct code_size *code_sizes; /* by key; with code_state */
	bool is_by_name;	      /* functions of one name are one */
	VEC(struct split_part) splits;
	VEC(struct rule) rules;
	VEC(char *) notes, warnings;
	struct family self, incl;
	VEC(struct named_finding) only; /* what is judged; none: everything */
	VEC(struct finding) findings;
	VEC(struct both_node) both;
	char event[128], unit[32];
	char whole[140]; /* what all samples are: WHOLE_TIME, "all page-faults" */
};

/* ---- runs.c */
/* Of a node by itself, in the event's unit, or a count of samples if it has none. */
double node_weight(const struct tree_node *n);
/* Adds the samples of one run by key, self and inclusive, to zeroed arrays. Returns 0, or -1 when
 * out of memory. */
int run_count(const struct run_tree *t, double *self, double *incl);
/* Inclusive samples of one key, without those in functions of skip_leaf, and without stacks in
 * which a function of skip_any calls it or is called by it (both by key). */
int run_count_of(const struct run_tree *t, uint32_t key, const bool *skip_leaf,
		 const bool *skip_any, double *incl);
/* Computes `both`. */
int runs_merge(struct regress *g, const double *size, struct err *err);
void runs_sort(struct regress *g);
/* All runs get one unit of weight: in a run of few stacks the greatest common divisor can be too
 * large by chance. */
void runs_share_unit(struct regress *g);
void past_run_done(struct past_run *r);
/* Returns the id of a key; STRTAB_FAILED when out of memory. */
uint32_t key_intern(struct regress *g, const char *key);

/* ---- parts.c */
bool is_name_of_c(const char *s);
/* The part that stands for all that are the same function as this. */
uint32_t part_find(const struct regress *g, uint32_t part);
void part_join(struct regress *g, uint32_t a, uint32_t b);

/* ---- split.c */
/* Decides which parts of names are functions of their own, and gives all that has keys those of
 * functions. Returns 0 or -1. */
int split_all(struct regress *g);
/* The name of a function without the file that tells it from others. */
const char *split_plain_name(const struct regress *g, uint32_t key);

/* ---- interrupts.c */
/* Notes that a key is of the kernel. */
void kernel_see(struct regress *g, uint32_t key);
/* Gives what is beneath an interrupt keys of its own. Returns 0, or -1 when out of memory. */
int interrupts_part(struct regress *g, struct tree_node *nodes, size_t n);

/* ---- together.c */
enum together runs_together(const struct regress *g);

/* ---- lines.c */
/* Counts a run's samples by line; keys: of the locations' innermost functions. Returns 0 or -1. */
int lines_see(struct regress *g, enum side side, const struct profile *p, const bool *has_event,
	      const uint32_t *keys, double unit);
/* Gives lines the keys that theirs became. Returns 0 or -1. */
int lines_rename(struct regress *g, const uint32_t *to);
/* Finds the lines with most of a change; s: sums of the sides' size factors. */
void lines_of(const struct regress *g, const double *s, struct finding *f);

/* ---- unseen.c */
/* Does a side have samples of a module (id of its name), but no lines of it? Then no functions are
 * known that were inlined there. */
bool lacks_lines(const struct regress *g, uint32_t dso);

/* ---- builds.c */
/* Notes the files and functions of a run; keys: of the locations' outermost functions. */
int builds_see(struct regress *g, enum side side, const struct profile *p, const uint32_t *keys);
void builds_done(struct side_code *c);
/* Compares the machine code of the functions that ran; sets code_state, code_sizes, and *all: is
 * all code of the program, which was built anew, the same except for its addresses, and did all
 * runs have the same arguments? Returns 0 or negative. */
int builds_compare(struct regress *g, bool *all, struct err *err);

/* ---- fingerprint.c */
/* Finds compilers and build times of the files that differ between the sides, and warns of what
 * these suggest. */
int builds_describe(struct regress *g, struct err *err);

/* ---- comparable.c */
/* Can the runs be compared? Also counts them by side, and leaves out earlier runs that cannot be
 * compared. Returns 0 or negative. */
int check_comparable(struct regress *g, struct err *err);

/* ---- budget.c */
/* The first rule of a kind that matches the key; NULL: none. */
struct rule *budget_find(struct regress *g, enum rule_kind kind, uint32_t key, bool is_incl);
const char *budget_rename(struct regress *g, const char *key);
void budget_done(struct regress *g);
/* Today, as yyyymmdd. */
int budget_today(void);

/* ---- verdict.c */
int verdict_all(struct regress *g, struct err *err);

#endif
