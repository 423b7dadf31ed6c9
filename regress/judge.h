/* judge.h - the state of one comparison; shared by the files that judge: verdict.c, total.c,
 * moved.c, unseen.c, trades.c, compilers.c, net.c, namesakes.c, where.c. Private to regress/. */
#ifndef REGRESS_JUDGE_H
#define REGRESS_JUDGE_H

#include "regress/inside.h"
#include "regress/stats.h"

#define NONE	    UINT32_MAX
#define MOVED_SHARE .2	/* of a change that need not be found again */
#define TAKEN_MIN   .25 /* of a growth: what less explains is no replacement */
#define BELOW	    .8	/* of a growth, to be said to be beneath a caller */

/* A function's time went to or came from another one. */
struct move {
	uint32_t to; /* key; NONE */
	enum moved_how how;
};

struct judge {
	struct regress *g;
	double *size;
	double s[SIDE_N];     /* sums of the size factors */
	double total[SIDE_N]; /* samples per run, adjusted */
	bool *flagged;	      /* by key: slower by itself */
	bool *accepted;	      /* by key: slower including its callees, and no callee explains it */
	struct move *moved;   /* by key */
	bool *traded;	      /* by key: took the place of another function, or gave it */
	bool *none;	      /* by key: false */
	bool can_gate;
	double total_false; /* chance of an alarm without a change */
	bool total_fell;    /* certainly */
};

static inline double per_run(const struct judge *j, const struct tested *v, enum side side)
{
	return side == SIDE_BASE ? v->a / j->s[SIDE_BASE] : v->b / j->s[SIDE_NEW];
}

static inline double change(const struct judge *j, const struct tested *v)
{
	return per_run(j, v, SIDE_NEW) - per_run(j, v, SIDE_BASE);
}

static inline double impact(const struct judge *j, const struct tested *v)
{
	return j->total[SIDE_BASE] > 0 ? change(j, v) / j->total[SIDE_BASE] : 0;
}

static inline bool is_new(const struct tested *v)
{
	return v->a < .5 && v->b >= SAMPLES_MIN;
}

static inline bool is_gone(const struct tested *v)
{
	return v->b < .5 && v->a >= SAMPLES_MIN;
}

static inline double self_change(const struct both_node *b)
{
	return b->self[SIDE_NEW] - b->self[SIDE_BASE];
}

static inline bool certainly_fell(const struct judge *j, const struct tested *v)
{
	return stats_t_tail(-v->l / v->se, v->df) <= j->g->opt.q;
}

/* ---- total.c */
void judge_total(struct judge *j, struct finding *f);
/* Without adjustment for the runs' speed everything may have grown alike: then no function is to
 * blame. */
bool all_changed_alike(struct regress *g);

/* ---- moved.c */
/* Fills `moved`. Returns 0 or -1. */
int find_moved(struct judge *j);

/* ---- unseen.c */
/* Can it be that what was inlined into `lost` is inlined into `grew` now (keys), and nothing tells
 * so? */
bool may_be_inlined_unseen(const struct judge *j, uint32_t grew, uint32_t lost);

/* ---- trades.c */
/* Functions that took the place of others are REPLACED: the findings so far. Returns 0 or -1. */
int judge_replaced(struct judge *j);

/* ---- compilers.c */
/* What grew in a module that another compiler made is MOVED, unless the module grew. */
void judge_compilers(struct judge *j);

/* ---- net.c */
/* What grew beneath a caller that got faster, or in a program that did, is OUTWEIGHED. Returns 0 or
 * -1. */
int judge_outweighed(struct judge *j);
/* Inclusive samples by run of a function that grew (or fell), without what took another's place;
 * functions that lost elsewhere what they won beneath it (or the other way round) count with all of
 * their time. Returns 0 or -1. */
struct net {
	uint32_t most; /* the one that wandered most; NONE */
	double paid;   /* samples per run of the growth that others lost */
};
int count_net(const struct judge *j, uint32_t key, bool grew, double *counts, struct net *net);

/* ---- namesakes.c */
/* Warns of names in the report that several functions have. Returns 0 or negative. */
int tell_namesakes(struct regress *g, struct err *err);

/* ---- where.c */
/* Finds the stacks, lines and callers with most of the change. Returns 0, or -1 when out of memory.
 */
/* Is most of the change beneath a system call that the base never made? */
bool is_of_new_call(const struct judge *j, const struct finding *f);
int add_paths(const struct judge *j, struct finding *f);

#endif
