/* pprof.h - ids that depend only on contents. Private to fmt_pprof.c, fmt_otlp.c and pprof_ids.c.
 *
 * The ids of a profile depend on the order in which threads have added things. A pprof file must
 * have the same bytes for the same recording, so its contents are sorted and numbered from 0 in
 * that order. Things with equal contents (one text segment that several processes have mapped
 * alike) get one number. */
#ifndef OUTPUT_PPROF_H
#define OUTPUT_PPROF_H

#include "output/formats.h"
#include "profile/profile.h"

#define PPROF_UNUSED UINT32_MAX

/* For one kind of thing: the rank of each, and one example for every rank. */
struct pprof_ranks {
	uint32_t *of;  /* by id in the profile; PPROF_UNUSED if no sample of the events uses it */
	uint32_t *ids; /* by rank: an id in the profile */
	size_t n;      /* number of ranks */
};

/* The value of the label "stack". */
enum stack_label { STACK_WHOLE, STACK_STITCHED, STACK_CUT };

struct pprof {
	const struct profile *p;
	const struct output_options *opt;
	struct event_set *events;
	struct pprof_ranks functions, mappings, locations;
	struct pprof_ranks labels; /* ids are samples */
	uint8_t *stack_label;	   /* by sample: enum stack_label */
};

/* Computes all ranks; p, opt and events must be set. Returns 0 or -ERR_NOMEM. Call pprof_done() in
 * both cases. */
int pprof_rank(struct pprof *pp, struct err *err);
/* Fills an empty tree with the samples of an event: the first level is a set of labels, below it
 * are the ranks of locations. Returns 0 or -ERR_NOMEM. */
int pprof_tree(struct tree *t, struct pprof *pp, uint32_t event, struct err *err);
void pprof_done(struct pprof *pp);

/* The length of an event's name without its modifiers: of "cycles:P" they are cut off; in
 * "sched:sched_switch" the colon belongs to the name. */
size_t pprof_bare_name(const struct profile_event *e, const char *name);
/* The distance between samples, in the event's unit; 0: it is not fixed. */
uint64_t pprof_period(const struct profile_event *e);

/* The value of the label "stop"; UNWIND_STOP_NONE: the stack is whole. */
static inline int pprof_stop(const struct profile_sample *s)
{
	return s->stop == UNWIND_STOP_END ? UNWIND_STOP_NONE : s->stop;
}

/* A number of a sample as one with a sign. */
static inline uint64_t pprof_value(const struct pprof *pp, uint64_t v)
{
	if (v <= INT64_MAX)
		return v;
	if (pp->opt->too_large)
		++*pp->opt->too_large;
	return INT64_MAX;
}

/* An address inside of the instruction that was executed or has called. */
static inline uint64_t pprof_address(const struct profile_location *l)
{
	return l->ip - l->is_return_address;
}

#endif
