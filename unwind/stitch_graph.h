/* stitch_graph.h - what the samples of one thread tell about who called whom. Private to unwind/.
 *
 * An activation is one call of a function, known by its return address and where on the stack that
 * lies. As long as it is not left, its callers cannot change either. A sample shows everything on
 * the stack from its own stack pointer up to where its frames end: an activation that should be
 * there and is not has ended. So whether what one sample saw was still true for another one is
 * decided by all samples between the two. */
#ifndef UNWIND_STITCH_GRAPH_H
#define UNWIND_STITCH_GRAPH_H

#include "base/vec.h"
#include "unwind/unwind.h"

/* Instead of an activation: the stack ends here; not known. */
#define STITCH_NONE UINT32_MAX
#define STITCH_ROOT (UINT32_MAX - 1)

struct stitch_activation {
	struct frame frame; /* of the caller: its ip is the return address */
	struct frame_place place;
	uint32_t owner; /* the activation that the caller's frame belongs to, ROOT, NONE */
	uint32_t older; /* the one before with the same hash, or NONE */
	uint64_t first_ns, last_ns;	      /* seen */
	uint64_t told_first_ns, told_last_ns; /* seen with the owner */
	uint64_t not_before_ns,
		not_after_ns; /* seen not to be; at all other times it can have been */
	uint32_t n_seen;
	uint32_t base; /* of the caller's frame and all above: see stitch.c; NONE */
};

/* What is compared with every stack, close together. */
struct stitch_live {
	uint64_t ip;
	const struct map *map;
	struct frame_place place;
	/* Newer than the activation's until stitch_settle(). */
	uint64_t last_ns, told_last_ns;
	uint32_t n_seen;
	uint32_t owner, id;
};

struct stitch_covered;

/* Zeroed: nothing is known. */
struct stitch_graph {
	VEC(struct stitch_activation) activations;
	VEC(struct stitch_activation) kept; /* while the graph shrinks */
	VEC(struct stitch_live) live;	    /* not known to have ended, outermost first: sp falls */
	size_t settled;			    /* of these, from the first on */
	VEC(struct stitch_covered) covered; /* up to where which sample saw; time rises, sp falls */
	uint32_t *newest; /* activation, by a hash of its frame and place; NULL: no table yet */
	size_t hash_mask, hash_room;
	size_t n_hashed; /* activations, from the first on, that are found there if they have owners
			  */
	uint64_t last_ns;
};

/* The believed frames of one sample's user stack; n > 0. */
struct stitch_stack {
	const struct frame *frames;
	const struct frame_place *places;
	size_t n;
	bool is_complete; /* the last frame is the root */
	uint64_t time_ns;
};

/* Stacks come in the order of time. 0 or -ERR_NOMEM, after which the graph knows less. */
int stitch_learn(struct stitch_graph *g, const struct stitch_stack *s);
/* Is it time to forget something? */
bool stitch_graph_is_full(const struct stitch_graph *g);
/* Forgets all but what stacks to come can be part of. 0 or -ERR_NOMEM, after which nothing is
 * known. */
int stitch_graph_shrink(struct stitch_graph *g);
/* To be called between learning and asking. 0 or -ERR_NOMEM. */
int stitch_settle(struct stitch_graph *g);
/* The activation by which the frame was called, according to the sample nearest in time that does
 * not contradict any other; ROOT: it is the root; NONE: not known. */
uint32_t stitch_caller(const struct stitch_graph *g, const struct frame *f,
		       const struct frame_place *place, uint64_t time_ns, uint64_t max_distance_ns);
/* Forgets everything; the memory stays, for this thread or another one. */
void stitch_graph_forget(struct stitch_graph *g);
void stitch_graph_done(struct stitch_graph *g);

#endif
