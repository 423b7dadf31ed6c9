/* stacks.h - the stacks of one thread side by side: finds those that show the caller of the frame
 * at which another stack was cut. Private to stitch/.
 *
 * Two frames with equal address, stack pointer and frame pointer are similar, but not always the
 * same: where functions recurse, or are called in a loop, other activations are soon at the same
 * place. They differ in the memory of the frame, of which both stacks have a copy: arguments,
 * spilled registers and locals. If all of it is equal, it is the same activation, at any distance
 * in time. (In a recursion the lowest words prove this only for a frame that is not much larger.)
 * If not, it may be the same activation with a changed variable, or another one called from the
 * same place. Then it is accepted only if it is near in time, all stacks near in time with such a
 * frame show the same callers, and no function calls itself there. It does not matter if the caller
 * of an equal frame had returned in between: the result is a path of calls, and that is mostly the
 * same (tests/stitch/README.md). */
#ifndef STITCH_STACKS_H
#define STITCH_STACKS_H

#include "base/vec.h"
#include "stitch/stitch.h"

#define STITCH_NONE UINT32_MAX
#define STITCH_ROOT UINT64_MAX /* as stitch_stack.reach: known up to the root */

/* Number of words of a frame's memory that are compared, from its stack pointer up. With more words
 * fewer frames are found to be the same, because some words change, and no more different frames
 * are told apart. */
#define STITCH_WORDS 8

struct stitch_words {
	uint64_t v[STITCH_WORDS];
	uint32_t n; /* number of words that were in the copy */
};

struct stitch_stack {
	const struct frame *frames; /* user frames */
	const struct frame_place *places;
	uint64_t time_ns;
	uint64_t reach; /* sp of the outermost known frame, including frames from donors */
	/* The frames' memory: the stack copy from places[0].sp on, or for kept stacks their words,
	 * by frame. */
	const uint8_t *copy;
	const struct stitch_words *words; /* NULL for stacks with a copy */
	uint32_t copy_bytes;
	uint32_t n;
	uint32_t n_believed;	      /* see stitch_believed(); 0: not determined yet */
	uint32_t wanted, seen_before; /* the wanted frame at which it was cut; the last occurrence
				       * before this stack */
	uint32_t donor;		      /* an occurrence, or STITCH_NONE */
	bool is_complete, is_cut;
	bool is_known;	 /* donor and base are known */
	bool is_doubted; /* other stacks have a similar frame, but it may not be the same */
	/* Its frames as a list for other stacks; elements from `made` on exist. */
	struct stack_base *bases;
	uint32_t made;
	struct stack_base *base; /* the frames beyond all of its own */
};

/* A frame at which a stack was cut. */
struct stitch_wanted {
	uint64_t ip, sp, fp;
	uint32_t map;	      /* map_number() */
	uint32_t first, last; /* list of occurrences */
};

/* A stack that contains a wanted frame and shows its caller. In the order of the stacks. */
struct stitch_occurrence {
	uint32_t stack, frame;
	uint32_t before, next;
};

/* A zeroed struct is empty. */
struct stitch_stacks {
	VEC(struct stitch_stack) stacks; /* in order of time */
	VEC(struct stitch_wanted) wanted;
	VEC(struct stitch_occurrence) occurrences;
	uint32_t *slots; /* hash table of wanted frames: index or STITCH_NONE */
	uint64_t *maybe; /* bits by hash of sp: set if a frame there is wanted */
	size_t n_slots, slots_room;
	uint64_t secret; /* hash seed: colliding frames cannot be chosen */
	unsigned shift;	 /* shift from a hash to its bit in `maybe` */
};

/* The `reach` of a stack whose outermost frame is at this place. */
static inline uint64_t stitch_reach(const struct frame_place *outermost)
{
	return outermost->sp < STITCH_ROOT ? outermost->sp : STITCH_ROOT - 1;
}

void stitch_stacks_clear(struct stitch_stacks *s);
void stitch_stacks_done(struct stitch_stacks *s);
/* Finds the occurrences, after all stacks were added. Returns 0 or -ERR_NOMEM. */
int stitch_find_occurrences(struct stitch_stacks *s);
/* The occurrence whose stack shows the callers of a cut stack. STITCH_NONE: none; sets is_doubted
 * if there are similar frames. */
uint32_t stitch_donor(struct stitch_stacks *s, struct stitch_stack *cut, uint64_t max_distance_ns);
/* The number of frames of the stack that other stacks may use: those up to the first guess. */
uint32_t stitch_believed(struct stitch_stack *s);
/* Gets the words of one frame that can be compared. */
void stitch_words_get(const struct stitch_stack *s, uint32_t frame, struct stitch_words *ret);

#endif
