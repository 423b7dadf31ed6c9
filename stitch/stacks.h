/* stacks.h - the stacks of one thread side by side: which of them show the caller of the
 * frame at which another one was cut. Private to stitch/.
 *
 * Equal address, stack pointer and frame pointer make two frames similar, not the same: where
 * functions recurse, or are called in a loop, others soon stand at the same place. What
 * distinguishes them is the memory of the frame itself, of which both stacks have a copy: its
 * arguments, spilled registers and locals. If all of that is equal, it is the same activation,
 * whenever that was. (In a recursion the lowest words say this only of a frame that is not much
 * larger.) If not, it may still be the same with a changed variable, or another one called from the
 * same place; then time decides, and that all stacks near in time with such a frame show the same
 * callers, and that no function calls itself there. That the caller of an equal frame had returned
 * in between does not matter: what is taken is a path of calls, and that is mostly the same
 * (tests/stitch/README.md).
 */
#ifndef STITCH_STACKS_H
#define STITCH_STACKS_H

#include "base/vec.h"
#include "stitch/stitch.h"

#define STITCH_NONE UINT32_MAX
#define STITCH_ROOT UINT64_MAX /* as stitch_stack.reach: all is known */

/* Of a frame's memory, from its stack pointer up, that is compared. More words find fewer frames
 * the same, because some of them change, and no more that are not. */
#define STITCH_WORDS 8

struct stitch_words {
	uint64_t v[STITCH_WORDS];
	uint32_t n; /* of these the copy had */
};

struct stitch_stack {
	const struct frame *frames; /* of the user part */
	const struct frame_place *places;
	uint64_t time_ns;
	uint64_t reach; /* up to which sp its frames are known, those from donors included */
	/* The frames' memory: the copy from places[0].sp on, or what was kept of it, by frame. */
	const uint8_t *copy;
	const struct stitch_words *words; /* else NULL */
	uint32_t copy_bytes;
	uint32_t n;
	uint32_t n_believed; /* frames that others may take; 0: not looked at yet */
	uint32_t wanted,
		seen_before; /* the frame that it was cut at; the last occurrence before it */
	uint32_t donor;	     /* an occurrence, or NONE */
	bool is_complete, is_cut;
	bool is_known;	 /* donor and base are */
	bool is_doubted; /* others have such a frame, but it may not be the same */
	/* Frames from here on outwards that others point to, made down to `made`. */
	struct stack_base *bases;
	uint32_t made;
	struct stack_base *base; /* above all of them */
};

/* A frame at which a stack was cut. */
struct stitch_wanted {
	uint64_t ip, sp, fp;
	uint32_t map;	      /* map_number() */
	uint32_t first, last; /* occurrences */
};

/* A stack that shows its caller. In the order of the stacks. */
struct stitch_occurrence {
	uint32_t stack, frame;
	uint32_t before, next;
};

/* Zeroed: empty. */
struct stitch_stacks {
	VEC(struct stitch_stack) stacks; /* in the order of time */
	VEC(struct stitch_wanted) wanted;
	VEC(struct stitch_occurrence) occurrences;
	uint32_t *slots; /* of a hash table of the wanted: index, NONE */
	uint64_t *maybe; /* a bit by hash of sp: something is wanted there */
	size_t n_slots, slots_room;
	uint64_t secret; /* of the hash table: so that places that collide cannot be chosen */
	unsigned shift;	 /* of a hash, to its bit */
};

/* Up to where a stack that ends at that frame reaches. */
static inline uint64_t stitch_reach(const struct frame_place *outermost)
{
	return outermost->sp < STITCH_ROOT ? outermost->sp : STITCH_ROOT - 1;
}

void stitch_stacks_clear(struct stitch_stacks *s);
void stitch_stacks_done(struct stitch_stacks *s);
/* After all stacks were pushed: finds the occurrences. 0 or -ERR_NOMEM. */
int stitch_find_sights(struct stitch_stacks *s);
/* The occurrence whose stack has the callers of a cut stack, or NONE, which sets is_doubted. */
uint32_t stitch_donor(struct stitch_stacks *s, struct stitch_stack *cut, uint64_t max_distance_ns);
/* Frames of the stack that others may take. */
uint32_t stitch_believed(struct stitch_stack *s);
/* The words of one frame that can be compared. */
void stitch_words_get(const struct stitch_stack *s, uint32_t frame, struct stitch_words *ret);

#endif
