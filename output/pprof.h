/* pprof.h - ids that depend on nothing but content. Private to fmt_pprof.c and pprof_ids.c.
 *
 * The ids of a profile depend on the order in which threads met things. A pprof file must be the
 * same bytes for the same recording, so what is in it is sorted by content and numbered from 0 in
 * that order; what is equal by content (the text segment mapped alike in several processes) is one.
 */
#ifndef OUTPUT_PPROF_H
#define OUTPUT_PPROF_H

#include "output/formats.h"
#include "profile/profile.h"

#define PPROF_UNUSED UINT32_MAX

/* A kind of thing: the rank of each, and one example for every rank. */
struct pprof_ranks {
	uint32_t *of; /* by id in the profile; PPROF_UNUSED when no sample of the events needs it */
	uint32_t *ids; /* by rank: an id in the profile */
	size_t n;      /* number of ranks */
};

/* What the label "stack" says. */
enum stack_label { STACK_WHOLE, STACK_STITCHED, STACK_CUT };

struct pprof {
	const struct profile *p;
	const struct output_options *opt;
	struct event_set *events;
	struct pprof_ranks functions, mappings, locations;
	struct pprof_ranks labels; /* ids are samples */
	uint8_t *stack_label;	   /* by sample: enum stack_label */
};

/* Fills the ranks; p, opt and events are set. 0 or -ERR_NOMEM; pprof_done() in both cases. */
int pprof_rank(struct pprof *pp, struct err *err);
/* Fills an empty tree with the samples of an event: below a set of labels the ranks of locations. 0
 * or -ERR_NOMEM. */
int pprof_tree(struct tree *t, struct pprof *pp, uint32_t event, struct err *err);
void pprof_done(struct pprof *pp);

/* What the label "stop" says; UNWIND_STOP_NONE: the stack is whole. */
static inline int pprof_stop(const struct profile_sample *s)
{
	return s->stop == UNWIND_STOP_END ? UNWIND_STOP_NONE : s->stop;
}

/* Address inside of the instruction that was executing or calling. */
static inline uint64_t pprof_address(const struct profile_location *l)
{
	return l->ip - l->is_return_address;
}

#endif
